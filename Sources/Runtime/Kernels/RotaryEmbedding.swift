import CKernels
import GraphIR
import Operators
import Tensors

/// Rotary position embedding in f32: the sines of a token are computed once for all its heads.
struct RotaryEmbeddingKernel: Kernel {
    private let op: RotaryEmbedding
    private let tokens: Int
    private let sequence: Int
    private let heads: Int
    private let width: Int
    private let pairs: Int
    private let sharesPositions: Bool

    init?(_ op: RotaryEmbedding, _ request: KernelRequest) {
        guard let x = request.operand(0), let positions = request.operand(1), let frequencies = request.operand(2), x.dtype == .f32, x.rank == 4,
            positions.rank == 2, frequencies.rank == 1, frequencies.shape[0] <= x.shape[3] / 2, request.outputs.first == x
        else { return nil }
        self.op = op
        sequence = x.shape[1]
        tokens = x.shape[0] * sequence
        (heads, width) = (x.shape[2], x.shape[3])
        pairs = frequencies.shape[0]
        sharesPositions = positions.shape[0] == 1
    }

    var name: String { "rotary embedding [\(tokens), \(heads), \(width)]" }
    var inPlaceOperands: [Int] { [0] }
    func scratchBytes(threads: Int) -> Int { threads * 2 * pairs * MemoryLayout<Float>.size }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let positions = try memory.input(1, as: Int64.self)
        let frequencies = try memory.input(2, as: Float.self)
        let output = memory.output(as: Float.self)
        // A few tokens are less work than waking a thread.
        WorkerPool.parallelFor(threads: tokens < 16 ? 1 : memory.threads, count: tokens) { token, worker in
            let cosines = memory.scratch.assumingMemoryBound(to: Float.self) + worker * 2 * pairs
            let sines = cosines + pairs
            let position = Float(positions[sharesPositions ? token % sequence : token])
            ck_rotary_angles(pairs, position, frequencies, op.factor, cosines, sines)
            let start = token * heads * width
            ck_rotate_f32(op.isInterleaved, heads, width, pairs, cosines, sines, x + start, output + start)
        }
    }
}
