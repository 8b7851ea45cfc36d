import BenchmarkSuite
import GraphIR
import Tensors

extension WorkerReply.Loaded {
    /// The type that holds most of a graph's weights (`f32` goes without saying), and their bytes. Tied tables are one constant, so that the sum is
    /// what one token reads, but for the rows of a table of positions that it does not need.
    init(weightsOf graph: Graph) {
        var bytes: [DType: Int] = [:]
        for id in graph.usedConstants {
            guard let tensor = graph.constant(id) else { continue }
            bytes[tensor.dtype, default: 0] += tensor.byteCount
        }
        let main = bytes.max { ($0.value, $1.key.rawValue) < ($1.value, $0.key.rawValue) }?.key
        self.init(version: "", uses: main == .f32 ? "" : main?.rawValue ?? "", weightBytes: bytes.values.reduce(0, +))
    }
}
