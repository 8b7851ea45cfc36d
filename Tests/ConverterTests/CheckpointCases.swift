import GraphIR
import Tensors

/// Reference cases of a checkpoint: `caseK.<input>` and `caseK.out.<output>`.
struct CheckpointCases {
    let file: SafetensorsFile
    var count: Int { (0...).first { file.entry(named: "case\($0).input_ids") == nil } ?? 0 }

    func inputs(_ number: Int, of graph: Graph) throws -> [String: Tensor] {
        var result: [String: Tensor] = [:]
        for id in graph.inputs {
            let name = "case\(number).\(graph[id].name)"
            if file.entry(named: name) != nil { result[graph[id].name] = try file.tensor(named: name) }
        }
        return result
    }

    /// The reference's outputs under `caseK.<group>.`.
    func outputs(_ number: Int, group: String = "out") throws -> [(name: String, tensor: Tensor)] {
        let prefix = "case\(number).\(group)."
        return try file.entries.filter { $0.name.hasPrefix(prefix) }
            .map { (String($0.name.dropFirst(prefix.count)), try file.tensor(named: $0.name)) }
    }
}

/// The largest absolute difference; infinite for other shapes or a NaN. Rows of `[batch, sequence, ...]` tensors whose mask is 0 are left
/// out where a mask is given.
func checkpointDifference(_ a: Tensor, _ b: Tensor, mask: Tensor? = nil) -> Double {
    guard a.shape == b.shape else { return .infinity }
    let isVisible = mask?.integers()
    let rows = mask.map { a.shape.prefix(2).elementsEqual($0.shape) && a.rank == 3 ? $0.count : 0 } ?? 0
    let width = rows > 0 ? a.count / rows : 1
    var largest = 0.0
    for (index, (x, y)) in zip(a.doubles(), b.doubles()).enumerated() {
        if rows > 0, let isVisible, isVisible[index / width] == 0 { continue }
        let difference = abs(x - y)
        if difference.isNaN { return .infinity }
        largest = max(largest, difference)
    }
    return largest
}
