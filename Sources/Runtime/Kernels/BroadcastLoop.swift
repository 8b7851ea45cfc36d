import Tensors

/// A walk over the elements of an output whose operands broadcast to it (numpy's rule), in runs along the last dim.
///
/// Dims that all operands step through alike are merged first, so same-shape operands are one run, and a row added to a matrix
/// is one run a row.
struct BroadcastLoop: Sendable {
    /// Sizes of the dims outside a run.
    private let outer: [Int]
    /// Elements to skip per step, by operand (up to three), then by outer dim.
    private let strides: [[Int]]
    private let outerCount: Int
    /// Elements of a run.
    let run: Int
    /// By operand: 1 where it has an element for each of the run's, 0 where one element serves all.
    let steps: [Int]
    let count: Int
    /// By operand: it does not repeat.
    private let isWhole: [Bool]

    /// Elements that one piece of parallel work covers, about; small enough to balance, large enough to be worth a hand-over.
    private static let pieceSize = 16_384

    /// nil where a shape does not broadcast to the output's.
    init?(_ shapes: [[Int]], to output: [Int]) {
        guard shapes.count <= 3, let count = try? Shape.count(output) else { return nil }
        for shape in shapes {
            guard shape.count <= output.count, zip(shape, output.suffix(shape.count)).allSatisfy({ $0 == $1 || $0 == 1 }) else { return nil }
        }
        let all = shapes.map { Shape.broadcastStrides($0, to: output) }
        var sizes: [Int] = []
        var steps: [[Int]] = shapes.map { _ in [] }
        for axis in output.indices where output[axis] != 1 {
            let here = all.map { $0[axis] }
            if let size = sizes.last, zip(steps, here).allSatisfy({ $0.last == $1 * output[axis] }) {
                sizes[sizes.count - 1] = size * output[axis]
                for operand in steps.indices { steps[operand][sizes.count - 1] = here[operand] }
            } else {
                sizes.append(output[axis])
                for operand in steps.indices { steps[operand].append(here[operand]) }
            }
        }
        self.count = count
        isWhole = shapes.map { $0.reduce(1, *) == count }
        self.run = sizes.last ?? 1
        self.steps = steps.map { $0.last ?? 1 }
        guard self.steps.allSatisfy({ $0 == 0 || $0 == 1 }) || count == 0 else { return nil }
        outer = Array(sizes.dropLast())
        strides = steps.map { Array($0.dropLast()) }
        outerCount = count == 0 ? 0 : count / max(self.run, 1)
    }

    /// Calls `body` for pieces of runs that cover the output: the output's element index, the operands' element indices, and how many
    /// elements follow.
    func forEachRun(threads: Int, _ body: (_ output: Int, _ operands: (Int, Int, Int), _ count: Int) -> Void) {
        guard count > 0 else { return }
        let runParts = (run + 2 * Self.pieceSize - 1) / (2 * Self.pieceSize)
        let partSize = (run + runParts - 1) / runParts
        let rows = max(1, Self.pieceSize / partSize)
        let rowPieces = (outerCount + rows - 1) / rows
        WorkerPool.parallelFor(threads: threads, count: rowPieces * runParts) { piece, _ in
            let (rowPiece, part) = (piece / runParts, piece % runParts)
            let start = part * partSize
            let length = min(partSize, run - start)
            guard length > 0 else { return }
            for row in rowPiece * rows..<min((rowPiece + 1) * rows, outerCount) {
                var offsets = (0, 0, 0)
                var rest = row
                for axis in stride(from: outer.count - 1, through: 0, by: -1) {
                    let coordinate = rest % outer[axis]
                    rest /= outer[axis]
                    if strides.count > 0 { offsets.0 += coordinate * strides[0][axis] }
                    if strides.count > 1 { offsets.1 += coordinate * strides[1][axis] }
                    if strides.count > 2 { offsets.2 += coordinate * strides[2][axis] }
                }
                if steps.count > 0 { offsets.0 += start * steps[0] }
                if steps.count > 1 { offsets.1 += start * steps[1] }
                if steps.count > 2 { offsets.2 += start * steps[2] }
                body(row * run + start, offsets, length)
            }
        }
    }

    /// True where an operand is read exactly as the output is written, so that the output may take over its memory.
    func isElementwise(_ operand: Int) -> Bool { isWhole[operand] }
}
