import Tensors

/// Walks the elements of a shape row by row, and with them the places where several operands have those elements: what
/// broadcasting, transposing, slicing and tiling have in common. Neighbouring dims that all operands step through evenly are walked as one,
/// so operands of equal shapes are a single row.
struct StridedIteration {
    /// Elements per row, and each operand's step within it.
    private(set) var rowCount = 1
    private(set) var rowStrides: [Int]
    private var outerSizes: [Int] = []
    private var outerStrides: [[Int]]
    private let isEmpty: Bool

    /// - Parameter strides: For each operand its step along each dim; 0 where it repeats.
    init(shape: [Int], strides: [[Int]]) {
        isEmpty = shape.contains(0)
        var sizes: [Int] = []
        var kept: [[Int]] = strides.map { _ in [] }
        for axis in shape.indices where shape[axis] != 1 {
            let merges = !sizes.isEmpty && strides.indices.allSatisfy { kept[$0][sizes.count - 1] == strides[$0][axis] &* shape[axis] }
            if merges {
                sizes[sizes.count - 1] = sizes[sizes.count - 1] &* shape[axis]
                for operand in strides.indices { kept[operand][sizes.count - 1] = strides[operand][axis] }
            } else {
                sizes.append(shape[axis])
                for operand in strides.indices { kept[operand].append(strides[operand][axis]) }
            }
        }
        rowStrides = strides.map { _ in 1 }
        if let last = sizes.popLast() {
            rowCount = last
            rowStrides = kept.indices.map { kept[$0].removeLast() }
        }
        outerSizes = sizes
        outerStrides = kept
    }

    /// - Parameter body: Gets the first output element of a row and where each operand has it.
    func forEachRow(_ body: (_ output: Int, _ offsets: [Int]) throws -> Void) rethrows {
        guard !isEmpty else { return }
        var index = [Int](repeating: 0, count: outerSizes.count)
        var offsets = [Int](repeating: 0, count: outerStrides.count)
        var output = 0
        while true {
            try body(output, offsets)
            output += rowCount
            var axis = outerSizes.count - 1
            while axis >= 0 {
                index[axis] += 1
                for operand in offsets.indices { offsets[operand] += outerStrides[operand][axis] }
                if index[axis] < outerSizes[axis] { break }
                for operand in offsets.indices { offsets[operand] -= outerStrides[operand][axis] * outerSizes[axis] }
                index[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }
}

/// A tensor of `shape` whose elements are read from `x` at `offset + sum(index * strides)`. The caller keeps the places inside x.
func stridedCopy(_ x: Tensor, shape: [Int], strides: [Int], offset: Int = 0) throws -> Tensor {
    func copy<Bits: BitwiseCopyable>(_ type: Bits.Type) throws -> Tensor {
        let iteration = StridedIteration(shape: shape, strides: [strides])
        let step = iteration.rowStrides[0]
        let count = iteration.rowCount
        return try Tensor(dtype: x.dtype, shape: shape) { bytes in
            let target = bytes.bindMemory(to: type)
            try x.withElements(of: type) { source in
                iteration.forEachRow { output, offsets in
                    let start = offset + offsets[0]
                    switch step {
                    case 1:
                        for index in 0..<count { target[output + index] = source[start + index] }
                    case 0:
                        let value = source[start]
                        for index in 0..<count { target[output + index] = value }
                    default:
                        for index in 0..<count { target[output + index] = source[start + index * step] }
                    }
                }
            }
        }
    }
    switch x.dtype.size {
    case 1: return try copy(UInt8.self)
    case 2: return try copy(UInt16.self)
    case 4: return try copy(UInt32.self)
    default: return try copy(UInt64.self)
    }
}

/// Applies a function to the pairs of elements of two broadcast operands.
func broadcastPairs<T, Result>(
    _ a: UnsafeBufferPointer<T>, _ aShape: [Int], _ b: UnsafeBufferPointer<T>, _ bShape: [Int],
    to shape: [Int], into out: UnsafeMutableBufferPointer<Result>, _ body: (T, T) throws -> Result
) rethrows {
    let iteration = StridedIteration(
        shape: shape, strides: [Shape.broadcastStrides(aShape, to: shape), Shape.broadcastStrides(bShape, to: shape)])
    let (aStep, bStep, count) = (iteration.rowStrides[0], iteration.rowStrides[1], iteration.rowCount)
    try iteration.forEachRow { output, offsets in
        let (x, y) = (offsets[0], offsets[1])
        switch (aStep, bStep) {
        case (1, 1): for index in 0..<count { out[output + index] = try body(a[x + index], b[y + index]) }
        case (1, 0):
            let right = b[y]
            for index in 0..<count { out[output + index] = try body(a[x + index], right) }
        default: for index in 0..<count { out[output + index] = try body(a[x + index * aStep], b[y + index * bStep]) }
        }
    }
}

/// The elementwise function of two broadcast operands as a tensor.
func mapPairs<T: ComputeNumber>(
    _ a: Tensor, _ b: Tensor, _ output: (dtype: DType, shape: [Int]), _ body: (T, T) throws -> T
) throws -> Tensor {
    try T.make(output.dtype, output.shape) { out in
        try T.read(a) { x in
            try T.read(b) { y in
                try broadcastPairs(x, a.shape, y, b.shape, to: output.shape, into: out, body)
            }
        }
    }
}

/// The elementwise function of one operand as a tensor of its type.
func mapElements<T: ComputeNumber>(_ x: Tensor, _ body: (T) -> T) throws -> Tensor {
    try T.make(x.dtype, x.shape) { out in
        try T.read(x) { source in
            for index in 0..<source.count { out[index] = body(source[index]) }
        }
    }
}
