import GraphIR
import Operators
import Tensors

/// Brings the tensors of a checkpoint into a graph by the names that the architecture gives them, whatever prefix the file puts before
/// them, and keeps account of those that are missing, of another shape or type, or left over.
///
/// A tensor that cannot be used becomes a stand-in of the expected type, so that one run finds everything at once; a graph
/// with `issues` is to be thrown away.
public struct WeightLoader {
    /// Which module of the checkpoint a tensor belongs to.
    public enum Part: Sendable {
        /// The encoder: `bert.encoder...`.
        case base
        /// What stands on it: `classifier...`, `cls...`.
        case head
    }

    private struct Entry {
        /// The name in the file.
        let name: String
        var isUsed = false
        /// The value in the graph, in f32.
        var value: ValueID?
    }

    private let files: any WeightSource
    private let path: String
    private var entries: [Entry]
    private var positions: [ExactName: Int] = [:]
    /// What stands before the encoder's and before the head's names.
    private let basePrefix: String
    private let headPrefixes: [String]
    private var missing: [String] = []
    /// What replaces tensors that cannot be used.
    private var standIns: [ExactName: ValueID] = [:]
    private var tensorIssues: [CheckpointIssue] = []
    /// Things to know that do not stand in the way.
    public private(set) var warnings: [String] = []

    /// - Parameter prefix: What the reference implementation puts before the encoder's names in a model with a head, `bert.`.
    public init(_ files: any WeightSource, path: String, prefix: String) {
        self.files = files
        self.path = path
        entries = files.names.map { Entry(name: $0) }
        for (index, name) in files.names.enumerated() { positions[ExactName(name)] = index }
        // Older names come second, so that they never hide a tensor that bears the present name.
        for (index, name) in files.names.enumerated() {
            guard let present = Self.presentName(name), positions[ExactName(present)] == nil else { continue }
            positions[ExactName(present)] = index
        }
        basePrefix = Self.basePrefix(files.names, expected: prefix)
        let outer = basePrefix.removingSuffix(prefix) ?? ""
        headPrefixes = outer.isEmpty ? [""] : [outer, ""]
    }

    /// Everything that stands in the way.
    public var issues: [CheckpointIssue] {
        guard !missing.isEmpty else { return tensorIssues }
        let list = missing.joined(separator: ", ")
        return [CheckpointIssue(.missingTensors, path: path, "lacks the tensors \(list)")] + tensorIssues
    }

    /// The tensors, in quotes, that the graph does not use, but for those that are known to carry nothing.
    public var unusedTensors: [String] {
        entries.filter { !$0.isUsed && !isKnownExtra($0.name) }.map { quoted($0.name) }
    }

    public func has(_ name: String, _ part: Part) -> Bool { index(name, part) != nil }

    /// The tensor of that name as an f32 value of the graph. 16-bit floats stay as they are in the file, with a cast behind them.
    public mutating func value(_ name: String, _ shape: [Int], _ part: Part, in graph: inout GraphBuilder) throws -> ValueID {
        if let known = standIns[ExactName(name)] { return known }
        guard let index = index(name, part) else {
            missing.append(quoted((part == .base ? basePrefix : headPrefixes[0]) + name))
            return standIn(name, shape, in: &graph)
        }
        entries[index].isUsed = true
        let fileName = entries[index].name
        let tensor = try files.tensor(named: fileName)
        guard tensor.shape == shape else {
            report(.tensorShape, "tensor \(quoted(fileName)) has the shape \(tensor.shape), config.json asks for \(shape)")
            return standIn(name, shape, in: &graph)
        }
        guard [.f32, .f16, .bf16].contains(tensor.dtype) else {
            report(.tensorType, "tensor \(quoted(fileName)) is \(tensor.dtype.rawValue), expected f32, f16 or bf16")
            return standIn(name, shape, in: &graph)
        }
        if let known = entries[index].value { return known }
        let constant = graph.constant(tensor, name: name)
        let value = tensor.dtype == .f32 ? constant : try graph.apply(Cast(to: .f32), constant, name: name, output: "\(name).f32")
        entries[index].value = value
        return value
    }

    private mutating func standIn(_ name: String, _ shape: [Int], in graph: inout GraphBuilder) -> ValueID {
        let value = graph.input(name, TensorType(.f32, shape: shape))
        standIns[ExactName(name)] = value
        return value
    }

    /// The output matrix of a language model: the word embedding, unless the checkpoint has another one.
    public mutating func tiedValue(
        _ name: String, to source: String, isTied: Bool, _ shape: [Int], in graph: inout GraphBuilder
    ) throws -> ValueID {
        guard isTied, let sourceIndex = index(source, .base) else { return try value(name, shape, .head, in: &graph) }
        guard let ownIndex = index(name, .head) else { return try value(source, shape, .base, in: &graph) }
        let own = try files.tensor(named: entries[ownIndex].name)
        guard Tensor.identical(own, try files.tensor(named: entries[sourceIndex].name)) else {
            let (decoder, embedding) = (quoted(entries[ownIndex].name), quoted(entries[sourceIndex].name))
            warnings.append("\(path): tie_word_embeddings is true, but \(decoder) differs from \(embedding) and is used itself")
            return try value(name, shape, .head, in: &graph)
        }
        entries[ownIndex].isUsed = true
        return try value(source, shape, .base, in: &graph)
    }

    /// Counts a tensor as used that says the same as another.
    mutating func ignore(_ name: String, _ part: Part) {
        if let index = index(name, part) { entries[index].isUsed = true }
    }

    private mutating func report(_ kind: CheckpointIssue.Kind, _ reason: String) {
        tensorIssues.append(CheckpointIssue(kind, path: path, reason))
    }

    private func index(_ name: String, _ part: Part) -> Int? {
        let prefixes = part == .base ? [basePrefix] : headPrefixes
        return prefixes.lazy.compactMap { positions[ExactName($0 + name)] }.first
    }

    /// Buffers that follow from the configuration, a pooler that this head does not use, and the sentence-pair heads of pretraining.
    private func isKnownExtra(_ name: String) -> Bool {
        let bare = (name.removingPrefix(basePrefix) ?? name).removingPrefix(headPrefixes[0]) ?? name
        let buffers = ["position_ids", "token_type_ids"]
        if buffers.contains(where: { bare.removingSuffix("embeddings.\($0)") != nil }) { return true }
        return ["pooler.", "cls.seq_relationship.", "sop_classifier."].contains { bare.removingPrefix($0) != nil }
    }

    /// The present form of a parameter name of the first TensorFlow checkpoints; nil for a name that is none.
    private static func presentName(_ name: String) -> String? {
        if let stem = name.removingSuffix("LayerNorm.gamma") { return stem + "LayerNorm.weight" }
        if let stem = name.removingSuffix("LayerNorm.beta") { return stem + "LayerNorm.bias" }
        return nil
    }

    /// What precedes the encoder's own names: found by the one tensor that every encoder has.
    private static func basePrefix(_ names: [String], expected: String) -> String {
        let found = names.compactMap { $0.removingSuffix("embeddings.word_embeddings.weight") }
            .filter { $0.utf8.isEmpty || $0.utf8.last == UInt8(ascii: ".") }
        return [expected, ""].first(where: found.contains) ?? found.min { $0.utf8.count < $1.utf8.count } ?? expected
    }
}

extension String {
    /// The rest of a string that starts with these bytes.
    func removingPrefix(_ prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(utf8.dropFirst(prefix.utf8.count))
    }

    /// The rest of a string that ends with these bytes.
    func removingSuffix(_ suffix: String) -> String? {
        guard utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else { return nil }
        return String(utf8.dropLast(suffix.utf8.count))
    }
}
