import CKernels
import GraphIR
import Operators
import Tensors

/// Runs a node on f16 or bf16 by its f32 kernel: operands are widened, outputs rounded once, as the reference evaluations have it.
struct HalfPrecisionKernel: Kernel {
    private let kernel: any Kernel
    private let operands: [Operand]
    private let outputs: [ConcreteType]
    /// Where each output's f32 form lies in the scratch memory; nil where the kernel writes the output itself.
    private let outputOffsets: [Int?]
    private let kernelScratch: Int

    private enum Operand {
        /// Absent, or passed as it is.
        case plain
        case constant(Tensor)
        /// Widened into the scratch memory at that offset.
        case widened(ConcreteType, offset: Int)
    }

    init?(_ request: KernelRequest) {
        func isHalf(_ type: ConcreteType?) -> Bool { type?.dtype == .f16 || type?.dtype == .bf16 }
        func widen(_ type: ConcreteType) -> ConcreteType? { isHalf(type) ? try? ConcreteType(.f32, type.shape) : type }
        guard request.operands.contains(where: isHalf), !(request.op is Cast && isHalf(request.outputs.first)) else { return nil }
        let wideOutputs = request.outputs.compactMap(widen)
        let wideOperands = request.operands.map { $0.flatMap(widen) }
        guard wideOutputs.count == request.outputs.count, zip(request.operands, wideOperands).allSatisfy({ ($0 == nil) == ($1 == nil) })
        else { return nil }
        let constants = request.constants.enumerated().map { index, tensor -> Tensor? in
            guard let tensor, isHalf(request.operand(index)) else { return tensor }
            return request.store.widened(request.weight(index), tensor)
        }
        var end = 0
        func reserve(_ type: ConcreteType) -> Int {
            defer { end += (type.byteCount + 63) / 64 * 64 }
            return end
        }
        operands = wideOperands.enumerated().map { index, wide in
            guard let wide, let type = request.operand(index), isHalf(type) else { return .plain }
            if index < constants.count, let tensor = constants[index] { return .constant(tensor) }
            return .widened(type, offset: reserve(wide))
        }
        outputOffsets = zip(request.outputs, wideOutputs).map { isHalf($0) ? reserve($1) : nil }
        outputs = request.outputs
        kernelScratch = end
        var wide = KernelRequest(
            op: request.op, operands: wideOperands, constants: constants, weights: request.weights, outputs: wideOutputs, store: request.store)
        wide.attentionLayout = request.attentionLayout
        guard let kernel = KernelSelection.fast(wide) else { return nil }
        self.kernel = kernel
    }

    var name: String { "\(kernel.name) (widened)" }

    func scratchBytes(threads: Int) -> Int { kernelScratch + kernel.scratchBytes(threads: threads) }

    func run(_ memory: KernelMemory) throws {
        var inputs = Array(memory.inputs)
        for (index, operand) in operands.enumerated() where index < inputs.count {
            switch operand {
            case .plain: break
            case .constant(let tensor): inputs[index] = tensor.unsafePointer ?? UnsafeRawPointer(memory.scratch)
            case .widened(let type, let offset):
                let source = try memory.input(index, as: UInt16.self)
                let target = (memory.scratch + offset).assumingMemoryBound(to: Float.self)
                inPieces(type.count, memory.threads) { start, count in
                    if type.dtype == .f16 { ck_f16_to_f32(count, source + start, target + start) } else { ck_bf16_to_f32(count, source + start, target + start) }
                }
                inputs[index] = UnsafeRawPointer(target)
            }
        }
        let targets = outputOffsets.enumerated().map { index, offset in offset.map { memory.scratch + $0 } ?? memory.outputs[index] }
        try inputs.withUnsafeBufferPointer { inputs in
            try targets.withUnsafeBufferPointer { targets in
                try kernel.run(KernelMemory(inputs: inputs, outputs: targets, scratch: memory.scratch + kernelScratch, threads: memory.threads, cache: memory.cache))
            }
        }
        for (index, type) in outputs.enumerated() where outputOffsets[index] != nil {
            let source = UnsafePointer(targets[index].assumingMemoryBound(to: Float.self))
            let target = memory.output(index, as: UInt16.self)
            inPieces(type.count, memory.threads) { start, count in
                if type.dtype == .f16 { ck_f32_to_f16(count, source + start, target + start) } else { ck_f32_to_bf16(count, source + start, target + start) }
            }
        }
        withExtendedLifetime(operands) {}
    }

    private func inPieces(_ count: Int, _ threads: Int, _ body: (_ start: Int, _ count: Int) -> Void) {
        let size = 16_384
        WorkerPool.parallelFor(threads: threads, count: (count + size - 1) / size) { piece, _ in
            body(piece * size, min(size, count - piece * size))
        }
    }
}
