import CKernels
import GraphIR
import Operators
import Tensors

/// Layer and RMS normalisation of f32 rows.
struct NormKernel: Kernel {
    let name: String
    private let rows: Int
    private let width: Int
    private let epsilon: Float
    private let isRMS: Bool

    init?(_ op: LayerNorm, _ request: KernelRequest) {
        guard let shape = request.operand(0)?.shape, op.normalizedRank <= shape.count else { return nil }
        let normalized = Array(shape.suffix(op.normalizedRank))
        // Parameters that broadcast within a row are left to the reference.
        for index in 1..<3 { if let parameter = request.operand(index), parameter.shape != normalized { return nil } }
        if let residual = request.operand(3), residual.shape != shape { return nil }
        self.init(request, width: normalized.reduce(1, *), epsilon: op.epsilon, isRMS: false)
    }

    init?(_ op: RMSNorm, _ request: KernelRequest) {
        guard let width = request.operand(0)?.shape.last else { return nil }
        if let scale = request.operand(1), scale.shape != [width] { return nil }
        self.init(request, width: width, epsilon: op.epsilon, isRMS: true)
    }

    private init?(_ request: KernelRequest, width: Int, epsilon: Float, isRMS: Bool) {
        guard request.isF32 else { return nil }
        name = isRMS ? "rms_norm" : "layer_norm"
        self.width = width
        self.epsilon = epsilon
        self.isRMS = isRMS
        rows = width == 0 ? 0 : request.outputs[0].count / width
    }

    var inPlaceOperands: [Int] { isRMS ? [0] : [0, 3] }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let scale = memory.optional(1, as: Float.self)
        let bias = memory.optional(2, as: Float.self)
        let residual = isRMS ? nil : memory.optional(3, as: Float.self)
        let output = memory.output(as: Float.self)
        let block = max(1, 8_192 / max(width, 1))
        WorkerPool.parallelFor(threads: memory.threads, count: (rows + block - 1) / block) { piece, _ in
            for row in piece * block..<min((piece + 1) * block, rows) {
                let start = row * width
                if isRMS {
                    ck_rms_norm_f32(width, x + start, nil, scale, epsilon, output + start, nil)
                } else {
                    ck_layer_norm_f32(width, x + start, residual.map { $0 + start }, scale, bias, epsilon, output + start, nil)
                }
            }
        }
    }
}

/// Softmax and log softmax of f32 along the last axis.
struct SoftmaxKernel: Kernel {
    private let kind: Softmax.Kind
    private let rows: Int
    private let width: Int

    init?(_ op: Softmax, _ request: KernelRequest) {
        guard request.isF32, let shape = request.operand(0)?.shape, let axis = try? Shape.normalize(axis: op.axis, rank: shape.count),
            shape[(axis + 1)...].allSatisfy({ $0 == 1 })
        else { return nil }
        kind = op.kind
        width = shape[axis]
        rows = width == 0 ? 0 : request.outputs[0].count / width
    }

    var name: String { kind.rawValue }
    var inPlaceOperands: [Int] { [0] }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let output = memory.output(as: Float.self)
        let block = max(1, 8_192 / max(width, 1))
        WorkerPool.parallelFor(threads: memory.threads, count: (rows + block - 1) / block) { piece, _ in
            for row in piece * block..<min((piece + 1) * block, rows) {
                switch kind {
                case .softmax: ck_softmax_f32(width, x + row * width, output + row * width)
                case .log_softmax: ck_log_softmax_f32(width, x + row * width, output + row * width)
                }
            }
        }
    }
}
