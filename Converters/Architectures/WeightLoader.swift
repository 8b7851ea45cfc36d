import GraphIR
import Operators
import Tensors

/// Brings the tensors of a checkpoint into a graph by the names that the architecture gives them, whatever prefix the file puts before
/// them, and keeps account of those that are missing, of another shape or type, or left over.
///
/// A tensor that cannot be used becomes a stand-in of the expected type, so that one run finds everything at once; a graph
/// with `issues` is to be thrown away.
public struct WeightLoader: Sendable {
    /// Which module of the checkpoint a tensor belongs to.
    public enum Part: Sendable {
        /// The encoder or decoder: `bert.encoder...`.
        case base
        /// What stands on it: `classifier...`, `cls...`.
        case head
    }

    private struct Entry: Sendable {
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
    /// What stands before the model's and before the head's names.
    private let basePrefix: String
    private let headPrefixes: [String]
    private var missing: [String] = []
    /// What replaces tensors that cannot be used.
    private var standIns: [ExactName: ValueID] = [:]
    private var tensorIssues: [CheckpointIssue] = []
    /// Things to know that do not stand in the way.
    public private(set) var warnings: [String] = []

    /// - Parameters:
    ///   - prefix: What the reference implementation puts before the model's names in one with a head, `bert.`.
    ///   - anchor: A tensor that every checkpoint of the architecture has.
    init(_ files: any WeightSource, path: String, prefix: String, anchor: String) {
        self.files = files
        self.path = path
        entries = files.names.map { Entry(name: $0) }
        for (index, name) in files.names.enumerated() { positions[ExactName(name)] = index }
        // Older names come second, so that they never hide a tensor that bears the present name.
        for (index, name) in files.names.enumerated() {
            guard let present = Self.presentName(name), positions[ExactName(present)] == nil else { continue }
            positions[ExactName(present)] = index
        }
        basePrefix = Self.basePrefix(files.names, anchor: anchor, expected: prefix)
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

    /// Matrices are `[out, in]`, whatever the architecture's own checkpoints have.
    var isOutputMajor: Bool { files.isOutputMajor }

    public func has(_ name: String, _ part: Part) -> Bool { index(name, part) != nil }

    /// The tensor of that name as an f32 value of the graph. 16-bit floats stay as they are in the file, with a cast behind them.
    mutating func value(_ name: String, _ shape: [Int], _ part: Part, in graph: inout GraphBuilder) throws -> ValueID {
        try load(name, shape, to: shape, part, in: &graph) { $0 }
    }

    /// The matrix of a linear layer or a table of embeddings: as `value`, but blocks stay blocks, which both operators take.
    mutating func matrix(_ name: String, _ shape: [Int], _ part: Part, in graph: inout GraphBuilder) throws -> ValueID {
        try load(name, shape, to: shape, part, takesBlocks: true, in: &graph) { $0 }
    }

    /// As `value`, of a tensor of the model that goes through `change` first.
    ///
    /// - Parameter result: The shape behind the change.
    mutating func changed(
        _ name: String, _ shape: [Int], to result: [Int], in graph: inout GraphBuilder, _ change: (Tensor) throws -> Tensor
    ) throws -> ValueID {
        try load(name, shape, to: result, .base, in: &graph, change)
    }

    private mutating func load(
        _ name: String, _ shape: [Int], to result: [Int], _ part: Part, takesBlocks: Bool = false, in graph: inout GraphBuilder,
        _ change: (Tensor) throws -> Tensor
    ) throws -> ValueID {
        if let known = standIns[ExactName(name)] { return known }
        guard let index = index(name, part) else {
            missing.append(quoted((part == .base ? basePrefix : headPrefixes[0]) + name))
            return standIn(name, result, in: &graph)
        }
        entries[index].isUsed = true
        let fileName = entries[index].name
        let tensor = try files.tensor(named: fileName)
        guard tensor.shape == shape else {
            report(.tensorShape, "tensor \(quoted(fileName)) has the shape \(tensor.shape), config.json asks for \(shape)")
            return standIn(name, result, in: &graph)
        }
        guard [.f32, .f16, .bf16].contains(tensor.dtype) || (takesBlocks && tensor.dtype.isBlock) else {
            report(.tensorType, "tensor \(quoted(fileName)) is \(tensor.dtype.rawValue), expected f32, f16 or bf16")
            return standIn(name, result, in: &graph)
        }
        if let known = entries[index].value { return known }
        let constant = graph.constant(try change(tensor), name: name)
        let isReady = tensor.dtype.isBlock || graph.type(constant).dtype == .f32
        let value = isReady ? constant : try graph.apply(Cast(to: .f32), constant, name: name, output: "\(name).f32")
        entries[index].value = value
        return value
    }

    private mutating func standIn(_ name: String, _ shape: [Int], in graph: inout GraphBuilder) -> ValueID {
        let value = graph.input(name, TensorType(.f32, shape: shape))
        standIns[ExactName(name)] = value
        return value
    }

    /// The output matrix of a language model: the word embedding, unless the checkpoint has another one.
    ///
    /// - Parameter warns: An output matrix of its own is odd where the configuration says that it is the embedding.
    mutating func tiedMatrix(
        _ name: String, to source: String, isTied: Bool, warns: Bool = true, _ shape: [Int], in graph: inout GraphBuilder
    ) throws -> ValueID {
        guard isTied, let sourceIndex = index(source, .base) else { return try matrix(name, shape, .head, in: &graph) }
        guard let ownIndex = index(name, .head) else { return try matrix(source, shape, .base, in: &graph) }
        let own = try files.tensor(named: entries[ownIndex].name)
        guard Tensor.identical(own, try files.tensor(named: entries[sourceIndex].name)) else {
            if warns {
                let (decoder, embedding) = (quoted(entries[ownIndex].name), quoted(entries[sourceIndex].name))
                warnings.append("\(path): tie_word_embeddings is true, but \(decoder) differs from \(embedding) and is used itself")
            }
            return try matrix(name, shape, .head, in: &graph)
        }
        entries[ownIndex].isUsed = true
        return try matrix(source, shape, .base, in: &graph)
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

    /// Buffers that follow from the configuration, a pooler that this head does not use, the sentence-pair heads of pretraining, and the part
    /// of a model that sees images.
    private func isKnownExtra(_ name: String) -> Bool {
        let bare = (name.removingPrefix(basePrefix) ?? name).removingPrefix(headPrefixes[0]) ?? name
        if Self.bufferSuffixes.contains(where: { bare.removingSuffix($0) != nil }) { return true }
        return Self.unusedModules.contains { bare.removingPrefix($0) != nil }
    }

    private static let unusedModules = [
        "pooler.", "cls.seq_relationship.", "sop_classifier.", "vision_tower.", "multi_modal_projector.", "model.vision_tower.",
        "model.multi_modal_projector.",
    ]
    /// Numbers of positions, causal masks and rotary frequencies, which older checkpoints store.
    private static let bufferSuffixes = [
        "embeddings.position_ids", "embeddings.token_type_ids", "attn.bias", "attn.masked_bias", "attention.bias", "attention.masked_bias",
        "rotary_emb.inv_freq",
    ]

    /// The present form of a parameter name of the first TensorFlow checkpoints; nil for a name that is none.
    private static func presentName(_ name: String) -> String? {
        if let stem = name.removingSuffix("LayerNorm.gamma") { return stem + "LayerNorm.weight" }
        if let stem = name.removingSuffix("LayerNorm.beta") { return stem + "LayerNorm.bias" }
        return nil
    }

    /// What precedes the model's own names.
    private static func basePrefix(_ names: [String], anchor: String, expected: String) -> String {
        let found = names.compactMap { $0.removingSuffix(anchor) }
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
