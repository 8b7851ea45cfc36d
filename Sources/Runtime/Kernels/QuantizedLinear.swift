import CKernels
import GraphIR
import Operators
import Tensors

/// Quantises rows to u8, each by its own range.
struct QuantizeRowsKernel: Kernel {
    let name = "quantize_rows"
    private let rows: Int
    private let width: Int

    init?(_ request: KernelRequest) {
        guard let x = request.operand(0), x.dtype == .f32, let last = x.shape.last, request.outputs.count == 3 else { return nil }
        width = last
        rows = x.shape.dropLast().reduce(1, *)
    }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let (values, scales, zeros) = (memory.output(0, as: UInt8.self), memory.output(1, as: Float.self), memory.output(2, as: UInt8.self))
        let block = 16
        WorkerPool.parallelFor(threads: memory.threads, count: (rows + block - 1) / block) { piece, _ in
            for row in piece * block..<min(piece * block + block, rows) {
                let result = ck_dynamic_quantize_u8(width, x + row * width, values + row * width)
                scales[row] = result.scale
                zeros[row] = UInt8(truncatingIfNeeded: result.zero)
            }
        }
    }
}

/// A dense layer over bytes. Rows of x are widened once; each piece of work then multiplies some of them with some panels of the weight.
struct QuantizedLinearKernel: Kernel {
    private let m: Int
    private let n: Int
    private let k: Int
    private let type: ck_byte
    private let activation: ck_unary
    private let hasRowScales: Bool
    private let hasRowZeros: Bool
    private let rowBytes: Int
    /// Of a weight `[out, in]`; nil where the operand lies in panels itself.
    private let packed: Storage?

    private static let rowBlock = 192
    private static let columnBlock = 64

    init?(_ op: QuantizedLinear, _ request: KernelRequest) {
        guard let x = request.operand(0), let scale = request.operand(1), let weight = request.operand(3), let k = x.shape.last,
            let n = request.outputs[0].shape.last, k > 0, n > 0, k <= QuantizedLinear.maximumWidth
        else { return nil }
        self.n = n
        self.k = k
        m = x.shape.dropLast().reduce(1, *)
        type = x.dtype == .u8 ? ck_u8 : ck_s8
        activation = ck_unary(op.activation)
        hasRowScales = scale.count != 1
        let zeroCount = request.operand(2)?.count ?? 1
        hasRowZeros = zeroCount != 1
        rowBytes = ck_int8_row_size(k)
        guard rowBytes > 0, request.outputs[0].count == m * n, !hasRowScales || scale.count == m, !hasRowZeros || zeroCount == m else { return nil }
        if weight.rank == 4 {
            guard weight.count == n * k else { return nil }
            packed = nil
        } else {
            guard let id = request.weight(3), let tensor = request.constant(3),
                let panels = request.store.packedInt8Linear(id, tensor, k: k, n: n)
            else { return nil }
            packed = panels
        }
    }

    var name: String { "int8 linear [\(m), \(k)] x [\(k), \(n)]" }

    func scratchBytes(threads: Int) -> Int { m * rowBytes }

    func run(_ memory: KernelMemory) throws {
        let x = UnsafeRawPointer(try memory.input(0, as: UInt8.self))
        let xScale = try memory.input(1, as: Float.self)
        let zeros = memory.optional(2, as: UInt8.self)
        func zero(_ row: Int) -> Int32 {
            guard let byte = zeros?[hasRowZeros ? row : 0] else { return 0 }
            return type == ck_u8 ? Int32(byte) : Int32(Int8(bitPattern: byte))
        }
        let panels = try packed?.bytes.baseAddress?.assumingMemoryBound(to: Int8.self) ?? memory.input(3, as: Int8.self)
        let weight = ck_int8_weight(packed: panels, scale: try memory.input(4), zero: memory.optional(5))
        let bias = memory.optional(6, as: Float.self), residual = memory.optional(7, as: Float.self)
        let output = memory.output(as: Float.self)
        let rows = memory.scratch
        let block = 16
        WorkerPool.parallelFor(threads: memory.threads, count: (m + block - 1) / block) { piece, _ in
            for row in piece * block..<min(piece * block + block, m) {
                ck_int8_row_of(type, k, x + row * k, zero(row), xScale[hasRowScales ? row : 0], rows + row * rowBytes)
            }
        }
        // Few rows: the time is that of reading the weight. Sums are exact, so that no cut changes a result.
        let columns = m < block
            ? (WorkerPool.rowsPerPiece(rows: n, rowBytes: k, threads: memory.threads) + 15) / 16 * 16 : n < 512 ? Self.columnBlock / 2 : Self.columnBlock
        let columnPieces = (n + columns - 1) / columns
        let rowPieces = (m + Self.rowBlock - 1) / Self.rowBlock
        WorkerPool.parallelFor(threads: memory.threads, count: rowPieces * columnPieces) { piece, _ in
            let (row, column) = (piece % rowPieces * Self.rowBlock, piece / rowPieces * columns)
            let epilogue = ck_epilogue(
                bias: bias, activation: activation, residual: residual.map { $0 + row * n }, residual_ld: n, accumulate: false)
            withUnsafePointer(to: epilogue) { epilogue in
                withUnsafePointer(to: weight) { weight in
                    ck_int8_linear(
                        column, min(column + columns, n), k, weight, min(Self.rowBlock, m - row), rows + row * rowBytes, output + row * n, n, epilogue)
                }
            }
        }
    }
}
