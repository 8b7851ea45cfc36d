import GraphIR
import Operators
import Tensors

/// The positions of new tokens behind those in the cache.
struct CachePositionsKernel: Kernel {
    private let batch: Int
    private let sequence: Int

    init?(_ request: KernelRequest) {
        guard let ids = request.operand(0), ids.rank == 2, request.outputs.first?.shape == ids.shape,
            request.operand(1) == nil || request.operand(1)?.shape == ids.shape
        else { return nil }
        (batch, sequence) = (ids.shape[0], ids.shape[1])
    }

    var name: String { "cache positions" }

    func run(_ memory: KernelMemory) throws {
        let mask = memory.optional(1, as: Int64.self)
        let output = memory.output(as: Int64.self)
        memory.cache?.storeMask(mask)
        for row in 0..<batch {
            var next = Int64(memory.cache?.realTokens(row) ?? 0)
            for index in row * sequence..<(row + 1) * sequence {
                output[index] = next
                if mask.map({ $0[index] != 0 }) ?? true { next += 1 }
            }
        }
    }
}
