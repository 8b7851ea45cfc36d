import GraphIR
import ModelConversion
import Operators
import Optimizer
import Runtime
import Tensors

/// Runs a graph before and after optimisation on generated inputs.
enum EquivalenceCheck {
    struct Difference: Sendable {
        let output: String
        /// The largest absolute difference over all cases.
        let largest: Double
        /// The largest absolute value of the reference.
        let magnitude: Double
        /// Relative to the size of the numbers.
        let tolerance: Double

        var isWithinTolerance: Bool { largest <= tolerance * max(magnitude, 1) }
    }

    /// Batch and sequence sizes that are tried: one, odd, several with padding.
    private static let sizes = [(1, 1), (1, 7), (3, 12)]

    /// - Throws: errors of the runtime; a `RuntimeError` also where no inputs can be generated.
    static func run(_ model: ConvertedModel) throws -> [Difference] {
        let reference = try Executor(graph: model.importedGraph)
        let optimized = try Executor(graph: model.graph)
        var largest: [String: (Double, Double)] = [:]
        for (index, (batch, sequence)) in sizes.enumerated() {
            let inputs = try generate(model.graph, batch: batch, sequence: sequence, seed: UInt64(index + 1))
            let actual = try optimized.run(inputs)
            // A cache took the place of past inputs: the first run has none.
            var tokens: Tensor?
            var plainInputs = inputs
            if model.graph.nodes.contains(where: { type(of: $0.op).usesCache }), let interface = CausalInterface(model.importedGraph),
                let ids = inputs["input_ids"], let mask = inputs["attention_mask"]
            {
                plainInputs = try interface.inputsWithoutPast(ids: ids, mask: mask, in: model.importedGraph)
                tokens = mask
            }
            // Padding is not computed.
            if model.graph.nodes.contains(where: { $0.op is TokenRows }) { tokens = inputs.first { $0.key.contains("mask") && $0.value.rank == 2 }?.value }
            let isReal = tokens?.integers().map { $0 != 0 }
            let expected = try reference.run(plainInputs)
            for (name, tensor) in expected {
                guard let other = actual[name] else { continue }
                var (difference, magnitude) = largest[name] ?? (0, 0)
                // What stands behind padding is of no account.
                let isPerToken = tokens.map { Array(tensor.shape.prefix(2)) == $0.shape } ?? false
                let width = max(tensor.shape.dropFirst(2).reduce(1, *), 1)
                for (index, (x, y)) in zip(tensor.doubles(), other.doubles()).enumerated() where !isPerToken || isReal?[index / width] ?? true {
                    if x.isNaN != y.isNaN { difference = .infinity }
                    if x.isNaN || x == y { continue }
                    difference = max(difference, abs(x - y))
                    if x.isFinite { magnitude = max(magnitude, abs(x)) }
                }
                largest[name] = (difference, magnitude)
            }
        }
        let tolerance = tolerance(model)
        return model.graph.outputs.compactMap { output in
            largest[output.name].map { Difference(output: output.name, largest: $0.0, magnitude: $0.1, tolerance: tolerance) }
        }
    }

    /// f32 arithmetic in another order; but products with weights that became blocks round each 32 inputs to 16 bits, and a graph in half precision rounds
    /// after every operator what the optimised one keeps in f32.
    private static func tolerance(_ model: ConvertedModel) -> Double {
        let types = Set(model.importedGraph.nodes.lazy.flatMap(\.outputs).map { model.importedGraph.type($0).dtype })
        if types.contains(.bf16) { return 5e-2 }
        if types.contains(.f16) { return 1e-2 }
        return blockWeights(model.graph) > blockWeights(model.importedGraph) ? 3e-4 : 1e-5
    }

    private static func blockWeights(_ graph: Graph) -> Int {
        graph.nodes.filter { node in node.op is Linear && node.inputs[1].map { graph.type($0).dtype.isBlock } == true }.count
    }

    /// Ids below the smallest vocabulary in use, masks with padding at the end, small floats elsewhere.
    private static func generate(_ graph: Graph, batch: Int, sequence: Int, seed: UInt64) throws -> [String: Tensor] {
        var state = seed
        func next() -> UInt64 {
            // Steele, Lea and Flood's SplitMix64.
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
        var sizes: [String: Int] = [:]
        for (position, symbol) in graph.inputSymbols.enumerated() { sizes[symbol] = position == 0 ? batch : sequence }
        var inputs: [String: Tensor] = [:]
        for id in graph.inputs {
            let value = graph[id]
            let shape = try value.type.dims.map { try $0.evaluate(sizes) ?? sequence }
            let count = try Shape.count(shape)
            switch value.type.dtype {
            case .f64, .f32, .f16, .bf16:
                let elements = (0..<count).map { _ in Double(next() >> 11) * 0x1p-53 * 2 - 1 }
                inputs[value.name] = try Tensor(doubles: elements, dtype: value.type.dtype, shape: shape)
            case _ where value.name.contains("mask"):
                // The first row whole, the others cut.
                let width = max(shape.last ?? 1, 1)
                let elements = (0..<count).map { index -> Int64 in
                    let row = index / width
                    return index % width < max(1, width - row * 2) ? 1 : 0
                }
                inputs[value.name] = try Tensor(integers: elements, dtype: value.type.dtype, shape: shape)
            case _ where value.name.contains("type") || value.name.contains("segment"):
                inputs[value.name] = try Tensor(integers: Array(repeating: 0, count: count), dtype: value.type.dtype, shape: shape)
            default:
                let bound = UInt64(max(smallestTable(graph), 1))
                inputs[value.name] = try Tensor(integers: (0..<count).map { _ in Int64(next() % bound) }, dtype: value.type.dtype, shape: shape)
            }
        }
        return inputs
    }

    /// Rows of the smallest large table that is gathered from: ids below that are legal everywhere.
    private static func smallestTable(_ graph: Graph) -> Int {
        let tables = graph.nodes.flatMap { node -> [Int] in
            guard node.op is Gather || node.op is Embedding else { return [] }
            return node.inputs.compactMap { input in
                guard let input, graph.constant(input) != nil, graph.type(input).rank == 2 else { return nil }
                return graph.type(input).dims[0].fixedValue
            }
        }
        return tables.filter { $0 > 16 }.min() ?? 2
    }
}
