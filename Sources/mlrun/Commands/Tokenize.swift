import CommandLineTools
import Foundation
import GraphFile
import JSON
import Tasks
import Tokenizers

let tokenizeCommand = Command(
    name: "tokenize", summary: "show how a tokenizer cuts texts", operands: "[TEXT ...]",
    discussion: """
        The tokenizer is that of a model (-m), or of a tokenizer.json, a vocab.txt or a folder (--tokenizer). Shown are the tokens; with --ids the ids.
        With --json: {"text","ids","tokens","type_ids","attention_mask","offsets"}; offsets count Unicode scalars, ends excluded.
        With --jsonl each line of standard input is an object with "text" and optionally "text_pair" and "add_special_tokens".
        With --decode each input is a list of ids, separated by spaces or commas, and the answer is text.
        """,
    options: [
        CommonOptions.model,
        CommandOption("tokenizer", argument: "PATH", help: "tokenizer.json, vocab.txt, or a folder that holds one"),
        CommandOption("pair", argument: "TEXT", help: "a second text that goes with each"),
        CommandOption("no-special-tokens", help: "leave out [CLS], </s> and the like; when decoding, keep none of them"),
        CommandOption("keep-special-tokens", help: "when decoding, show special tokens"),
        CommandOption("ids", help: "show ids instead of tokens"),
        CommandOption("jsonl", help: "read JSON objects, one a line"),
        CommandOption("decode", help: "ids in, text out"),
        CommandOption("max-length", argument: "N", help: "cut to N tokens"),
        CommonOptions.json,
    ],
    examples: [
        "mlrun tokenize --tokenizer tokenizer.json \"Hello, world\"",
        "mlrun tokenize -m minilm --decode 101 7592 102",
    ]
) { arguments in
    let tokenizer: Tokenizer
    if let path = arguments.value("tokenizer") {
        if arguments.has("model") { throw UsageError("give a model or --tokenizer, not both") }
        tokenizer = try Tokenizer(contentsOf: URL(fileURLWithPath: path))
    } else {
        let url = try CommonOptions.modelURL(arguments, defaultTask: "embedding")
        guard let stored = try Tokenizer(GraphFile(contentsOf: url)) else { throw CommandError("\(url.path) holds no tokenizer") }
        tokenizer = stored
    }
    if arguments.has("decode") {
        // Operands are one list, so that ids need no quotes.
        if !arguments.operands.isEmpty { return try decode(arguments.operands.joined(separator: " "), tokenizer, arguments) }
        return try TextInput.forEachBatch(arguments) { lines in
            for line in lines { try decode(line, tokenizer, arguments) }
        }
    }
    let truncation = try arguments.integer("max-length", in: 1...1_000_000).map { Truncation(maxLength: $0) }
    if arguments.has("jsonl") {
        guard arguments.operands.isEmpty else { throw UsageError("--jsonl reads standard input and takes no texts") }
        var number = 0
        return try TextInput.forEachBatch(arguments) { lines in
            for line in lines {
                number += 1
                let request = try TokenizeRequest(line, number: number)
                let encoding = try tokenizer.encode(
                    request.text, pair: request.pair, addSpecialTokens: request.addSpecialTokens, truncation: truncation)
                try StandardOutput.write(json(encoding, text: nil).text + "\n")
            }
        }
    }
    try TextInput.forEachBatch(arguments) { texts in
        for text in texts {
            let encoding = try tokenizer.encode(
                text, pair: arguments.value("pair"), addSpecialTokens: !arguments.has("no-special-tokens"), truncation: truncation)
            if arguments.has("json") {
                try StandardOutput.write(json(encoding, text: text).text + "\n")
            } else if arguments.has("ids") {
                try StandardOutput.write(encoding.ids.map { "\($0)" }.joined(separator: " ") + "\n")
            } else {
                try StandardOutput.write(encoding.tokens.joined(separator: " ") + "\n")
            }
        }
    }
}

/// One line of --jsonl.
private struct TokenizeRequest {
    let text: String
    let pair: String?
    let addSpecialTokens: Bool

    init(_ line: String, number: Int) throws {
        let value: JSONValue
        do { value = try JSONParser.parse(line) } catch { throw CommandError("line \(number): \(error)") }
        guard let text = value["text"]?.stringValue else { throw CommandError("line \(number) has no string \"text\"") }
        self.text = text
        pair = value["text_pair"]?.stringValue
        addSpecialTokens = value["add_special_tokens"]?.boolValue ?? true
    }
}

private func json(_ encoding: Encoding, text: String?) -> JSONValue {
    var members: [JSONMember] = []
    if let text { members.append(JSONMember(key: "text", value: .string(text))) }
    func add(_ key: String, _ values: some Sequence<JSONValue>) { members.append(JSONMember(key: key, value: .array(Array(values)))) }
    add("ids", encoding.ids.map { .integer(Int($0)) })
    add("tokens", encoding.tokens.map { .string($0) })
    add("type_ids", encoding.typeIDs.map { .integer(Int($0)) })
    add("attention_mask", encoding.attentionMask.map { .integer(Int($0)) })
    add("offsets", encoding.offsets.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    if encoding.truncatedTokenCount > 0 { members.append(JSONMember(key: "truncated", value: .integer(encoding.truncatedTokenCount))) }
    return .object(members)
}

private func decode(_ text: String, _ tokenizer: Tokenizer, _ arguments: Arguments) throws {
    let ids = try text.split { $0 == " " || $0 == "," || $0 == "\t" || $0 == "[" || $0 == "]" }.map { word -> Int in
        guard let id = Int(word), id >= 0 else { throw CommandError("'\(word)' is no token id") }
        return id
    }
    let decoded = try tokenizer.decode(ids, skipSpecialTokens: !arguments.has("keep-special-tokens"))
    try StandardOutput.write(arguments.has("json") ? JSONValue.object([JSONMember(key: "text", value: .string(decoded))]).text + "\n" : decoded + "\n")
}
