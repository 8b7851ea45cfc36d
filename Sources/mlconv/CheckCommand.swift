import CommandLineTools
import Foundation
import GraphFile
import JSON
import ModelConversion

let checkCommand = Command(
    name: "check", summary: "list everything that stands in the way of converting a model", operands: "INPUT",
    discussion: """
        Converts nothing. Each unsupported operator is listed with its nodes, operator set and types, each missing or damaged side file with its
        name. Exit status 0: the model converts; 1: something stands in the way.
        With --json: {"input","convertible","issues":[...]}.
        """,
    options: [
        CommandOption("task", argument: "TASK", help: "what the model is to be converted for; default: as the model says"),
        CommandOption("tokenizer", argument: "PATH", help: "tokenizer.json, vocab.txt or a folder that holds one"),
        CommandOption("json", help: "one JSON object"),
    ],
    examples: ["mlconv check model.onnx"]
) { arguments in
    guard arguments.operands.count == 1 else { throw UsageError("check takes one model") }
    var options = ConversionOptions()
    options.task = try arguments.choice("task", ModelDescription.Task.self)
    options.tokenizer = arguments.value("tokenizer").map { URL(fileURLWithPath: $0) }
    let path = arguments.operands[0]
    let converter = try ModelConverter(URL(fileURLWithPath: path), options: options)
    let issues = try converter.check()
    if arguments.has("json") {
        let answer: JSONValue = [
            "input": .string(path), "convertible": .bool(issues.isEmpty), "issues": .array(issues.map { .string($0) }),
        ]
        try StandardOutput.write(answer.text + "\n")
    } else if issues.isEmpty {
        try StandardOutput.write("\(path): nothing stands in the way\n")
    } else {
        for issue in issues { try StandardOutput.write(issue + "\n") }
    }
    if !issues.isEmpty { throw CommandError("\(path): \(issues.count == 1 ? "1 thing stands" : "\(issues.count) things stand") in the way") }
}
