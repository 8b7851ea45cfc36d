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
