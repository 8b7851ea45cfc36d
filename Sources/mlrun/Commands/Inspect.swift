import CommandLineTools
import Foundation
import GraphFile
import GraphIR
import JSON
import Tasks
import Tensors
import Tokenizers

let inspectCommand = Command(
    name: "inspect", summary: "show what a .graph file is", operands: "MODEL",
    discussion: """
        Task, labels, inputs and outputs with their types, tokenizer, sizes, operators and where it comes from.
        With --json one object: {"file","bytes","task","inputs","outputs","parameters","operators",...}.
        """,
    options: [
        CommonOptions.model,
        CommandOption("text", help: "print the graph as text"),
        CommandOption("dot", help: "print the graph for Graphviz"),
        CommandOption("svg", help: "print the graph as an SVG image"),
        CommandOption("json", help: "one JSON object"),
    ],
    examples: ["mlrun inspect model.graph", "mlrun inspect sentiment --svg > sentiment.svg"]
) { arguments in
    guard arguments.operands.count + (arguments.has("model") ? 1 : 0) == 1 else { throw UsageError("inspect takes one model") }
    guard ["text", "dot", "svg", "json"].filter({ arguments.has($0) }).count <= 1 else {
        throw UsageError("choose one of --text, --dot, --svg and --json")
    }
    let url = try CommonOptions.requiredModelURL(arguments)
    let file = try GraphFile(contentsOf: url)
    if arguments.has("text") { return try StandardOutput.write(file.graph.text) }
    if arguments.has("dot") { return try StandardOutput.write(file.graph.dot) }
    if arguments.has("svg") { return try StandardOutput.write(GraphSVG(file.graph).text) }
    let overview = try ModelOverview(file, url: url)
    try StandardOutput.write(arguments.has("json") ? overview.json.text + "\n" : overview.text)
}

/// What `inspect` tells.
private struct ModelOverview {
    let file: GraphFile
    let url: URL
    let byteCount: Int
    let tokenizer: Tokenizer?
    let summary: GraphSummary

    init(_ file: GraphFile, url: URL) throws {
        self.file = file
        self.url = url
        byteCount = try Storage(mapping: url).bytes.count
        tokenizer = try Tokenizer(file)
        summary = file.graph.summary
    }

    private var inputs: [(String, String)] { file.graph.inputs.map { (file.graph[$0].name, "\(file.graph.type($0))") } }
    private var outputs: [(String, String)] { file.graph.outputs.map { ($0.name, "\(file.graph.type($0.value))") } }

    var text: String {
        let description = file.description
        var rows: [(String, String)] = [("file", url.path), ("size", "\(byteCount) bytes"), ("task", description.task.rawValue)]
        func add(_ key: String, _ value: String?) {
            if let value, !value.isEmpty { rows.append((key, value)) }
        }
        add("architecture", description.architecture)
        add("labels", Self.list(description.labels) + (description.isMultiLabel ? " (each decided on its own)" : ""))
        add("pooling", description.pooling.map { $0.rawValue + (description.normalizesEmbeddings ? ", scaled to length 1" : "") })
        add("answer", description.output.map { "output \($0)" })
        add("maximum length", description.maximumLength.map { "\($0) tokens" })
        add("tokenizer", tokenizer.map { "\($0.modelName), \($0.vocabularySize) tokens" } ?? "none")
        for (index, input) in inputs.enumerated() { rows.append((index == 0 ? "inputs" : "", "\(input.0): \(input.1)")) }
        for (index, output) in outputs.enumerated() { rows.append((index == 0 ? "outputs" : "", "\(output.0): \(output.1)")) }
        add("parameters", "\(summary.parameterCount)")
        add("weights", summary.constants.map { "\($0.dtype.rawValue) \($0.elements)" }.joined(separator: ", "))
        add("operators", summary.operators.map { "\($0.name) \($0.count)" }.joined(separator: ", "))
        let provenance = file.provenance
        add("source", [provenance.format, provenance.producer, provenance.opset.map { "opset \($0)" }].compactMap { $0 }.joined(separator: ", "))
        for source in provenance.sources { rows.append(("", "\(source.name) (\(source.byteCount) bytes, xxh128 \(source.hash))")) }
        add("converter", provenance.converterVersion)
        let width = rows.map(\.0.utf8.count).max() ?? 0
        return rows.map { key, value in key + String(repeating: " ", count: width - key.utf8.count + 2) + value + "\n" }.joined()
    }

    /// The first labels of a long list.
    private static func list(_ labels: [String]) -> String {
        labels.count <= 12 ? labels.joined(separator: ", ") : labels.prefix(12).joined(separator: ", ") + ", ... (\(labels.count))"
    }

    var json: JSONValue {
        func typed(_ list: [(String, String)]) -> JSONValue { .array(list.map { ["name": .string($0.0), "type": .string($0.1)] }) }
        return [
            "file": .string(url.path), "bytes": .integer(byteCount), "task": .string(file.description.task.rawValue),
            "description": file.description.json, "provenance": file.provenance.json, "inputs": typed(inputs), "outputs": typed(outputs),
            "tokenizer": tokenizer.map { ["model": .string($0.modelName), "vocabulary": .integer($0.vocabularySize)] } ?? .null,
            "parameters": .integer(summary.parameterCount),
            "operators": .object(summary.operators.map { JSONMember(key: $0.name, value: .integer($0.count)) }),
        ]
    }
}
