import CommandLineTools
import JSON
import Tasks

let modelsCommand = Command(
    name: "models", summary: "the models known by name: installed, and to be fetched",
    discussion: """
        Names can be used with -m. 'make models' fetches and converts the models that do not ship with the project; a .graph file of that
        name in a models folder counts as installed.
        With --json: {"name","task","summary","license","installed","path","package","version","sha256"}, one object a line.
        """,
    options: [CommonOptions.json],
    examples: ["mlrun models", "mlrun embed -m minilm \"text\""]
) { arguments in
    guard arguments.operands.isEmpty else { throw UsageError("models takes no operands") }
    let catalogue = try ModelCatalogue()
    for entry in catalogue.entries {
        if arguments.has("json") {
            var members = [
                JSONMember(key: "name", value: .string(entry.name)), JSONMember(key: "task", value: .string(entry.task)),
                JSONMember(key: "summary", value: .string(entry.summary)), JSONMember(key: "license", value: .string(entry.license)),
                JSONMember(key: "installed", value: .bool(entry.url != nil)),
            ]
            if let url = entry.url { members.append(JSONMember(key: "path", value: .string(url.path))) }
            if let package = entry.package {
                members += [
                    JSONMember(key: "package", value: .string(package.name)), JSONMember(key: "version", value: .string(package.version)),
                    JSONMember(key: "sha256", value: .string(package.sha256)),
                ]
            }
            try StandardOutput.write(JSONValue.object(members).text + "\n")
            continue
        }
        let state = entry.url?.path ?? (entry.package == nil ? "missing" : "not installed: make models")
        try StandardOutput.write("\(entry.name)\t\(entry.task)\t\(entry.summary)\t\(state)\n")
    }
    if catalogue.entries.isEmpty {
        throw CommandError("no catalogue.json was found in \(catalogue.folders.map(\.path).joined(separator: ", "))")
    }
}
