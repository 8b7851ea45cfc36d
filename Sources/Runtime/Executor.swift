import COpenBLAS
import GraphIR
import Operators
import Tensors

/// Runs a graph.
///
/// The first run with new input shapes plans the graph for them; plans are kept. One executor may run on many threads at once.
///
/// ```swift
/// let executor = try Executor(graph: graph)
/// let outputs = try executor.run(["input_ids": ids])
/// ```
public final class Executor: Sendable {
    /// An input or output of the graph.
    public struct Port: Sendable, Hashable {
        public let name: String
        public let type: TensorType
        /// Of an input: may be left out.
        public let hasDefault: Bool
    }

    public let inputs: [Port]
    public let outputs: [Port]

    private let prepared: PreparedGraph
    private let options: ExecutorOptions
    private let weights = WeightStore()
    private let arenas = ArenaPool()
    private let plans = PlanCache()

    /// Checks the graph and evaluates what follows from its constants alone.
    ///
    /// - Throws: `VerificationError` for a graph that breaks the rules of its form; `RuntimeError` naming a node that cannot be
    ///   evaluated.
    public init(graph: Graph, options: ExecutorOptions = .init()) throws {
        _ = blas_load()
        prepared = try PreparedGraph(graph, options: options)
        self.options = options
        inputs = graph.inputs.map { Port(name: graph[$0].name, type: graph.type($0), hasDefault: graph[$0].inputDefault != nil) }
        outputs = graph.outputs.map { Port(name: $0.name, type: graph.type($0.value), hasDefault: false) }
    }

    /// Computes outputs.
    ///
    /// - Parameters:
    ///   - inputs: By name; of exactly the declared types. Dims that share a name must have one size.
    ///   - outputs: The names of the wanted outputs, nil for all. Nodes that no wanted output needs do not run.
    ///   - cache: The tokens before those of the inputs, from this executor's `makeCache`; the run appends its own. After an error it is
    ///     as it was before.
    /// - Throws: `RuntimeError` naming the input, output or node.
    public func run(_ inputs: [String: Tensor], outputs: [String]? = nil, cache: KeyValueCache? = nil) throws -> [String: Tensor] {
        let binding = try InputBinding(inputs, to: prepared.graph)
        let wanted = try outputs.map(positions) ?? Array(prepared.graph.outputs.indices)
        let realTokens = try countTokens(binding)
        let plan = try plan(binding, realTokens, positions: wanted) { wanted.map { prepared.graph.outputs[$0] } }
        let tensors = binding.tensors + realTokens.tensors
        guard let cache else { return try arenas.with(byteCount: plan.arenaBytes) { try plan.run(tensors, arena: $0) } }
        let (batch, tokens) = try plan.cacheUse.appended(to: cache)
        try cache.begin(batch: batch, tokens: tokens)
        var succeeded = false
        defer { cache.end(succeeded: succeeded) }
        let results = try arenas.with(byteCount: plan.arenaBytes) { try plan.run(tensors, arena: $0, cache: cache) }
        succeeded = true
        return results
    }

    private func plan(_ binding: InputBinding, _ tokens: TokenBinding, positions: [Int], outputs: () -> [Output]) throws -> Plan {
        try plans.plan(PlanCache.Key(shapes: binding.tensors.map { $0?.shape }, outputs: positions, tokens: tokens.count)) {
            try Planner(prepared, binding, given: tokens, wanted: outputs(), options: options, weights: weights).plan()
        }
    }

    /// Runs what the real tokens of a batch follow from, so that the main plan can have numbers for all sizes.
    private func countTokens(_ binding: InputBinding) throws -> TokenBinding {
        guard let number = prepared.tokenRows, let mask = prepared.graph.nodes[number].inputs.first ?? nil else { return .none }
        let plan = try plan(binding, .none, positions: []) { [Output(name: "mask", value: mask)] }
        let result = try arenas.with(byteCount: plan.arenaBytes) { try plan.run(binding.tensors, arena: $0) }
        let node = prepared.graph.nodes[number]
        do {
            return try TokenBinding(node, mask: mask, result["mask"])
        } catch {
            throw RuntimeError.node(node, in: prepared.graph, error)
        }
    }

    /// An empty key-value cache for `batch` sequences of up to `capacity` positions.
    ///
    /// - Throws: `RuntimeError` where the graph keeps nothing between runs, or the memory does not suffice.
    public func makeCache(batch: Int = 1, capacity: Int) throws -> KeyValueCache {
        try KeyValueCache(CacheLayout(prepared.graph), batch: batch, capacity: capacity, memoryBytes: options.memoryBytes)
    }

    /// How many plans are kept at the moment.
    var cachedPlanCount: Int { plans.count }

    private func positions(_ names: [String]) throws -> [Int] {
        try names.map { name in
            guard let index = outputs.firstIndex(where: { $0.name == name }) else {
                throw RuntimeError(
                    .unknownName, "there is no output named \(name); the outputs are \(outputs.map(\.name).joined(separator: ", "))")
            }
            return index
        }
    }
}
