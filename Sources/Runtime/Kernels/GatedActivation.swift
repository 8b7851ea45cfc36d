import CKernels
import GraphIR
import Operators
import Tensors

/// `activation(gate) * value` of rows `[gate, value]` in f32.
struct GatedActivationKernel: Kernel {
    private let function: ck_unary
    private let rows: Int
    private let width: Int

    /// Elements of one piece of work.
    private static let pieceElements = 8192

    init?(_ op: GatedActivation, _ request: KernelRequest) {
        guard request.isF32, let width = request.outputs.first?.shape.last, width > 0, let x = request.operand(0), x.shape.last == 2 * width else {
            return nil
        }
        function = ck_unary(op.activation)
        self.width = width
        rows = x.count / (2 * width)
    }

    var name: String { "gated activation [\(rows), \(width)]" }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let output = memory.output(as: Float.self)
        let block = max(1, Self.pieceElements / width)
        WorkerPool.parallelFor(threads: memory.threads, count: (rows + block - 1) / block) { piece, _ in
            for row in piece * block..<min((piece + 1) * block, rows) {
                let (from, to) = (x + row * 2 * width, output + row * width)
                ck_unary_f32(function, width, from, to)
                ck_binary_f32(ck_multiply, width, to, 1, from + width, 1, to)
            }
        }
    }
}
