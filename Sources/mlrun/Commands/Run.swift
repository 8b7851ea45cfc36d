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
        CommandOption("profile", help: "show the time of each kind of node instead of the outputs"),
        CommandOption("trace", argument: "FILE", help: "write the time of each node as a Chrome trace (chrome://tracing, ui.perfetto.dev)"),
        CommandOption("repeat", argument: "N", help: "with --profile or --trace: measured runs, behind one that warms up (default: 1)"),
    ],
    examples: [
        "mlrun run model.graph --inputs in.safetensors --outputs out.safetensors",
        "mlrun run model.graph --inputs in.safetensors --profile --repeat 10",
    ]
) { arguments in
    guard let inputPath = arguments.value("inputs") else { throw UsageError("run needs --inputs FILE") }
    guard arguments.operands.count + (arguments.has("model") ? 1 : 0) == 1 else { throw UsageError("run takes one model") }
    let file = try GraphFile(contentsOf: CommonOptions.requiredModelURL(arguments))
    let inputs = try SafetensorsFile(contentsOf: URL(fileURLWithPath: inputPath))
    let isProfiled = arguments.has("profile") || arguments.has("trace")
    if arguments.has("repeat"), !isProfiled { throw UsageError("--repeat goes with --profile or --trace") }
    let runs = try arguments.integer("repeat", in: 1...100_000) ?? 1
    let profiler = isProfiled ? Profiler(keepsEvents: arguments.has("trace")) : nil
    let executor = try Executor(
        graph: file.graph, options: ExecutorOptions(threads: arguments.integer("threads", in: 1...1024), profiler: profiler))
    var tensors: [String: Tensor] = [:]
    for entry in inputs.entries { tensors[entry.name] = try inputs.tensor(named: entry.name) }
    let only = arguments.all("only")
    var results = try executor.run(tensors, outputs: only.isEmpty ? nil : only)
    if let profiler {
        // The first run made the plan, and touched everything for the first time.
        profiler.reset()
        for _ in 0..<runs { results = try executor.run(tensors, outputs: only.isEmpty ? nil : only) }
        if let path = arguments.value("trace") {
            try Data(RunProfile.chromeTrace(profiler.events).text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        if arguments.has("profile") { try StandardOutput.write(RunProfile.table(profiler.entries, runs: runs)) }
    }
    let order = executor.outputs.map(\.name).filter { results[$0] != nil }
    guard let outputPath = arguments.value("outputs") else {
        guard !isProfiled else { return }
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
