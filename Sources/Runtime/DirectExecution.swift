import GraphIR
import Operators
import Tensors

/// Runs one node on tensors, outside any plan: when a graph is loaded, and where sizes depend on the data.
struct DirectExecution {
    let threads: Int
    let memoryLimit: Int

    /// - Throws: what the type rule or the kernel throws; `RuntimeError` where an output would exceed the memory limit.
    func run(_ op: any Operator, _ inputs: [Tensor?], symbols: SymbolTable) throws -> [Tensor] {
        if let dims = op as? Dims { return [try dims.tensor(symbols)] }
        let types = try op.inferTypes(Inputs(inputs).operands)
        let concrete = try types.compactMap { try ConcreteType($0) }
        guard concrete.count == types.count else { return try op.evaluate(Inputs(inputs)) }
        for type in concrete where type.byteCount > memoryLimit {
            throw RuntimeError(.outOfMemory, "a tensor \(type) is beyond the memory limit of \(memoryLimit) bytes")
        }
        let request = KernelRequest(
            op: op, operands: try inputs.map { try $0.map { try ConcreteType($0) } }, constants: inputs, weights: [], outputs: concrete,
            store: WeightStore())
        if let alias = KernelSelection.alias(request), let tensor = inputs[alias] { return [try tensor.reshaped(concrete[0].shape)] }
        guard let kernel = KernelSelection.fast(request) else { return try op.evaluate(Inputs(inputs)) }
        let memory = try concrete.map { try Arena.allocate($0.byteCount) }
        let storages = memory.map { Storage(adopting: $0.bytes) }
        let scratch = try Arena(byteCount: kernel.scratchBytes(threads: threads))
        let pointers = inputs.map { tensor in tensor.map { $0.unsafePointer ?? UnsafeRawPointer(scratch.base) } }
        try pointers.withUnsafeBufferPointer { inputPointers in
            try memory.map(\.base).withUnsafeBufferPointer { outputPointers in
                try kernel.run(
                    KernelMemory(inputs: inputPointers, outputs: outputPointers, scratch: scratch.base, threads: threads))
            }
        }
        withExtendedLifetime((inputs, scratch)) {}
        return try zip(concrete, storages).map { try Tensor(dtype: $0.dtype, shape: $0.shape, storage: $1) }
    }
}

extension Dims {
    /// The elements as numbers.
    ///
    /// - Throws: `RuntimeError` where a symbol has no size.
    func tensor(_ symbols: SymbolTable) throws -> Tensor {
        let values = try elements.map { element -> Int64 in
            guard let value = try element.evaluate(symbols.sizes) else {
                throw RuntimeError(.invalidNode, "the size \(element) follows from no input")
            }
            return Int64(value)
        }
        return try Tensor(integers: values, shape: isScalar && values.count == 1 ? [] : [values.count])
    }
}
