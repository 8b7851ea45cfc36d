import CommandLineTools
import JSON
import Tasks
import Tensors

private enum EmbeddingFormat: String, CaseIterable { case json, npy, text }

let embedCommand = Command(
    name: "embed", summary: "turn texts into vectors", operands: "[TEXT ...]",
    discussion: """
        Each TEXT, or each line of standard input, becomes one vector, of length 1 where the model says so.
        Formats: text (the default; numbers separated by spaces, one text a line), json ({"text","embedding":[...],"tokens":n,"truncated":n}, one
        object a line), npy (one NumPy array [texts, width] of f32).
        With --raw-tokens each token's vector before pooling: json {"text","tokens":[...],"embeddings":[[...]],"truncated":n}.
        """,
    options: [
        CommonOptions.model,
        CommandOption("format", argument: "FORMAT", help: "text, json or npy"),
        CommandOption("json", help: "the same as --format json"),
        CommandOption("raw-tokens", help: "token vectors instead of one vector a text (text or json)"),
        CommonOptions.maximumLength, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: [
        "mlrun embed \"A sentence becomes 384 numbers.\"",
        "mlrun embed --format npy < lines.txt > vectors.npy",
        "mlrun embed --json --raw-tokens \"every token\"",
    ]
) { arguments in
    let format = try arguments.choice("format", EmbeddingFormat.self) ?? (arguments.has("json") ? .json : .text)
    let rawTokens = arguments.has("raw-tokens")
    if rawTokens, format == .npy { throw UsageError("--raw-tokens goes with text or json: texts differ in their number of tokens") }
    let url = try CommonOptions.modelURL(arguments, defaultTask: "embedding")
    let embedder = try TextEmbedder(contentsOf: url, options: CommonOptions.modelOptions(arguments))
    var notice = TruncationNotice()
    var array = NumPyArray()
    try TextInput.forEachBatch(arguments) { texts in
        if rawTokens {
            for text in texts {
                let answer = try embedder.tokenEmbeddings(text)
                notice.count(answer.truncatedTokenCount)
                try StandardOutput.write(format == .json ? json(text, answer) : lines(answer))
            }
            return
        }
        for (text, answer) in zip(texts, try embedder.embed(texts)) {
            notice.count(answer.truncatedTokenCount)
            switch format {
            case .text: try StandardOutput.write(numbers(answer.vector) + "\n")
            case .npy: try array.append(answer.vector)
            case .json:
                let value: JSONValue = [
                    "text": .string(text), "embedding": vector(answer.vector), "tokens": .integer(answer.tokenCount),
                    "truncated": .integer(answer.truncatedTokenCount),
                ]
                try StandardOutput.write(value.text + "\n")
            }
        }
    }
    if format == .npy { try StandardOutput.write(bytes: array.bytes(width: embedder.dimension ?? 0)) }
    notice.report(arguments)
}

private func vector(_ values: [Float]) -> JSONValue { .array(values.map { .float($0) }) }

private func numbers(_ values: [Float]) -> String { values.map(\.description).joined(separator: " ") }

private func json(_ text: String, _ answer: TokenEmbeddings) -> String {
    let value: JSONValue = [
        "text": .string(text), "tokens": .array(answer.tokens.map { .string($0) }),
        "embeddings": .array(answer.vectors.map(vector)), "truncated": .integer(answer.truncatedTokenCount),
    ]
    return value.text + "\n"
}

/// One token a line, an empty line after each text.
private func lines(_ answer: TokenEmbeddings) -> String {
    zip(answer.tokens, answer.vectors).map { "\($0)\t\(numbers($1))\n" }.joined() + "\n"
}
