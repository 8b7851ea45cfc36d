import GraphIR
import Tensors

/// `condition ? a : b` elementwise; operands: condition (bool), a, b, all broadcast together.
public struct Select: Operator {
    public init() {}
    public static let name = "select"
    public static let arity = 3...3

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        try operands.require(0, { $0 == .bool }, "bool")
        let dtype = try operands.requireSameType(1..<3)
        let dims = try broadcast(broadcast(operands.type(0).dims, operands.type(1).dims), operands.type(2).dims)
        return [TensorType(dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        guard let condition = operands.value(0)?.fixedValues, let shape = operands.value(0)?.shape,
            let a = operands.value(1), let b = operands.value(2),
            let conditionTensor = SymbolicTensor(shape: shape, elements: condition.map { .fixed($0) }),
            let common = try? Shape.broadcast(Shape.broadcast(shape, a.shape), b.shape)
        else { return [] }
        // Two rounds of pairwise combination: a where the condition holds, then b elsewhere.
        let ones = SymbolicTensor(shape: [], elements: [1])
        guard let whole = ones.flatMap({ one in SymbolicTensor.combining(conditionTensor, one, shape: common) { x, _ in x } }),
            let left = ones.flatMap({ one in SymbolicTensor.combining(a, one, shape: common) { x, _ in x } }),
            let right = ones.flatMap({ one in SymbolicTensor.combining(b, one, shape: common) { x, _ in x } })
        else { return [] }
        return [SymbolicTensor(shape: common, elements: zip(whole.elements, zip(left.elements, right.elements)).map { $0 == 0 ? $1.1 : $1.0 })]
    }
}

extension Select {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let (dtype, shape) = try output(for: inputs)
        let operands = (condition: try inputs[0], a: try inputs[1], b: try inputs[2])
        let iteration = StridedIteration(
            shape: shape,
            strides: [operands.condition, operands.a, operands.b].map { Shape.broadcastStrides($0.shape, to: shape) })
        let steps = iteration.rowStrides
        func choose<Bits: BitwiseCopyable>(_ type: Bits.Type) throws -> Tensor {
            try Tensor(dtype: dtype, shape: shape) { bytes in
                let out = bytes.bindMemory(to: type)
                try operands.condition.withElements(of: UInt8.self) { condition in
                    try operands.a.withElements(of: type) { a in
                        try operands.b.withElements(of: type) { b in
                            iteration.forEachRow { output, offsets in
                                let (c, x, y) = (offsets[0], offsets[1], offsets[2])
                                for index in 0..<iteration.rowCount {
                                    out[output + index] = condition[c + index * steps[0]] != 0
                                        ? a[x + index * steps[1]] : b[y + index * steps[2]]
                                }
                            }
                        }
                    }
                }
            }
        }
        switch dtype.size {
        case 1: return [try choose(UInt8.self)]
        case 2: return [try choose(UInt16.self)]
        case 4: return [try choose(UInt32.self)]
        default: return [try choose(UInt64.self)]
        }
    }
}
