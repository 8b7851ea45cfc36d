import GraphIR
import Operators
import Tensors

/// `condition ? a : b` by element width.
struct SelectKernel: Kernel {
    let name = "select"
    private let loop: BroadcastLoop
    private let elementSize: Int

    init?(_ request: KernelRequest) {
        guard let condition = request.operand(0), let a = request.operand(1), let b = request.operand(2), condition.dtype == .bool,
            a.dtype == b.dtype, a.dtype == request.outputs[0].dtype,
            let loop = BroadcastLoop([condition.shape, a.shape, b.shape], to: request.outputs[0].shape)
        else { return nil }
        self.loop = loop
        elementSize = a.dtype.size
    }

    var inPlaceOperands: [Int] { [1, 2].filter(loop.isElementwise) }

    func run(_ memory: KernelMemory) throws {
        switch elementSize {
        case 1: try select(memory, UInt8.self)
        case 2: try select(memory, UInt16.self)
        case 4: try select(memory, UInt32.self)
        default: try select(memory, UInt64.self)
        }
    }

    private func select<Element: BitwiseCopyable>(_ memory: KernelMemory, _ type: Element.Type) throws {
        let condition = try memory.input(0, as: UInt8.self)
        let a = try memory.input(1, as: type)
        let b = try memory.input(2, as: type)
        let output = memory.output(as: type)
        let (cStep, aStep, bStep) = (loop.steps[0], loop.steps[1], loop.steps[2])
        loop.forEachRun(threads: memory.threads) { start, offsets, count in
            let (c, x, y, out) = (condition + offsets.0, a + offsets.1, b + offsets.2, output + start)
            for index in 0..<count { out[index] = c[index * cStep] != 0 ? x[index * aStep] : y[index * bStep] }
        }
    }
}
