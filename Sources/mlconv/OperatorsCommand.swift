import CommandLineTools
import JSON
import ONNXConverter

let operatorsCommand = Command(
    name: "operators", summary: "list the ONNX operators that convert",
    discussion: "One domain a line. With --json one object a domain: {\"domain\",\"operators\":[...]}.",
    options: [CommandOption("json", help: "one JSON object a domain")],
    examples: ["mlconv operators"]
) { arguments in
    guard arguments.operands.isEmpty else { throw UsageError("operators takes no operands") }
    for (domain, names) in ONNXImporter.supportedOperators {
        if arguments.has("json") {
            let answer: JSONValue = ["domain": .string(domain), "operators": .array(names.map { .string($0) })]
            try StandardOutput.write(answer.text + "\n")
        } else {
            try StandardOutput.write("\(domain.isEmpty ? "ai.onnx" : domain)\t\(names.joined(separator: " "))\n")
        }
    }
}
