import CommandLineTools
import JSON
import Tasks

let scoreCommand = Command(
    name: "score", summary: "show how likely a language model finds each token of a text", operands: "[TEXT ...]",
    discussion: """
        For each token of each TEXT, or of each line of standard input: its natural log-probability given those before it, its id and its text.
        The first token has no probability.
        With --json: {"tokens":[{"id","text","logprob","top":[{"id","text","logprob"}]}]}.
        """,
    options: [
        CommonOptions.model,
        CommandOption("ids", argument: "N,N,...", help: "token ids instead of a text"),
        CommandOption("top", argument: "N", help: "show the N likeliest tokens of each place"),
        GenerationArguments.context, CommonOptions.json, CommonOptions.threads,
    ],
    examples: ["mlrun score \"The capital of France is Paris\"", "mlrun score -m tiny.graph --ids 5,17,9 --top 3 --json"]
) { arguments in
    let ids = try arguments.integers("ids", in: 0...Int(Int32.max))
    if ids != nil, !arguments.operands.isEmpty { throw UsageError("give a text or --ids, not both") }
    let top = try arguments.integer("top", in: 0...1000) ?? 0
    let model = try GenerationArguments.model(arguments)
    let generator = TextGenerator(model: model)

    func answer(_ ids: [Int]) throws {
        let tokens = try generator.score(ids: ids, top: top)
        if arguments.has("json") {
            let list = JSONValue.array(tokens.map { GenerationArguments.json($0, model) })
            try StandardOutput.write(JSONValue.object([JSONMember(key: "tokens", value: list)]).text + "\n")
            return
        }
        for token in tokens {
            func shown(_ id: Int) -> String { "\(id)\t\(GenerationArguments.text(id, model).map { JSONValue.string($0).text } ?? "")" }
            try StandardOutput.write("\(token.logprob.map { decimal($0) } ?? "-")\t\(shown(token.id))\n")
            for other in token.top { try StandardOutput.write("    \(decimal(other.logprob))\t\(shown(other.id))\n") }
        }
        let known = tokens.compactMap(\.logprob)
        if !known.isEmpty { try StandardOutput.write("\(decimal(known.reduce(0, +)))\ttotal of \(known.count)\n") }
    }

    if let ids { return try answer(ids) }
    try TextInput.forEachBatch(arguments) { texts in
        for text in texts { try answer(generator.encode(text)) }
    }
}
