import CommandLineTools
import Foundation
import JSON
import Tasks

let searchCommand = Command(
    name: "search", summary: "find the texts of a file that are closest to a query", operands: "QUERY [QUERY ...]",
    discussion: """
        The file holds one text a line (any extension), JSON Lines (.jsonl), or CSV or TSV with a header line. Shown are the cosine similarity,
        the line in the file, and the title or the text. Queries may also come one a line from standard input.
        With --json: {"score","index","line","text"}, with "title" and "query" where there are such.
        """,
    options: [
        CommandOption("in", argument: "FILE", help: "the file to search (required)"),
        CommandOption("top", argument: "N", help: "show the N closest (default 5)"),
        CommandOption("text-field", argument: "NAME", help: "the field of JSON Lines or CSV that holds the text (default: text, content, body, ...)"),
        CommandOption("title-field", argument: "NAME", help: "the field that holds the title (default: title, name or heading if there)"),
        CommandOption("format", argument: "FORMAT", help: "text, jsonl, csv or tsv (default: by the file's extension)"),
        CommonOptions.model, CommonOptions.json, CommonOptions.maximumLength, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: [
        "mlrun search --in notes.txt \"where did I park\" --top 3",
        "mlrun search --in articles.jsonl --text-field body --json \"solar power\"",
    ]
) { arguments in
    guard let path = arguments.value("in") else { throw UsageError("search needs --in FILE") }
    let top = try arguments.integer("top", in: 1...1_000_000) ?? 5
    let format = try arguments.choice("format", RecordFile.Format.self)
    let records = try RecordFile.read(
        contentsOf: URL(fileURLWithPath: path), format: format, textField: arguments.value("text-field"),
        titleField: arguments.value("title-field"))
    guard !records.isEmpty else { throw CommandError("\(path) holds no texts") }
    let url = try CommonOptions.modelURL(arguments, defaultTask: "embedding")
    let embedder = try TextEmbedder(contentsOf: url, options: CommonOptions.modelOptions(arguments))
    let progress = arguments.has("quiet") || records.count < 256 ? nil : ProgressBar("embedding", total: records.count)
    let search = try TextSearch(records.map(\.text), embedder: embedder) { progress?.advance(by: $0) }
    progress?.finish()
    let showsQuery = arguments.operands.count != 1
    try TextInput.forEachBatch(arguments) { queries in
        for query in queries {
            if showsQuery, !arguments.has("json") { try StandardOutput.write("\(query)\n") }
            for result in try search.find(query, top: top) {
                let record = records[result.index]
                if arguments.has("json") {
                    var members = [
                        JSONMember(key: "score", value: .float(result.score)), JSONMember(key: "index", value: .integer(result.index)),
                        JSONMember(key: "line", value: .integer(record.line)), JSONMember(key: "text", value: .string(record.text)),
                    ]
                    if let title = record.title { members.append(JSONMember(key: "title", value: .string(title))) }
                    if showsQuery { members.append(JSONMember(key: "query", value: .string(query))) }
                    try StandardOutput.write(JSONValue.object(members).text + "\n")
                } else {
                    let shown = record.title.map { "\($0): \(record.text)" } ?? record.text
                    let line = shown.split(whereSeparator: \.isNewline).joined(separator: " ")
                    try StandardOutput.write("\(decimal(result.score))\t\(record.line)\t\(line)\n")
                }
            }
        }
    }
}
