import CommandLineTools
import Foundation
import GraphFile
import Runtime
import Tensors

let runCommand = Command(
    name: "run", summary: "run a graph on tensors from a safetensors file", operands: "MODEL",
    discussion: """
        Inputs and outputs go by name: those of the ONNX model, or of a checkpoint input_ids, attention_mask and token_type_ids (the last two
        optional), answered by last_hidden_state, pooler_output or logits as the architecture has them.
        """,
    options: [
        CommonOptions.model,
        CommandOption("inputs", argument: "FILE", help: "safetensors file with one tensor an input (required)"),
        CommandOption("outputs", argument: "FILE", help: "safetensors file to write; without it names, types and a few values are shown"),
        CommandOption("only", argument: "NAME", help: "compute only this output; may be repeated"),
        CommonOptions.threads,
    ],
    examples: ["mlrun run model.graph --inputs in.safetensors --outputs out.safetensors"]
) { arguments in
    guard let inputPath = arguments.value("inputs") else { throw UsageError("run needs --inputs FILE") }
    guard arguments.operands.count + (arguments.has("model") ? 1 : 0) == 1 else { throw UsageError("run takes one model") }
    let file = try GraphFile(contentsOf: CommonOptions.requiredModelURL(arguments))
    let inputs = try SafetensorsFile(contentsOf: URL(fileURLWithPath: inputPath))
    let executor = try Executor(graph: file.graph, options: ExecutorOptions(threads: arguments.integer("threads", in: 1...1024)))
    var tensors: [String: Tensor] = [:]
    for entry in inputs.entries { tensors[entry.name] = try inputs.tensor(named: entry.name) }
    let only = arguments.all("only")
    let results = try executor.run(tensors, outputs: only.isEmpty ? nil : only)
    let order = executor.outputs.map(\.name).filter { results[$0] != nil }
    guard let outputPath = arguments.value("outputs") else {
        for name in order {
            guard let tensor = results[name] else { continue }
            let values = tensor.doubles().prefix(8).map { String(format: "%.6g", $0) }.joined(separator: " ")
            try StandardOutput.write("\(name)\t\(tensor.dtype.rawValue)\(tensor.shape)\t\(values)\(tensor.count > 8 ? " ..." : "")\n")
        }
        return
    }
    try SafetensorsWriter.write(
        order.compactMap { name in results[name].map { (name: name, tensor: $0) } }, to: URL(fileURLWithPath: outputPath))
}
