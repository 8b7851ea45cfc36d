import GraphIR
import Operators

/// What optimisation did to a graph, and what it nearly did.
public struct OptimizationReport: Sendable, Hashable {
    /// How often a rule rewrote the graph.
    public struct Application: Sendable, Hashable {
        public let rule: String
        public internal(set) var count: Int
    }

    /// A place that looks like a fusion and is none.
    public struct NearMiss: Sendable, Hashable, CustomStringConvertible {
        public let rule: String
        /// The node's name in the source file, or the name of its output where it has none.
        public let node: String
        public let reason: String
        public var description: String { "\(rule) at \(node): \(reason)" }
    }

    /// How many nodes an operator has.
    public struct OperatorCount: Sendable, Hashable {
        public let name: String
        public internal(set) var count: Int
    }

    /// Rules that were applied, in the order of the pipeline.
    public internal(set) var applications: [Application] = []
    /// Of the last run of each rule: what a later fusion took after all is not listed.
    public internal(set) var nearMisses: [NearMiss] = []
    public internal(set) var operatorsBefore: [OperatorCount] = []
    public internal(set) var operatorsAfter: [OperatorCount] = []

    public init() {}

    /// How often a rule rewrote the graph.
    public func count(of rule: String) -> Int { applications.first { $0.rule == rule }?.count ?? 0 }

    /// How many nodes of an operator the optimised graph has.
    public func nodeCount(of mnemonic: String) -> Int { operatorsAfter.first { $0.name == mnemonic }?.count ?? 0 }

    /// The fused operators of the optimised graph, wherever they come from (a rule or the source file): what `--require-fusions` compares with.
    public internal(set) var fusionCounts: FusionCounts = FusionCounts()

    mutating func record(_ rule: String, count: Int) {
        guard count > 0 else { return }
        if let index = applications.firstIndex(where: { $0.rule == rule }) {
            applications[index].count += count
        } else {
            applications.append(Application(rule: rule, count: count))
        }
    }
}

/// Fused operators of a graph.
public struct FusionCounts: Sendable, Hashable {
    public internal(set) var embedding = 0
    public internal(set) var attention = 0
    /// With the one in an embedding.
    public internal(set) var layerNorm = 0
    public internal(set) var rmsNorm = 0
    /// As an operator of its own or as the activation of a linear.
    public internal(set) var gelu = 0
    public internal(set) var linear = 0

    /// The names that users write.
    public static let names = ["embedding", "attention", "layer_norm", "rms_norm", "gelu", "linear"]

    /// The count of one of `names`; nil for any other.
    public subscript(name: String) -> Int? {
        switch name {
        case "embedding": return embedding
        case "attention": return attention
        case "layer_norm": return layerNorm
        case "rms_norm": return rmsNorm
        case "gelu": return gelu
        case "linear": return linear
        default: return nil
        }
    }

    public init() {}

    public init(_ graph: Graph) {
        for node in graph.nodes {
            switch node.op {
            case is ScaledDotProductAttention, is CachedAttention: attention += 1
            case is Embedding:
                embedding += 1
                layerNorm += 1
            case is LayerNorm: layerNorm += 1
            case is RMSNorm: rmsNorm += 1
            case let op as Unary where op.kind == .gelu || op.kind == .gelu_tanh: gelu += 1
            case let op as Linear:
                linear += 1
                if op.activation == .gelu || op.activation == .gelu_tanh { gelu += 1 }
            case let op as QuantizedLinear:
                linear += 1
                if op.activation == .gelu || op.activation == .gelu_tanh { gelu += 1 }
            default: break
            }
        }
    }
}

extension Graph {
    /// How many nodes each operator has, the most frequent first.
    public var operatorCounts: [OptimizationReport.OperatorCount] {
        var counts: [OptimizationReport.OperatorCount] = []
        for node in nodes {
            if let index = counts.firstIndex(where: { $0.name == node.op.mnemonic }) {
                counts[index].count += 1
            } else {
                counts.append(OptimizationReport.OperatorCount(name: node.op.mnemonic, count: 1))
            }
        }
        return counts.sorted { $0.count != $1.count ? $0.count > $1.count : $0.name < $1.name }
    }
}
