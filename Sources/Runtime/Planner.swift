import GraphIR
import Operators
import Tensors

/// Makes the plan of a bound graph: which nodes run, by which kernels, and where every value lies.
struct Planner {
    /// A node that runs in the static part.
    private struct Work {
        let bound: BoundNode
        let kernel: any Kernel
    }

    /// Memory that values share one after the other.
    private struct Buffer {
        var byteCount: Int
        var first: Int
        var last: Int
        /// Outlives the run.
        var escapes: Bool
    }

    private let prepared: PreparedGraph
    private let given: TokenBinding
    private let wanted: [Output]
    private let options: ExecutorOptions
    private let weights: WeightStore
    private var bound: BoundGraph

    /// - Parameters:
    ///   - given: Values that a run gets besides the inputs.
    ///   - wanted: What the run gives.
    /// - Throws: `RuntimeError` naming the input or node that does not fit.
    init(
        _ prepared: PreparedGraph, _ binding: InputBinding, given: TokenBinding, wanted: [Output], options: ExecutorOptions, weights: WeightStore
    ) throws {
        self.prepared = prepared
        self.given = given
        self.options = options
        self.weights = weights
        self.wanted = wanted
        bound = try BoundGraph(prepared, binding, given: given, wanted: wanted.map(\.value), options: options)
    }

    func plan() throws -> Plan {
        var bound = bound
        let outputs = Set(wanted.map(\.value.index))
        bound.fuseAttentionLayouts(wanted: outputs) { request($0, $1).flatMap(KernelSelection.fast) != nil }
        removeDeadNodes(&bound, wanted: outputs)

        var (work, roots) = choose(bound)
        let kept = outputs.union(bound.dynamicNodes.flatMap { $0.inputs.compactMap { $0 } })
        let (buffers, bufferOf) = assignBuffers(work, roots, kept: kept, bound)

        var memory = MemoryPlanner()
        var heapBytes: [Int] = []
        // By buffer: the number of its block in the arena, or of its own memory.
        let places = buffers.map { buffer -> Int in
            if buffer.escapes {
                heapBytes.append(buffer.byteCount)
                return heapBytes.count - 1
            }
            return memory.add(.init(byteCount: buffer.byteCount, first: buffer.first, last: buffer.last))
        }
        let scratch = work.enumerated().map { step, item in
            memory.add(.init(byteCount: item.kernel.scratchBytes(threads: options.threadCount), first: step, last: step))
        }
        let placement = memory.place()
        let total = heapBytes.reduce(placement?.byteCount) { sum, bytes in
            sum.flatMap { $0.addingReportingOverflow(bytes).overflow ? nil : $0 + bytes }
        }
        guard let placement, let total, total <= options.memoryBytes else {
            throw RuntimeError(
                .outOfMemory, "a run on these shapes needs \(total.map { "\($0)" } ?? "more than 2^63") bytes, beyond the memory limit of "
                    + "\(options.memoryBytes) bytes; use fewer or shorter inputs")
        }

        var constants: [Tensor] = []
        var constantPosition: [Int: Int] = [:]
        let inputPosition = Dictionary(uniqueKeysWithValues: (prepared.graph.inputs + given.values).enumerated().map { ($1.index, $0) })
        func location(_ value: Int) -> Plan.Location? {
            let root = roots[value] ?? value
            if let tensor = bound.constant(root) {
                if let known = constantPosition[root] { return .constant(known) }
                constantPosition[root] = constants.count
                constants.append(tensor)
                return .constant(constants.count - 1)
            }
            if let position = inputPosition[root] { return .input(position) }
            guard let buffer = bufferOf[root] else { return nil }
            return buffers[buffer].escapes ? .heap(places[buffer]) : .arena(placement.offsets[places[buffer]])
        }
        let cacheUse = try CacheUse(bound)
        let steps = try work.enumerated().map { step, item in
            Plan.Step(
                kernel: item.kernel, node: item.bound.node, inputs: try item.bound.inputs.map { try $0.map { try placed(location($0), item) } },
                outputs: try item.bound.outputs.map { try placed(location($0), item) }, scratchOffset: placement.offsets[scratch[step]])
        }
        work = []
        var keptPlaces: [Int: Plan.Placed] = [:]
        for value in kept {
            if let type = bound.types[value], let location = location(value) { keptPlaces[value] = .init(location: location, type: type) }
        }
        return Plan(
            graph: prepared.graph, steps: steps, constants: constants, arenaBytes: placement.byteCount, heapBytes: heapBytes,
            dynamicNodes: bound.dynamicNodes.map { .init(node: $0.node, inputs: $0.inputs, outputs: $0.outputs) }, placed: keptPlaces,
            symbols: bound.symbols, outputs: wanted.map { ($0.name, $0.value.index) }, options: options,
            cacheUse: cacheUse)
    }

    private func placed(_ location: Plan.Location?, _ item: Work) throws -> Plan.Location {
        guard let location else {
            let node = prepared.graph.nodes[item.bound.node]
            throw RuntimeError.node(node, in: prepared.graph, RuntimeError(.invalidNode, "an operand of \(node.op.mnemonic) has no place"))
        }
        return location
    }

    /// nil where a size is not a number, which no static node has.
    private func request(_ node: BoundNode, _ bound: BoundGraph) -> KernelRequest? {
        let outputs = node.outputs.compactMap { bound.types[$0] }
        let operands = node.inputs.map { $0.flatMap { bound.types[$0] } }
        guard outputs.count == node.outputs.count, zip(node.inputs, operands).allSatisfy({ ($0 == nil) == ($1 == nil) }) else { return nil }
        let ids = prepared.graph.nodes[node.node].inputs
        let weights = node.inputs.enumerated().map { position, value -> ValueID? in
            guard let value, prepared.constants[value] != nil, position < ids.count, ids[position]?.index == value else { return nil }
            return ids[position]
        }
        return KernelRequest(
            op: node.op, operands: operands, constants: node.inputs.map { $0.flatMap(bound.constant) }, weights: weights, outputs: outputs,
            store: self.weights, attentionLayout: node.attentionLayout)
    }

    /// Some nodes lost their last use when shapes became numbers.
    private func removeDeadNodes(_ bound: inout BoundGraph, wanted: Set<Int>) {
        var needed = wanted
        for node in bound.dynamicNodes { needed.formUnion(node.inputs.compactMap { $0 }) }
        var live: [BoundNode] = []
        for node in bound.nodes.reversed() where node.outputs.contains(where: { needed.contains($0) && bound.constant($0) == nil }) {
            live.append(node)
            needed.formUnion(node.inputs.compactMap { $0 })
        }
        bound.nodes = live.reversed()
    }

    /// The kernels, and for each value that is another one under another shape, that value.
    private func choose(_ bound: BoundGraph) -> (work: [Work], roots: [Int: Int]) {
        var work: [Work] = []
        var roots: [Int: Int] = [:]
        for node in bound.nodes {
            guard let request = request(node, bound) else { continue }
            if node.attentionLayout.isPlain, let alias = KernelSelection.alias(request), let source = node.inputs[alias] {
                roots[node.outputs[0]] = roots[source] ?? source
            } else {
                work.append(Work(bound: node, kernel: KernelSelection.fast(request) ?? ReferenceKernel(request)))
            }
        }
        return (work, roots)
    }

    /// Gives every computed value a buffer; an output takes over the buffer of an operand that dies with the step where the kernel allows.
    private func assignBuffers(
        _ work: [Work], _ roots: [Int: Int], kept: Set<Int>, _ bound: BoundGraph
    ) -> (buffers: [Buffer], bufferOf: [Int: Int]) {
        let escaping = Set(kept.map { roots[$0] ?? $0 })
        var lastUse: [Int: Int] = [:]
        for (step, item) in work.enumerated() {
            for case let input? in item.bound.inputs { lastUse[roots[input] ?? input] = step }
        }
        var buffers: [Buffer] = []
        var bufferOf: [Int: Int] = [:]
        for (step, item) in work.enumerated() {
            let inputs = item.bound.inputs.map { $0.map { roots[$0] ?? $0 } }
            for (position, output) in item.bound.outputs.enumerated() {
                let byteCount = bound.types[output]?.byteCount ?? 0
                let last = lastUse[output] ?? step
                let escapes = escaping.contains(output)
                func canTakeOver(_ operand: Int) -> Int? {
                    guard operand < inputs.count, let input = inputs[operand], let buffer = bufferOf[input], lastUse[input] == step,
                        !buffers[buffer].escapes, buffers[buffer].last == step, buffers[buffer].byteCount == byteCount,
                        !inputs.enumerated().contains(where: { $0.offset != operand && $0.element.flatMap { bufferOf[$0] } == buffer })
                    else { return nil }
                    return buffer
                }
                if position == 0, let buffer = item.kernel.inPlaceOperands.lazy.compactMap(canTakeOver).first {
                    buffers[buffer].last = last
                    buffers[buffer].escapes = escapes
                    bufferOf[output] = buffer
                } else {
                    bufferOf[output] = buffers.count
                    buffers.append(Buffer(byteCount: byteCount, first: step, last: last, escapes: escapes))
                }
            }
        }
        return (buffers, bufferOf)
    }
}
