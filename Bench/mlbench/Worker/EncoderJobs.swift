import BenchmarkSuite
import Foundation
import GraphFile
import Runtime
import Tasks
import Tensors

/// Token ids to hidden states, padded to the longest row.
struct EncodeJob: WorkerJob {
    let loaded: WorkerReply.Loaded
    private let executor: Executor
    private let inputs: [String: Tensor]
    private let lengths: [Int]
    private static let output = "last_hidden_state"

    init(_ graph: URL, rows: [[Int]], threads: Int) throws {
        let file = try GraphFile(contentsOf: graph)
        executor = try Executor(graph: file.graph, options: ExecutorOptions(threads: threads))
        loaded = WorkerReply.Loaded(weightsOf: file.graph)
        lengths = rows.map(\.count)
        let width = lengths.max() ?? 0
        func tensor(_ values: ([Int]) -> [Int]) throws -> Tensor {
            try Tensor(
                integers: rows.flatMap { row in (values(row) + repeatElement(0, count: width - row.count)).map(Int64.init) }, shape: [rows.count, width])
        }
        var inputs = ["input_ids": try tensor { $0 }]
        for input in executor.inputs where input.name != "input_ids" {
            switch input.name {
            case "attention_mask": inputs[input.name] = try tensor { $0.map { _ in 1 } }
            case "token_type_ids": inputs[input.name] = try tensor { $0.map { _ in 0 } }
            default: throw ProtocolError("\(graph.lastPathComponent) has an input '\(input.name)', which this benchmark has no values for")
            }
        }
        self.inputs = inputs
    }

    func run() throws -> Double { try seconds { _ = try executor.run(inputs, outputs: [Self.output]) } }

    /// The mean of the hidden states of each row's tokens.
    func answer() throws -> [[Double]] {
        guard let hidden = try executor.run(inputs, outputs: [Self.output])[Self.output], hidden.rank == 3 else {
            throw ProtocolError("the graph gave no \(Self.output)")
        }
        let (length, width) = (hidden.shape[1], hidden.shape[2])
        let values = hidden.floats()
        return lengths.enumerated().map { row, count in
            var mean = [Double](repeating: 0, count: width)
            for token in 0..<count {
                for index in 0..<width { mean[index] += Double(values[(row * length + token) * width + index]) / Double(count) }
            }
            return mean
        }
    }
}

/// Lines of text to pooled vectors.
struct EmbedJob: WorkerJob {
    let loaded: WorkerReply.Loaded
    private let embedder: TextEmbedder
    private let lines: [String]

    init(_ graph: URL, lines: [String], threads: Int) throws {
        embedder = try TextEmbedder(contentsOf: graph, options: ModelOptions(threads: threads))
        loaded = WorkerReply.Loaded(version: "", uses: "")
        self.lines = lines
    }

    func run() throws -> Double { try seconds { _ = try embedder.embed(lines) as [Embedding] } }
    func answer() throws -> [[Double]] { try embedder.embed(lines).map { $0.vector.map(Double.init) } }
}
