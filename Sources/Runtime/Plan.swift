import GraphIR
import Tensors

/// A graph made ready for one set of input shapes and wanted outputs: kernels chosen, every intermediate at its place.
struct Plan: Sendable {
    /// Where a value lies during a run.
    enum Location: Sendable {
        case input(Int)
        case constant(Int)
        /// An offset into the run's arena.
        case arena(Int)
        /// Memory of its own that may outlive the run: by index into `heapBytes`.
        case heap(Int)
    }

    struct Step: Sendable {
        let kernel: any Kernel
        let node: Int
        let inputs: [Location?]
        let outputs: [Location]
        let scratchOffset: Int
    }

    /// A value with its place.
    struct Placed: Sendable {
        let location: Location
        let type: ConcreteType
    }

    /// A node whose output sizes only the data tell, or that depends on such a node. Runs after all steps, on tensors.
    struct DynamicNode: Sendable {
        let node: Int
        /// By value index.
        let inputs: [Int?]
        let outputs: [Int]
    }

    let graph: Graph
    let steps: [Step]
    let constants: [Tensor]
    let arenaBytes: Int
    let heapBytes: [Int]
    let dynamicNodes: [DynamicNode]
    /// Values of the static part that dynamic nodes and outputs use, by value index.
    let placed: [Int: Placed]
    let symbols: SymbolTable
    /// The wanted outputs in order, by value index.
    let outputs: [(name: String, value: Int)]
    let options: ExecutorOptions
    /// What the nodes append to a key-value cache.
    let cacheUse: CacheUse

    /// - Parameters:
    ///   - inputs: in the graph's order; of the shapes that the plan was made for.
    ///   - cache: Between `begin` and `end`.
    /// - Throws: `RuntimeError` naming the node.
    func run(_ inputs: [Tensor?], arena: Arena, cache: KeyValueCache? = nil) throws -> [String: Tensor] {
        let heap = try heapBytes.map { count -> (base: UnsafeMutableRawPointer, storage: Storage) in
            let memory = try Arena.allocate(count)
            return (memory.base, Storage(adopting: memory.bytes))
        }
        func pointer(_ location: Location) -> UnsafeMutableRawPointer {
            switch location {
            case .input(let index): return inputs[index].flatMap(Self.memory) ?? arena.base
            case .constant(let index): return Self.memory(constants[index]) ?? arena.base
            case .arena(let offset): return arena.base + offset
            case .heap(let index): return heap[index].base
            }
        }
        for step in steps {
            let start = options.profiler == nil ? 0 : Profiler.now()
            do {
                try withUnsafeTemporaryAllocation(of: UnsafeRawPointer?.self, capacity: max(step.inputs.count, 1)) { inputs in
                    try withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer.self, capacity: max(step.outputs.count, 1)) { outputs in
                        for (index, location) in step.inputs.enumerated() {
                            inputs.initializeElement(at: index, to: location.map { UnsafeRawPointer(pointer($0)) })
                        }
                        for (index, location) in step.outputs.enumerated() { outputs.initializeElement(at: index, to: pointer(location)) }
                        try step.kernel.run(
                            KernelMemory(
                                inputs: UnsafeBufferPointer(rebasing: inputs[..<step.inputs.count]),
                                outputs: UnsafeBufferPointer(rebasing: outputs[..<step.outputs.count]),
                                scratch: arena.base + step.scratchOffset, threads: options.threadCount, cache: cache))
                    }
                }
            } catch {
                throw RuntimeError.node(graph.nodes[step.node], in: graph, error)
            }
            if options.profiler != nil { profile(step.node, step.kernel.name, since: start) }
        }
        // The memory of inputs and constants was used through bare pointers.
        withExtendedLifetime((inputs, constants)) {}

        var tensors: [Int: Tensor] = [:]
        for (index, value) in placed {
            switch value.location {
            case .input(let position): tensors[index] = try inputs[position]?.reshaped(value.type.shape)
            case .constant(let position): tensors[index] = try constants[position].reshaped(value.type.shape)
            case .heap(let position):
                tensors[index] = try Tensor(dtype: value.type.dtype, shape: value.type.shape, storage: heap[position].storage)
            case .arena: break
            }
        }
        if !dynamicNodes.isEmpty { try runDynamicNodes(inputs, &tensors) }
        var result: [String: Tensor] = [:]
        for (name, value) in outputs {
            guard let tensor = tensors[value] else { throw RuntimeError(.invalidNode, "output \(name) was not computed") }
            result[name] = tensor
        }
        return result
    }

    private func runDynamicNodes(_ inputs: [Tensor?], _ tensors: inout [Int: Tensor]) throws {
        var symbols = symbols
        for dynamic in dynamicNodes {
            let node = graph.nodes[dynamic.node]
            let start = options.profiler == nil ? 0 : Profiler.now()
            do {
                let operands = try dynamic.inputs.map { index -> Tensor? in
                    guard let index else { return nil }
                    guard let tensor = tensors[index] else { throw RuntimeError(.invalidNode, "an operand was not computed") }
                    return tensor
                }
                let results = try DirectExecution(threads: options.threadCount, memoryLimit: options.memoryBytes)
                    .run(node.op, operands, symbols: symbols)
                guard results.count == dynamic.outputs.count else {
                    throw RuntimeError(.invalidNode, "the operator gives \(results.count) outputs")
                }
                for (id, tensor) in zip(node.outputs, results) {
                    tensors[id.index] = tensor
                    symbols.learn(graph.type(id), shape: tensor.shape)
                }
            } catch {
                throw RuntimeError.node(node, in: graph, error)
            }
            if options.profiler != nil { profile(dynamic.node, "dynamic", since: start) }
        }
    }

    private func profile(_ node: Int, _ kernel: String, since start: Double) {
        let node = graph.nodes[node]
        options.profiler?.record(
            value: node.outputs.first.map { graph[$0].name } ?? "", op: node.op.mnemonic, kernel: kernel,
            start: start)
    }

    /// The bytes of a tensor, which kernels only read.
    private static func memory(_ tensor: Tensor) -> UnsafeMutableRawPointer? {
        tensor.unsafePointer.map { UnsafeMutableRawPointer(mutating: $0) }
    }
}
