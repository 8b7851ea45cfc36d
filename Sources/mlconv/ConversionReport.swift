import Foundation
import GraphIR
import JSON
import ModelConversion
import Optimizer
import Tensors

/// What `mlconv` tells of a conversion.
struct ConversionReport {
    let model: ConvertedModel
    let output: URL?
    let differences: [EquivalenceCheck.Difference]?
    let perplexity: PerplexityCheck?

    private var summary: GraphSummary { model.graph.summary }

    private var outputBytes: Int? {
        guard let output else { return nil }
        return (try? FileManager.default.attributesOfItem(atPath: output.path))?[.size] as? Int
    }

    /// One line after a conversion.
    var line: String {
        let size = outputBytes.map { ", \($0) bytes" } ?? ""
        return "\(output?.path ?? ""): \(model.description.task.rawValue), \(summary.parameterCount) parameters, \(summary.nodeCount) nodes\(size)"
    }

    /// `--report`.
    var text: String {
        let summary = summary
        var text = "task          \(model.description.task.rawValue)\n"
        for id in model.graph.inputs { text += "input         \(model.graph[id].name): \(model.graph.type(id))\n" }
        for output in model.graph.outputs { text += "output        \(output.name): \(model.graph.type(output.value))\n" }
        text += "symbols       \(summary.symbols.isEmpty ? "none" : summary.symbols.joined(separator: ", "))\n"
        text += "parameters    \(summary.parameterCount)\n"
        for constant in summary.constants {
            text += "weights       \(constant.dtype.rawValue): \(constant.elements) in \(constant.tensors) tensors, \(constant.byteCount) bytes\n"
        }
        text += "operators     \(summary.operators.map { "\($0.name) \($0.count)" }.joined(separator: ", "))\n"
        if let optimization = model.optimization {
            let before = optimization.operatorsBefore.reduce(0) { $0 + $1.count }
            text += "optimised     \(before) nodes to \(summary.nodeCount)\n"
            let counts = FusionCounts(model.graph)
            text += "fusions       \(FusionCounts.names.map { "\($0) \(counts[$0] ?? 0)" }.joined(separator: ", "))\n"
            for application in optimization.applications { text += "rule          \(application.rule): \(application.count)\n" }
            for miss in optimization.nearMisses { text += "not fused     \(miss)\n" }
        }
        if let original = model.unquantizedGraph {
            let bytes = (Self.weightBytes(original), Self.weightBytes(model.graph))
            text += "size          \(bytes.0) bytes of weights before, \(bytes.1) after\n"
        }
        for line in quantizationLines { text += "quantised     \(line)\n" }
        for line in layerLines { text += "layer         \(line)\n" }
        for reason in model.quantization?.skipped ?? [] { text += "not quantised \(reason)\n" }
        if let perplexity {
            text += "perplexity    " + String(
                format: "%.4f before, %.4f after (%+.3f %%), on %d tokens\n", perplexity.before.value, perplexity.after.value, perplexity.change * 100,
                perplexity.after.tokens)
        }
        if let differences { text += Self.text(differences) }
        return text
    }

    /// One line for each type: how many tensors, and the root mean square error relative to the weights.
    private var quantizationLines: [String] {
        guard let entries = model.quantization?.entries else { return [] }
        return DType.allCases.compactMap { dtype in
            let matching = entries.filter { $0.dtype == dtype }.sorted { $0.relativeError < $1.relativeError }
            guard let least = matching.first, let most = matching.last else { return nil }
            let mean = matching.reduce(0) { $0 + $1.relativeError } / Double(matching.count)
            return "\(dtype.rawValue): \(matching.count) tensors, relative error \(Self.percent(least.relativeError)) to "
                + "\(Self.percent(most.relativeError)) (\(most.name)), mean \(Self.percent(mean))"
        }
    }

    /// Of int8, one line for each weight: its error, and that of the layer's products where they were measured.
    private var layerLines: [String] {
        (model.quantization?.entries ?? []).filter { $0.dtype == .i8 }.map { entry in
            let output = entry.outputError.map { ", products \(Self.percent($0))" } ?? ""
            return "\(entry.name): weights \(Self.percent(entry.relativeError))\(output)\(entry.isSmoothed ? ", smoothed" : "")"
        }
    }

    private static func percent(_ error: Double) -> String { String(format: "%.3f %%", error * 100) }

    private static func weightBytes(_ graph: Graph) -> Int { graph.summary.constants.reduce(0) { $0 + $1.byteCount } }

    static func text(_ differences: [EquivalenceCheck.Difference]) -> String {
        differences.map { "check         \($0.output): largest difference \($0.largest), values up to \($0.magnitude)\n" }.joined()
    }

    /// `--json`.
    var json: JSONValue {
        let summary = summary
        var members: [JSONMember] = []
        func add(_ key: String, _ value: JSONValue) { members.append(JSONMember(key: key, value: value)) }
        if let output { add("output", .string(output.path)) }
        if let outputBytes { add("bytes", .integer(outputBytes)) }
        add("description", model.description.json)
        add("inputs", .array(model.graph.inputs.map { ["name": .string(model.graph[$0].name), "type": .string("\(model.graph.type($0))")] }))
        add("outputs", .array(model.graph.outputs.map { ["name": .string($0.name), "type": .string("\(model.graph.type($0.value))")] }))
        add("symbols", .array(summary.symbols.map { .string($0) }))
        add("parameters", .integer(summary.parameterCount))
        add("weights", .array(summary.constants.map {
            ["dtype": .string($0.dtype.rawValue), "tensors": .integer($0.tensors), "elements": .integer($0.elements), "bytes": .integer($0.byteCount)]
        }))
        add("operators", .object(summary.operators.map { JSONMember(key: $0.name, value: .integer($0.count)) }))
        let counts = FusionCounts(model.graph)
        add("fusions", .object(FusionCounts.names.map { JSONMember(key: $0, value: .integer(counts[$0] ?? 0)) }))
        if let optimization = model.optimization {
            add("rules", .object(optimization.applications.map { JSONMember(key: $0.rule, value: .integer($0.count)) }))
            add("near_misses", .array(optimization.nearMisses.map { ["rule": .string($0.rule), "node": .string($0.node), "reason": .string($0.reason)] }))
        }
        if let quantization = model.quantization {
            if let original = model.unquantizedGraph {
                add("weight_bytes", ["before": .integer(Self.weightBytes(original)), "after": .integer(Self.weightBytes(model.graph))])
            }
            add("quantized", .array(quantization.entries.map { entry in
                var members: [JSONMember] = [
                    JSONMember(key: "name", value: .string(entry.name)), JSONMember(key: "dtype", value: .string(entry.dtype.rawValue)),
                    JSONMember(key: "elements", value: .integer(entry.elements)), JSONMember(key: "relative_error", value: .number(entry.relativeError)),
                ]
                if let error = entry.outputError {
                    members.append(JSONMember(key: "product_error", value: .number(error)))
                    members.append(JSONMember(key: "smoothed", value: .bool(entry.isSmoothed)))
                }
                return .object(members)
            }))
            add("not_quantized", .array(quantization.skipped.map { .string($0) }))
        }
        if let perplexity {
            add("perplexity", [
                "before": .number(perplexity.before.value), "after": .number(perplexity.after.value), "tokens": .integer(perplexity.after.tokens),
            ])
        }
        if let differences {
            add("check", .array(differences.map {
                ["output": .string($0.output), "largest_difference": .number($0.largest), "magnitude": .number($0.magnitude)]
            }))
        }
        add("warnings", .array(model.warnings.map { .string($0) }))
        return .object(members)
    }
}
