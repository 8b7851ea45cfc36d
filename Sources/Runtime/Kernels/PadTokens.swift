import Foundation
import GraphIR
import Operators
import Tensors

/// Copies the rows of tokens to their places in the batch, and zeros between them.
struct PadTokensKernel: Kernel {
    let name = "pad_tokens"
    private let tokens: Int
    private let sequences: Int
    private let places: Int
    private let rowBytes: Int

    init?(_ request: KernelRequest) {
        guard let x = request.operand(0), let offsets = request.operand(2), let output = request.outputs.first, x.rank >= 2, output.rank == x.rank,
            x.dtype == output.dtype, x.shape[0] == 1
        else { return nil }
        tokens = x.shape[1]
        sequences = offsets.count - 1
        places = output.shape[0] * output.shape[1]
        rowBytes = output.shape[2...].reduce(output.dtype.size, *)
    }

    func run(_ memory: KernelMemory) throws {
        let source = UnsafeRawPointer(try memory.input(0, as: UInt8.self))
        let rows = try memory.input(1, as: Int64.self)
        let target = UnsafeMutableRawPointer(memory.output(as: UInt8.self))
        let offsets = UnsafeBufferPointer(start: try memory.input(2, as: Int64.self), count: sequences + 1)
        let count = try TokenRows.sequences(offsets, count: tokens).last?.upperBound ?? 0
        var previous = -1
        for index in 0..<count {
            guard rows[index] > previous, rows[index] < places else {
                throw OperatorError(.shapeMismatch, "row \(rows[index]) is outside a batch of \(places) tokens, or out of order")
            }
            previous = Int(rows[index])
        }
        // Each piece writes its tokens and the gap before each; the last one what is left.
        let block = max(1, 65_536 / max(rowBytes, 1))
        let pieces = max(1, (count + block - 1) / block)
        WorkerPool.parallelFor(threads: memory.threads, count: pieces) { piece, _ in
            var place = piece == 0 ? 0 : Int(rows[piece * block - 1]) + 1
            for index in piece * block..<min((piece + 1) * block, count) {
                let row = Int(rows[index])
                memset(target + place * rowBytes, 0, (row - place) * rowBytes)
                memcpy(target + row * rowBytes, source + index * rowBytes, rowBytes)
                place = row + 1
            }
            if piece == pieces - 1 { memset(target + place * rowBytes, 0, (places - place) * rowBytes) }
        }
    }
}
