import GraphIR
import Operators
import Optimizer
import Testing

/// What every encoder of the corpus comes down to, whoever exported it: a row for each model, a number for each fused operator.
struct EncoderFusions {
    let model: String
    /// Words, positions and types with their norm.
    var embedding = 1
    var attention = 2
    /// Of each layer four: queries, keys and values in one, the output, up and down; the rest are the head's.
    let linear: Int
    /// Norms behind the embedding, of which `residual` add one of their operands themselves.
    var layerNorm = 4
    var residual = 4
    var gelu = 2

    static let table = [
        EncoderFusions(model: "bert-encoder", linear: 9),
        // The prediction head has a linear, a gelu and a norm of its own.
        EncoderFusions(model: "bert-masked-lm", linear: 10, layerNorm: 5, gelu: 3),
        EncoderFusions(model: "bert-sequence-classification", linear: 10),
        EncoderFusions(model: "bert-token-classification", linear: 9),
        EncoderFusions(model: "distilbert-sequence-classification", linear: 10),
        EncoderFusions(model: "mpnet-encoder", linear: 9),
        EncoderFusions(model: "roberta-sequence-classification", linear: 10),
        EncoderFusions(model: "xlm-roberta-encoder", linear: 9),
    ]

    static func of(_ model: String) throws -> EncoderFusions { try #require(table.first { $0.model == model }, "nothing is expected of \(model)") }

    /// Operators that may give floats for each token besides the fused ones: views, and what stands between padded and real tokens.
    private static let plain: Set = ["reshape", "transpose", "slice", "gather", "pad_tokens", "squeeze", "expand_dims"]
    private static let fused: Set = ["embedding", "linear", "scaled_dot_product_attention", "layer_norm"]

    /// Compares an optimised graph with the row. What did not fuse stands in the messages, by node and reason.
    func check(_ graph: Graph, _ report: OptimizationReport) {
        let counts = FusionCounts(graph)
        let misses = report.nearMisses.map(\.description).joined(separator: "; ")
        #expect(counts.embedding == embedding, "embedding, \(misses)")
        #expect(counts.attention == attention, "attention, \(misses)")
        #expect(counts.linear == linear, "linear, \(misses)")
        #expect(counts.layerNorm == layerNorm + embedding, "layer_norm, \(misses)")
        #expect(graph.nodes.filter { $0.op is LayerNorm && $0.inputs.count > 3 && $0.inputs[3] != nil }.count == residual, "residuals, \(misses)")
        #expect(counts.gelu == gelu, "gelu, \(misses)")
        #expect(report.count(of: "unpadded_batches") == 1, "unpadded batches, \(misses)")
        // Nothing else computes with vectors of tokens.
        for node in graph.nodes where !Self.plain.contains(node.op.mnemonic) && !Self.fused.contains(node.op.mnemonic) {
            for output in node.outputs {
                let type = graph.type(output)
                let isHidden = type.dtype.isFloat && type.rank >= 3 && (type.dims.last?.fixedValue ?? 0) > 1
                #expect(!isHidden, "\(node.op.mnemonic) \(node.name) gives \(type), \(misses)")
            }
        }
        #expect(report.nodeCount(of: "shape") == 0)
    }
}
