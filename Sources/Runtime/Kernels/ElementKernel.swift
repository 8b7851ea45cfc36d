import Tensors

/// A function of one element at a time.
struct ElementKernel<Source: BitwiseCopyable & Sendable, Target: BitwiseCopyable & Sendable>: Kernel {
    var name = "cast"
    let loop: BroadcastLoop
    let function: @Sendable (Source) -> Target

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Source.self)
        let output = memory.output(as: Target.self)
        loop.forEachRun(threads: memory.threads) { start, offsets, count in
            for index in 0..<count { output[start + index] = function(x[offsets.0 + index]) }
        }
    }
}
