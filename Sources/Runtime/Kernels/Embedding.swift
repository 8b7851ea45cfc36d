import CKernels
import GraphIR
import Operators
import Tensors

/// The sum of table rows and its norm, one token at a time.
struct EmbeddingKernel: Kernel {
    private struct Table {
        /// Operand of the table; the ids follow.
        let operand: Int
        let type: ck_weight
        let rows: Int
        let rowBytes: Int
        let idType: DType
        /// Of the ids, per dim of the output without the width.
        let strides: [Int]
        let idCount: Int
    }

    private let tables: [Table]
    private let sizes: [Int]
    private let width: Int
    private let epsilon: Float

    init?(_ op: Embedding, _ request: KernelRequest) {
        guard let output = request.outputs.first, output.dtype == .f32, let width = output.shape.last else { return nil }
        let sizes = Array(output.shape.dropLast())
        var tables: [Table] = []
        for operand in stride(from: 0, to: 2 * Embedding.tableCount, by: 2) {
            guard let table = request.operand(operand) else { continue }
            guard let ids = request.operand(operand + 1), ids.dtype == .i64 || ids.dtype == .i32, let type = ck_weight(table.dtype), table.rank == 2,
                table.shape[1] == width, width % table.dtype.blockElements == 0, ids.rank <= sizes.count
            else { return nil }
            tables.append(Table(
                operand: operand, type: type, rows: table.shape[0], rowBytes: width / table.dtype.blockElements * table.dtype.blockBytes,
                idType: ids.dtype, strides: Shape.broadcastStrides(ids.shape, to: sizes), idCount: ids.count))
        }
        for parameter in 6..<8 { if let type = request.operand(parameter), type.shape != [width] || type.dtype != .f32 { return nil } }
        guard !tables.isEmpty else { return nil }
        self.tables = tables
        self.sizes = sizes
        self.width = width
        epsilon = op.epsilon
    }

    var name: String { "embedding of \(tables.count) tables" }

    /// One row of each table, widened.
    private var workerBytes: Int { (tables.count * width * MemoryLayout<Float>.size + 63) / 64 * 64 }
    func scratchBytes(threads: Int) -> Int { threads * workerBytes }

    func run(_ memory: KernelMemory) throws {
        let output = memory.output(as: Float.self)
        let scale: UnsafePointer<Float>? = memory.optional(6)
        let bias: UnsafePointer<Float>? = memory.optional(7)
        let sources = try tables.map { table -> UnsafeRawPointer in
            if table.idType == .i64 { try check(table, memory, Int64.self) } else { try check(table, memory, Int32.self) }
            return UnsafeRawPointer(try memory.input(table.operand, as: UInt8.self))
        }
        let ids = try tables.map { UnsafeRawPointer(try memory.input($0.operand + 1, as: UInt8.self)) }
        let count = sizes.reduce(1, *)
        let block = max(1, 8_192 / max(width, 1))
        WorkerPool.parallelFor(threads: memory.threads, count: (count + block - 1) / block) { piece, worker in
            let scratch = (memory.scratch + worker * workerBytes).assumingMemoryBound(to: Float.self)
            for token in piece * block..<min((piece + 1) * block, count) {
                let target = output + token * width
                /// Row of table `index`: in place, or widened.
                func row(_ index: Int) -> UnsafePointer<Float> {
                    let table = tables[index]
                    var (rest, place) = (token, 0)
                    for axis in stride(from: sizes.count - 1, through: 0, by: -1) {
                        place += rest % sizes[axis] * table.strides[axis]
                        rest /= sizes[axis]
                    }
                    let id = table.idType == .i64
                        ? Int(ids[index].assumingMemoryBound(to: Int64.self)[place]) : Int(ids[index].assumingMemoryBound(to: Int32.self)[place])
                    let source = sources[index] + (id < 0 ? id + table.rows : id) * table.rowBytes
                    if table.type == ck_weight_f32 { return source.assumingMemoryBound(to: Float.self) }
                    ck_dequantize_weights(table.type, width, source, scratch + index * width)
                    return UnsafePointer(scratch + index * width)
                }
                // All tables but the last are summed; the norm adds that one.
                guard tables.count > 1 else {
                    ck_layer_norm_f32(width, row(0), nil, scale, bias, epsilon, target, nil)
                    continue
                }
                var sum = row(0)
                for index in 1..<tables.count - 1 {
                    ck_binary_f32(ck_add, width, sum, 1, row(index), 1, target)
                    sum = UnsafePointer(target)
                }
                ck_layer_norm_f32(width, sum, row(tables.count - 1), scale, bias, epsilon, target, nil)
            }
        }
    }

    private func check<ID: FixedWidthInteger>(_ table: Table, _ memory: KernelMemory, _ type: ID.Type) throws {
        let ids = try memory.input(table.operand + 1, as: type)
        for index in 0..<table.idCount {
            let id = Int(ids[index])
            guard id < table.rows, id >= -table.rows else {
                throw OperatorError(.shapeMismatch, "id \(id) (element \(index)) is outside the table's \(table.rows) rows")
            }
        }
    }
}
