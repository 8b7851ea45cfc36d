import GraphIR
import Operators
import Tensors

/// Runs a node by its operator's reference evaluation, on views of the plan's memory.
struct ReferenceKernel: Kernel {
    private let op: any Operator
    private let operands: [ConcreteType?]
    private let outputs: [ConcreteType]

    init(_ request: KernelRequest) {
        op = request.op
        operands = request.operands
        outputs = request.outputs
    }

    var name: String { "reference" }

    func run(_ memory: KernelMemory) throws {
        guard memory.cache == nil || !type(of: op).usesCache else {
            throw OperatorError(.unsupportedType, "\(op.mnemonic) keeps no cache for these types")
        }
        let views = try operands.enumerated().map { index, type -> Tensor? in
            guard let type else { return nil }
            let bytes = UnsafeRawBufferPointer(start: try memory.input(index, as: UInt8.self), count: type.byteCount)
            return try Tensor(dtype: type.dtype, shape: type.shape, storage: Storage(viewing: bytes))
        }
        let results = try op.evaluate(Inputs(views))
        guard results.count == outputs.count else {
            throw OperatorError(.unsupported, "gives \(results.count) outputs, not \(outputs.count)")
        }
        for (index, (result, type)) in zip(results, outputs).enumerated() {
            guard result.dtype == type.dtype, result.shape == type.shape else {
                throw OperatorError(.shapeMismatch, "gives \(result.dtype.rawValue)\(result.shape), its type rule says \(type)")
            }
            result.withUnsafeBytes { memory.outputs[index].copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory.outputs[index]), byteCount: $0.count) }
        }
    }
}
