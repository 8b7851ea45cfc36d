import CKernels
import GraphIR
import Operators
import Tensors

/// A dense layer whose weight stays as it is stored: 16-bit floats or blocks, `[out, in]`, read in place. With few rows of x the time is that of
/// reading the weight once; for many rows it is unpacked a part at a time.
struct StoredLinearKernel: Kernel {
    private let m: Int
    private let n: Int
    private let k: Int
    private let type: ck_weight
    private let stored: DType
    private let activation: ck_unary
    private let rowBytes: Int
    /// Parts of the weight are widened and multiplied as f32: 16-bit floats, and whole numbers with a scale for each output, whose products with floats are
    /// meant to be those of floats.
    private let isWidened: Bool
    /// The scales of products with blocks of whole numbers stand before the epilogue, which the products then leave to us.
    private let hasScale: Bool

    /// From that many rows of x on widening pays.
    private static let widenedRows = 33

    init?(_ op: Linear, _ request: KernelRequest) {
        guard op.layout == .output_input, let x = request.operand(0), let weight = request.operand(1), x.dtype == .f32, x.rank >= 1, weight.rank == 2,
            let type = ck_weight(weight.dtype), type != ck_weight_f32, let k = x.shape.last, weight.shape[1] == k, k % weight.dtype.blockElements == 0,
            request.outputs[0].dtype == .f32, [2, 3].allSatisfy({ request.operand($0)?.dtype ?? .f32 == .f32 })
        else { return nil }
        n = weight.shape[0]
        m = x.shape.dropLast().reduce(1, *)
        self.k = k
        self.type = type
        stored = weight.dtype
        activation = ck_unary(op.activation)
        guard request.outputs[0].count == m * n, ck_activations_size(k) > 0 || k == 0 else { return nil }
        hasScale = request.operand(4) != nil
        guard !hasScale || stored.isBlock else { return nil }
        isWidened = hasScale || !weight.dtype.isBlock && m >= Self.widenedRows
        rowBytes = k / weight.dtype.blockElements * weight.dtype.blockBytes
    }

    /// Rows of the weight in one piece of work.
    private func pieceRows(threads: Int) -> Int {
        if isWidened || stored.isBlock && m >= Int(ck_block_many_rows) { return n < 512 ? 32 : Int(ck_float_gemm_columns) }
        return WorkerPool.rowsPerPiece(rows: n, rowBytes: rowBytes, threads: threads)
    }

    var name: String { "\(stored.rawValue) linear [\(m), \(k)] x [\(k), \(n)]" }

    private var activationBytes: Int { ck_activations_size(k) }

    func scratchBytes(threads: Int) -> Int {
        if isWidened { return threads * Int(ck_float_gemm_scratch) * MemoryLayout<Float>.size }
        return stored.isBlock ? m * activationBytes : 0
    }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let weight = UnsafeRawPointer(try memory.input(1, as: UInt8.self))
        let output = memory.output(as: Float.self)
        let epilogue = ck_epilogue(bias: memory.optional(2), activation: activation, residual: memory.optional(3), residual_ld: n, accumulate: false)
        if stored.isBlock && !isWidened {
            // A few rows are less work than handing them out.
            let block = 16
            WorkerPool.parallelFor(threads: memory.threads, count: (m + block - 1) / block) { piece, _ in
                for row in piece * block..<min(piece * block + block, m) {
                    ck_quantize_activations(k, x + row * k, memory.scratch + row * activationBytes)
                }
            }
        }
        let scale: UnsafePointer<Float>? = hasScale ? memory.optional(4) : nil
        let pieceRows = pieceRows(threads: memory.threads)
        WorkerPool.parallelFor(threads: memory.threads, count: (n + pieceRows - 1) / pieceRows) { piece, worker in
            let (first, end) = (piece * pieceRows, min(piece * pieceRows + pieceRows, n))
            let floats = memory.scratch.assumingMemoryBound(to: Float.self) + (isWidened ? worker * Int(ck_float_gemm_scratch) : 0)
            if let scale {
                ck_float_gemm(type, first, end, k, weight, m, x, k, output, n, nil, floats)
                finish(output, first..<end, scale: scale, epilogue)
                return
            }
            withUnsafePointer(to: epilogue) { epilogue in
                if isWidened {
                    ck_float_gemm(type, first, end, k, weight, m, x, k, output, n, epilogue, floats)
                } else if stored.isBlock {
                    ck_block_product(type, first, end, k, weight, m, memory.scratch, output, n, epilogue)
                } else {
                    ck_float_product(type, first, end, k, weight, m, x, k, output, n, epilogue)
                }
            }
        }
    }
}

extension StoredLinearKernel {
    /// `activation(product * scale + bias) + residual` for some of the columns of all rows.
    private func finish(_ output: UnsafeMutablePointer<Float>, _ columns: Range<Int>, scale: UnsafePointer<Float>, _ epilogue: ck_epilogue) {
        for row in 0..<m {
            let products = output + row * n
            if let bias = epilogue.bias {
                for column in columns { products[column] = products[column] * scale[column] + bias[column] }
            } else {
                for column in columns { products[column] *= scale[column] }
            }
            if activation != ck_identity { ck_unary_f32(activation, columns.count, products + columns.lowerBound, products + columns.lowerBound) }
            if let residual = epilogue.residual {
                for column in columns { products[column] += residual[row * n + column] }
            }
        }
    }
}

/// Rows of a table of blocks, widened to f32.
struct StoredGatherKernel: Kernel {
    private let type: ck_weight
    private let rows: Int
    private let width: Int
    private let rowBytes: Int
    private let indexCount: Int
    private let indexType: DType

    let name = "gather blocks"

    init?(_ op: Gather, _ request: KernelRequest) {
        guard let table = request.operand(0), let indices = request.operand(1), table.dtype.isBlock, let type = ck_weight(table.dtype), table.rank >= 2,
            op.axis == 0 || op.axis == -table.rank, indices.dtype == .i64 || indices.dtype == .i32, let last = table.shape.last,
            last % table.dtype.blockElements == 0, request.outputs[0].dtype == .f32
        else { return nil }
        self.type = type
        rows = table.shape[0]
        width = table.shape[1...].reduce(1, *)
        rowBytes = width / table.dtype.blockElements * table.dtype.blockBytes
        indexCount = indices.count
        indexType = indices.dtype
        guard request.outputs[0].count == indexCount * width else { return nil }
    }

    func run(_ memory: KernelMemory) throws {
        if indexType == .i64 { try gather(memory, Int64.self) } else { try gather(memory, Int32.self) }
    }

    private func gather<Index: FixedWidthInteger>(_ memory: KernelMemory, _ index: Index.Type) throws {
        let table = UnsafeRawPointer(try memory.input(0, as: UInt8.self))
        let indices = try memory.input(1, as: index)
        let output = memory.output(as: Float.self)
        for position in 0..<indexCount {
            let row = Int(indices[position])
            guard row < rows, row >= -rows else {
                throw OperatorError(.shapeMismatch, "index \(row) (element \(position)) is outside the table's \(rows) rows")
            }
        }
        WorkerPool.parallelFor(threads: indexCount * width < 16_384 ? 1 : memory.threads, count: indexCount) { position, _ in
            let row = Int(indices[position])
            ck_dequantize_weights(type, width, table + (row < 0 ? row + rows : row) * rowBytes, output + position * width)
        }
    }
}

extension ck_weight {
    /// nil for a type that no product reads in place.
    init?(_ dtype: DType) {
        switch dtype {
        case .f32: self = ck_weight_f32
        case .f16: self = ck_weight_f16
        case .bf16: self = ck_weight_bf16
        case .q8_0: self = ck_weight_q8_0
        case .q4_0: self = ck_weight_q4_0
        case .q4_1: self = ck_weight_q4_1
        case .q5_0: self = ck_weight_q5_0
        case .q5_1: self = ck_weight_q5_1
        case .q4_k: self = ck_weight_q4_k
        case .q5_k: self = ck_weight_q5_k
        case .q6_k: self = ck_weight_q6_k
        default: return nil
        }
    }
}
