import CommandLineTools
import Foundation
import GraphFile
import GraphIR
import JSON
import ModelConversion
import Optimizer
import Tasks

let convertCommand = Command(
    name: "convert", summary: "convert a model file or folder into one .graph file", operands: "INPUT -o OUT.graph",
    discussion: """
        INPUT is an .onnx file, a .gguf file, a .safetensors file or its .index.json, a Hugging Face model folder, or a .graph file, which is optimised and
        quantised again. What lies beside a model goes into the one file:
        config.json, generation_config.json, tokenizer.json or vocab.txt, tokenizer_config.json, special_tokens_map.json, chat_template.jinja,
        modules.json, 1_Pooling/config.json, sentence_bert_config.json.
        """,
    options: [
        CommandOption("output-file", short: "o", argument: "OUT.graph", help: "the file to write"),
        CommandOption("task", argument: "TASK", help: "classification, token-classification, embedding, masked-language-model, text-generation, text2text-generation or none; default: as the model says"),
        CommandOption("tokenizer", argument: "PATH", help: "tokenizer.json, vocab.txt or a folder that holds one; default: beside the model"),
        CommandOption("labels", argument: "LABELS", help: "a file with one label a line, a JSON array or id2label object, or LABEL,LABEL,..."),
        CommandOption("pooling", argument: "MODE", help: "cls, mean, max, mean-sqrt-length, weighted-mean, last-token, or none where the output is pooled"),
        CommandOption("output", argument: "NAME", help: "the graph output that answers the task"),
        CommandOption("max-length", argument: "N", help: "longest input in tokens"),
        CommandOption(
            "quantize", argument: "TYPE",
            help: "store weights as q8_0, q4_0, q4_1, q4_k (blocks), f16 or bf16, or int8: dense layers then multiply integers, with a scale for each output "
                + "and each token; default: as they are"),
        CommandOption(
            "calibrate", argument: "FILE",
            help: "with --quantize int8: texts, one a line, on which each layer is measured; those that 8 bits would harm are smoothed or stay as they are"),
        CommandOption(
            "perplexity", argument: "FILE",
            help: "with --quantize: the text on which --report and --json measure what it does to a language model; default: a page of English prose"),
        CommandOption("no-optimize", help: "leave the graph as imported"),
        CommandOption("emit-text", argument: "FILE", help: "write the graph as text; - for standard output"),
        CommandOption("report", help: "show operators, dtypes, parameters, symbols and fusions"),
        CommandOption("require-fusions", argument: "LIST", help: "fail unless that much fused: attention=6,layer_norm=13"),
        CommandOption("check", help: "run the optimised graph against the imported one and show the largest difference"),
        CommandOption("json", help: "one JSON object instead of text"),
        CommandOption("quiet", short: "q", help: "no warnings"),
    ],
    examples: [
        "mlconv all-MiniLM-L6-v2/ -o minilm.graph",
        "mlconv model.onnx --task classification --labels labels.txt --tokenizer tokenizer.json -o model.graph",
        "mlconv model.onnx --report --check",
        "mlconv model.onnx --emit-text -",
        "mlconv gpt2/ --quantize q8_0 --report -o gpt2-q8.graph",
        "mlconv bert/ --quantize int8 --calibrate texts.txt --report -o bert-int8.graph",
    ]
) { arguments in
    guard arguments.operands.count == 1 else {
        throw UsageError(arguments.operands.isEmpty ? "name the model to convert" : "one model at a time, not \(arguments.operands.count)")
    }
    let output = arguments.value("output-file").map { URL(fileURLWithPath: $0) }
    let onlyLooks = ["emit-text", "report", "check", "require-fusions"].contains { arguments.has($0) }
    guard output != nil || onlyLooks else { throw UsageError("name the file to write with -o OUT.graph") }
    let input = URL(fileURLWithPath: arguments.operands[0])
    if let output, output.resolvingSymlinksInPath().path == input.resolvingSymlinksInPath().path {
        throw UsageError("the output would replace the input \(input.path)")
    }

    if arguments.has("perplexity"), !arguments.has("quantize") || !arguments.has("report") && !arguments.has("json") {
        throw UsageError("--perplexity goes with --quantize and --report or --json")
    }
    if arguments.has("calibrate"), arguments.value("quantize") != WeightStorage.int8.rawValue { throw UsageError("--calibrate goes with --quantize int8") }
    let sampleText = try arguments.value("perplexity").map(TextFile.text)
    let converter = try ModelConverter(input, options: conversionOptions(arguments))
    let model = try converter.convert()
    if !arguments.has("quiet") {
        for warning in model.warnings { StandardError.write("mlconv: warning: \(warning)\n") }
    }
    if let required = arguments.value("require-fusions") { try requireFusions(required, model) }
    let differences = arguments.has("check") ? try EquivalenceCheck.run(model) : nil
    if let output { try model.write(to: output) }
    if let path = arguments.value("emit-text") {
        if path == "-" {
            try StandardOutput.write(model.graph.text)
        } else {
            try Data(model.graph.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
    }
    let isReported = arguments.has("report") || arguments.has("json")
    var perplexity: PerplexityCheck?
    if isReported {
        do {
            perplexity = try PerplexityCheck.run(model, text: sampleText ?? PerplexityCheck.sample)
        } catch let error as TaskError {
            // The tokenizer and the model do not fit each other, or the text is too short; the model itself is converted.
            StandardError.write("mlconv: warning: perplexity is not measured: \(error)\n")
        }
    }
    let report = ConversionReport(model: model, output: output, differences: differences, perplexity: perplexity)
    if arguments.has("json") {
        try StandardOutput.write(report.json.text + "\n")
    } else if arguments.has("report") {
        try StandardOutput.write(report.text)
    } else if let differences {
        try StandardOutput.write(ConversionReport.text(differences))
    }
    if output != nil, !arguments.has("json"), !arguments.has("quiet") { StandardError.write(report.line + "\n") }
    // Weights in another form change answers on purpose; by how much, the report says.
    if model.quantization == nil, let differences, let worst = differences.first(where: { !$0.isWithinTolerance }) {
        throw CommandError("the optimised graph differs from the imported one: output \(worst.output) by \(worst.largest)")
    }
}

private func conversionOptions(_ arguments: Arguments) throws -> ConversionOptions {
    var options = ConversionOptions()
    options.task = try arguments.choice("task", ModelDescription.Task.self)
    options.tokenizer = arguments.value("tokenizer").map { URL(fileURLWithPath: $0) }
    options.labels = try arguments.value("labels").map(LabelFile.labels(from:))
    options.pooling = try arguments.choice("pooling", ModelDescription.Pooling.self)
    options.output = arguments.value("output")
    options.maximumLength = try arguments.integer("max-length", in: 1...1_000_000)
    options.quantization = try arguments.choice("quantize", WeightStorage.self)
    options.optimizes = !arguments.has("no-optimize")
    if let path = arguments.value("calibrate") {
        let texts = try TextFile.lines(path)
        options.calibration = { file in
            let bar = ProgressBar("calibration", total: texts.count)
            defer { bar.finish() }
            return try LayerCalibration.measure(file, texts: texts) { _ in bar.advance(by: 1) }
        }
    }
    return options
}

private func requireFusions(_ list: String, _ model: ConvertedModel) throws {
    let counts = FusionCounts(model.graph)
    for item in list.split(separator: ",") {
        let parts = item.split(separator: "=")
        guard parts.count == 2, let wanted = Int(parts[1]), let found = counts[String(parts[0])] else {
            throw UsageError("--require-fusions takes name=count with the names \(FusionCounts.names.joined(separator: ", ")), not '\(item)'")
        }
        guard found == wanted else { throw CommandError("\(parts[0]) stands \(found) times in the graph, required is \(wanted)") }
    }
}
