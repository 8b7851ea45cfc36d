import GraphIR
import Operators
import Tensors

/// Joins operands along an axis, each in runs of its dims from the axis on.
struct ConcatKernel: Kernel {
    let name = "concat"
    private let outerCount: Int
    /// Bytes that each operand adds to a row of the output.
    private let runs: [Int]
    private let rowBytes: Int

    init?(_ op: Concat, _ request: KernelRequest) {
        guard let output = request.outputs.first, let axis = try? Shape.normalize(axis: op.axis, rank: output.rank) else { return nil }
        var runs: [Int] = []
        for operand in request.operands {
            guard let operand, operand.rank == output.rank, operand.dtype == output.dtype, operand.shape[..<axis] == output.shape[..<axis]
            else { return nil }
            runs.append(operand.shape[axis...].reduce(output.dtype.size, *))
        }
        self.runs = runs
        rowBytes = output.shape[axis...].reduce(output.dtype.size, *)
        guard runs.reduce(0, +) == rowBytes else { return nil }
        outerCount = output.shape[..<axis].reduce(1, *)
    }

    func run(_ memory: KernelMemory) throws {
        guard rowBytes > 0 else { return }
        let output = UnsafeMutableRawPointer(memory.output(as: UInt8.self))
        let sources = try runs.indices.map { UnsafeRawPointer(try memory.input($0, as: UInt8.self)) }
        let rows = max(1, 65_536 / rowBytes)
        WorkerPool.parallelFor(threads: memory.threads, count: (outerCount + rows - 1) / rows) { piece, _ in
            for row in piece * rows..<min((piece + 1) * rows, outerCount) {
                var target = output + row * rowBytes
                for (source, count) in zip(sources, runs) {
                    target.copyMemory(from: source + row * count, byteCount: count)
                    target += count
                }
            }
        }
    }
}
