import CKernels
import COpenBLAS
import GraphIR
import Operators
import Tensors

/// Which code multiplies f32 matrices.
enum MatrixLibrary {
    /// OpenBLAS or Accelerate was found and computes right.
    static let hasBLAS = blas_load() == blas_ok

    /// Whether BLAS is the faster one for an `[m, k]` by `[k, n]` product whose right matrix changes from run to run, so that it is not
    /// packed beforehand.
    static func prefersBLAS(m: Int, n: Int, k: Int) -> Bool { hasBLAS && Double(m) * Double(n) * Double(k) >= 0x1p15 }
}

/// `C = activation(A B + bias) + residual` in f32, row-major, in tiles of rows and columns that depend on the shape alone.
struct MatrixProduct: Sendable {
    let m: Int
    let n: Int
    let k: Int
    /// B is stored as `[n, k]`.
    let isTransposed: Bool
    /// B in panels; nil where it is read as it is.
    var packed: Storage?
    /// The B that each run is given lies in panels.
    var isPanels = false
    var activation = ck_identity

    /// Up to so many rows are one piece: B, which is the larger matrix then, passes once.
    private static let rowBlock = 192
    /// As many panels as a lone row takes at once.
    private static let columnBlock = 128

    /// With so few rows the time is that of reading B once: nothing is packed or copied.
    static let fewRows = 4

    var name: String {
        let kind = packed != nil || isPanels ? "packed gemm" : m <= Self.fewRows ? "matrix-vector" : MatrixLibrary.prefersBLAS(m: m, n: n, k: k) ? "blas" : "gemm"
        return "\(kind) [\(m), \(k)] x [\(k), \(n)]"
    }

    func run(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>, bias: UnsafePointer<Float>? = nil,
        residual: UnsafePointer<Float>? = nil, threads: Int
    ) {
        let panels = isPanels ? b : packed.flatMap { UnsafePointer($0.bytes.baseAddress?.assumingMemoryBound(to: Float.self)) }
        if panels == nil, m <= Self.fewRows { return read(a, b, c, bias: bias, residual: residual, threads: threads) }
        let rowTiles = (m + Self.rowBlock - 1) / Self.rowBlock
        let columnTiles = (n + Self.columnBlock - 1) / Self.columnBlock
        // Pieces that share columns of B follow each other, so that those stay in the cache.
        WorkerPool.parallelFor(threads: threads, count: rowTiles * columnTiles) { piece, _ in
            let (row, column) = (piece % rowTiles * Self.rowBlock, piece / rowTiles * Self.columnBlock)
            let rows = row..<min(row + Self.rowBlock, m)
            let columns = column..<min(column + Self.columnBlock, n)
            if let panels {
                var epilogue = ck_epilogue(bias: bias, activation: activation, residual: residual, residual_ld: n, accumulate: false)
                ck_gemm_packed(
                    rows.lowerBound, rows.upperBound, columns.lowerBound, columns.upperBound, n, k, a, k, panels, c, n, &epilogue)
            } else {
                let matrix = isTransposed ? b + columns.lowerBound * k : b + columns.lowerBound
                let target = c + rows.lowerBound * n + columns.lowerBound
                multiply(
                    rows.count, columns.count, a + rows.lowerBound * k, lda: k, false, matrix, ldb: isTransposed ? k : n, target, ldc: n)
                finish(rows, columns, c, bias, residual)
            }
        }
    }

    /// Few rows against B as it is stored.
    private func read(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>, bias: UnsafePointer<Float>?,
        residual: UnsafePointer<Float>?, threads: Int
    ) {
        // Rows of B as stored are read whole; of B the other way round each piece reads some columns.
        let block = isTransposed
            ? WorkerPool.rowsPerPiece(rows: n, rowBytes: k * MemoryLayout<Float>.size, threads: threads) : min(512, max(64, (n / 8 + 15) / 16 * 16))
        let epilogue = ck_epilogue(bias: bias, activation: activation, residual: residual, residual_ld: n, accumulate: false)
        WorkerPool.parallelFor(threads: threads, count: (n + block - 1) / block) { piece, _ in
            let (first, end) = (piece * block, min(piece * block + block, n))
            withUnsafePointer(to: epilogue) { epilogue in
                if isTransposed {
                    ck_float_product(ck_weight_f32, first, end, k, b, m, a, k, c, n, epilogue)
                } else {
                    ck_column_product(first, end, n, k, b, m, a, k, c, n, epilogue)
                }
            }
        }
    }

    /// A plain product of one tile.
    func multiply(
        _ m: Int, _ n: Int, _ a: UnsafePointer<Float>, lda: Int, _ transposeA: Bool, _ b: UnsafePointer<Float>, ldb: Int,
        _ c: UnsafeMutablePointer<Float>, ldc: Int
    ) {
        // The rule looks at the whole product, so that all its tiles are computed alike.
        if MatrixLibrary.prefersBLAS(m: self.m, n: self.n, k: k),
            blas_sgemm(transposeA, isTransposed, m, n, k, 1, a, lda, b, ldb, 0, c, ldc) == blas_ok
        { return }
        ck_gemm_f32(transposeA, isTransposed, m, n, k, 1, a, lda, b, ldb, 0, c, ldc)
    }

    /// Bias, activation and residual on a tile that is still in the cache.
    private func finish(
        _ rows: Range<Int>, _ columns: Range<Int>, _ c: UnsafeMutablePointer<Float>, _ bias: UnsafePointer<Float>?,
        _ residual: UnsafePointer<Float>?
    ) {
        for row in rows {
            let start = row * n + columns.lowerBound
            if let bias { ck_binary_f32(ck_add, columns.count, c + start, 1, bias + columns.lowerBound, 1, c + start) }
            if activation != ck_identity { ck_unary_f32(activation, columns.count, c + start, c + start) }
            if let residual { ck_binary_f32(ck_add, columns.count, c + start, 1, residual + start, 1, c + start) }
        }
    }
}

/// A dense layer in f32.
struct LinearKernel: Kernel {
    private let product: MatrixProduct
    var name: String { product.name }

    init?(_ op: Linear, _ request: KernelRequest) {
        guard request.isF32, request.operand(4) == nil, let x = request.operand(0), let weight = request.operand(1), x.rank >= 1,
            weight.rank == (op.layout == .panels ? 3 : 2)
        else { return nil }
        let m = x.shape.dropLast().reduce(1, *)
        if op.layout == .panels {
            let (k, n) = (weight.shape[1], weight.shape[0] * Linear.Layout.panelWidth)
            guard Linear.Layout.panelWidth == ck_gemm_panel, x.shape.last == k, request.outputs[0].count == m * n else { return nil }
            product = MatrixProduct(m: m, n: n, k: k, isTransposed: false, isPanels: true, activation: ck_unary(op.activation))
            return
        }
        let isTransposed = op.layout == .output_input
        let (k, n) = isTransposed ? (weight.shape[1], weight.shape[0]) : (weight.shape[0], weight.shape[1])
        guard x.shape.last == k, request.outputs[0].count == m * n else { return nil }
        product = MatrixProduct(
            m: m, n: n, k: k, isTransposed: isTransposed, packed: packedWeight(request, m: m, n: n, k: k, isTransposed),
            activation: ck_unary(op.activation))
    }

    func run(_ memory: KernelMemory) throws {
        product.run(
            try memory.input(0), try memory.input(1), memory.output(), bias: memory.optional(2), residual: memory.optional(3),
            threads: memory.threads)
    }
}

/// The second operand in panels, when it is a constant and panels are faster.
private func packedWeight(_ request: KernelRequest, m: Int, n: Int, k: Int, _ isTransposed: Bool) -> Storage? {
    guard let id = request.weight(1), let weight = request.constant(1), m > MatrixProduct.fewRows else { return nil }
    return request.store.packed(id, weight, k: k, n: n, isTransposed: isTransposed)
}

/// Matrix products in f32, one for each place in the batch.
struct MatMulKernel: Kernel {
    private let transposeA: Bool
    private let product: MatrixProduct
    /// Where the matrices of each product start; one product where B is shared by all rows.
    private let offsets: [(a: Int, b: Int)]
    var name: String { offsets.count == 1 ? product.name : "\(offsets.count) x \(product.name)" }

    init?(_ op: MatMul, _ request: KernelRequest) {
        guard request.isF32, let a = request.operand(0), let b = request.operand(1), a.rank >= 2, b.rank >= 2 else { return nil }
        let (aRows, aColumns) = (a.shape[a.rank - 2], a.shape[a.rank - 1])
        let (bRows, bColumns) = (b.shape[b.rank - 2], b.shape[b.rank - 1])
        let (m, k) = op.transposeA ? (aColumns, aRows) : (aRows, aColumns)
        let n = op.transposeB ? bRows : bColumns
        guard k == (op.transposeB ? bColumns : bRows) else { return nil }
        let batch = Array(request.outputs[0].shape.dropLast(2))
        let (aBatch, bBatch) = (Array(a.shape.dropLast(2)), Array(b.shape.dropLast(2)))
        guard (try? Shape.broadcast(aBatch, bBatch)) == batch else { return nil }
        transposeA = op.transposeA
        let count = batch.reduce(1, *)
        if !op.transposeA, bBatch.allSatisfy({ $0 == 1 }), aBatch.reduce(1, *) == count {
            // One tall matrix against one B.
            let rows = m * count
            product = MatrixProduct(
                m: rows, n: n, k: k, isTransposed: op.transposeB, packed: packedWeight(request, m: rows, n: n, k: k, op.transposeB))
            offsets = [(0, 0)]
            return
        }
        product = MatrixProduct(m: m, n: n, k: k, isTransposed: op.transposeB)
        let aStrides = Shape.broadcastStrides(aBatch, to: batch)
        let bStrides = Shape.broadcastStrides(bBatch, to: batch)
        let strides = Shape.strides(batch)
        offsets = (0..<count).map { index in
            var (x, y) = (0, 0)
            for axis in batch.indices {
                let coordinate = index / strides[axis] % batch[axis]
                x += coordinate * aStrides[axis]
                y += coordinate * bStrides[axis]
            }
            return (x * m * k, y * k * n)
        }
    }

    func run(_ memory: KernelMemory) throws {
        let a = try memory.input(0, as: Float.self)
        let b = try memory.input(1, as: Float.self)
        let c = memory.output(as: Float.self)
        let (m, n, k) = (product.m, product.n, product.k)
        if offsets.count == 1, !transposeA { return product.run(a + offsets[0].a, b + offsets[0].b, c, threads: memory.threads) }
        let block = 96
        let tiles = (m + block - 1) / block
        WorkerPool.parallelFor(threads: memory.threads, count: offsets.count * tiles) { piece, _ in
            let (index, row) = (piece / tiles, piece % tiles * block)
            let matrix = a + offsets[index].a + (transposeA ? row : row * k)
            product.multiply(
                min(block, m - row), n, matrix, lda: transposeA ? m : k, transposeA, b + offsets[index].b,
                ldb: product.isTransposed ? k : n, c + index * m * n + row * n, ldc: n)
        }
    }
}
