import GraphIR
import Operators
import Tensors

/// Copies rows by index.
struct GatherKernel: Kernel {
    let name = "gather"
    private let outerCount: Int
    private let size: Int
    private let indexCount: Int
    private let indexType: DType
    private let rowBytes: Int

    init?(_ op: Gather, _ request: KernelRequest) {
        guard let x = request.operand(0), let indices = request.operand(1), let axis = try? Shape.normalize(axis: op.axis, rank: x.rank),
            indices.dtype == .i64 || indices.dtype == .i32, x.dtype == request.outputs[0].dtype
        else { return nil }
        outerCount = x.shape[..<axis].reduce(1, *)
        size = x.shape[axis]
        indexCount = indices.count
        indexType = indices.dtype
        rowBytes = x.shape[(axis + 1)...].reduce(x.dtype.size, *)
        guard request.outputs[0].byteCount == outerCount * indexCount * rowBytes else { return nil }
    }

    func run(_ memory: KernelMemory) throws {
        if indexType == .i64 { try gather(memory, Int64.self) } else { try gather(memory, Int32.self) }
    }

    private func gather<Index: FixedWidthInteger>(_ memory: KernelMemory, _ type: Index.Type) throws {
        let table = UnsafeRawPointer(try memory.input(0, as: UInt8.self))
        let indices = try memory.input(1, as: type)
        let output = UnsafeMutableRawPointer(memory.output(as: UInt8.self))
        for position in 0..<indexCount {
            let index = Int(indices[position])
            guard index < size, index >= -size else {
                throw OperatorError(.shapeMismatch, "index \(index) (element \(position)) is outside the table's \(size) rows")
            }
        }
        let rows = max(1, 65_536 / max(rowBytes, 1))
        let pieces = (indexCount + rows - 1) / rows
        WorkerPool.parallelFor(threads: memory.threads, count: outerCount * pieces) { piece, _ in
            let (outer, part) = (piece / pieces, piece % pieces)
            let source = table + outer * size * rowBytes
            let target = output + outer * indexCount * rowBytes
            for position in part * rows..<min((part + 1) * rows, indexCount) {
                let index = Int(indices[position])
                (target + position * rowBytes).copyMemory(from: source + (index < 0 ? index + size : index) * rowBytes, byteCount: rowBytes)
            }
        }
    }
}
