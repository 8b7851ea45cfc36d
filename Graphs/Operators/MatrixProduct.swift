import Tensors

/// `out = a b` of row-major matrices `[m, k]` and `[k, n]`. Sums run in order of k; integers wrap.
func multiply<T: ComputeNumber>(
    _ a: UnsafePointer<T>, _ b: UnsafePointer<T>, m: Int, k: Int, n: Int, into out: UnsafeMutablePointer<T>
) {
    for row in 0..<m {
        let target = out + row * n
        for column in 0..<n { target[column] = 0 }
        for inner in 0..<k {
            let factor = a[row * k + inner]
            let source = b + inner * n
            for column in 0..<n { target[column] = T.wrappingAdd(target[column], T.wrappingMultiply(factor, source[column])) }
        }
    }
}

/// The product of two stacks of matrices `[..., m, k]` and `[..., k, n]`, broadcast over the leading dims, as elements of `dtype`.
func batchedProduct<T: ComputeNumber>(
    _ type: T.Type, _ a: Tensor, _ b: Tensor, _ output: (dtype: DType, shape: [Int])
) throws -> Tensor {
    let rank = output.shape.count
    let (m, n, k) = (output.shape[rank - 2], output.shape[rank - 1], a.shape[a.rank - 1])
    let lead = Array(output.shape.dropLast(2))
    // Offsets of whole matrices: strides over the leading dims only.
    func strides(_ shape: [Int]) -> [Int] { Shape.broadcastStrides(Array(shape.dropLast(2)), to: lead) }
    let iteration = StridedIteration(shape: lead, strides: [strides(a.shape), strides(b.shape)])
    return try T.make(output.dtype, output.shape) { out in
        for index in out.indices { out[index] = 0 }
        try T.read(a) { x in
            try T.read(b) { y in
                guard let x = x.baseAddress, let y = y.baseAddress, let out = out.baseAddress, m > 0, n > 0, k > 0 else { return }
                iteration.forEachRow { output, offsets in
                    for index in 0..<iteration.rowCount {
                        multiply(
                            x + (offsets[0] + index * iteration.rowStrides[0]) * m * k,
                            y + (offsets[1] + index * iteration.rowStrides[1]) * k * n,
                            m: m, k: k, n: n, into: out + (output + index) * m * n)
                    }
                }
            }
        }
    }
}

/// The tensor with its last two dims exchanged.
func matrixTransposed(_ x: Tensor) throws -> Tensor {
    var shape = x.shape
    var strides = Shape.strides(x.shape)
    shape.swapAt(x.rank - 1, x.rank - 2)
    strides.swapAt(x.rank - 1, x.rank - 2)
    return try stridedCopy(x, shape: shape, strides: strides)
}
