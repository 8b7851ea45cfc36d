import GraphIR
import Tensors

/// Joins tensors of one type along an axis; they agree in all other dims.
public struct Concat: Operator {
    public let axis: Int
    public init(axis: Int) { self.axis = axis }
    public static let name = "concat"
    public static let arity = 1...65_536

    public func inferTypes(_ operands: Operands) throws -> [TensorType] {
        let dtype = try operands.requireSameType(0..<operands.count)
        var dims = try operands.type(0).dims
        let axis = try normalized(axis: axis, rank: dims.count)
        for index in 1..<max(operands.count, 1) {
            let other = try operands.type(index).dims
            guard other.count == dims.count else { throw OperatorError(.shapeMismatch, "concat of rank \(dims.count) and \(other.count)") }
            for position in dims.indices {
                dims[position] = position == axis
                    ? try dims[position] + other[position]
                    : try unified(dims[position], other[position], "concat of [\(text(dims))] and [\(text(other))] along axis \(axis)")
            }
        }
        return [TensorType(dtype, dims)]
    }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] {
        var elements: [Dim] = []
        for index in 0..<operands.count {
            guard let value = operands.value(index), value.shape.count == 1 else { return [] }
            elements += value.elements
        }
        return [SymbolicTensor(elements)]
    }
}

extension Concat {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        let output = try output(for: inputs)
        let split = try AxisSplit(output.shape, axis: normalized(axis: axis, rank: output.shape.count))
        let size = output.dtype.size
        return [
            try Tensor(dtype: output.dtype, shape: output.shape) { target in
                var start = 0
                for index in 0..<inputs.count {
                    let x = try inputs[index]
                    let block = split.outer == 0 ? 0 : x.byteCount / split.outer
                    x.withUnsafeBytes { source in
                        guard block > 0 else { return }
                        for row in 0..<split.outer {
                            let to = row * split.size * split.inner * size + start
                            UnsafeMutableRawBufferPointer(rebasing: target[to..<to + block])
                                .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[row * block..<(row + 1) * block]))
                        }
                    }
                    start += block
                }
            }
        ]
    }
}
