import Foundation
import GraphIR
import JSON
import Operators
import Tensors
import TestSupport

/// Runs a graph with the reference evaluation of its operators, and checks inference on the way: every value has the type and the
/// sizes that the graph says.
enum ONNXReference {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether the graph's text reads back as the same graph.
    static func survivesText(_ graph: Graph) throws -> Bool {
        let constants = Dictionary(uniqueKeysWithValues: graph.usedConstants.map { (ExactName(graph[$0].name), graph.constant($0)) })
        let parsed = try Graph(parsing: graph.text) { name in
            guard let tensor = constants[ExactName(name)] ?? nil else { throw Failure(description: "no constant \(name)") }
            return tensor
        }
        return parsed.isIdentical(to: graph)
    }

    /// The largest absolute difference; infinity where shapes differ, or NaN and infinities stand elsewhere.
    static func difference(_ a: Tensor, _ b: Tensor, rows: [Bool]? = nil) -> Double {
        guard a.shape == b.shape else { return .infinity }
        let x = a.doubles()
        let y = b.doubles()
        let width = rows.map { max(x.count / max($0.count, 1), 1) } ?? 1
        var largest = 0.0
        for index in x.indices {
            if let rows, !rows[index / width] { continue }
            if x[index].isNaN != y[index].isNaN { return .infinity }
            if x[index].isNaN || x[index] == y[index] { continue }
            largest = max(largest, abs(x[index] - y[index]))
        }
        return largest
    }
}

/// Inputs and expected outputs out of a file of cases: `PREFIX.NAME` and `PREFIX.out.NAME`.
struct CaseFile {
    let file: SafetensorsFile

    init(_ url: URL) throws { file = try SafetensorsFile(contentsOf: url) }

    func tensors(_ prefix: String) throws -> [String: Tensor] {
        var result: [String: Tensor] = [:]
        for entry in file.entries where entry.name.hasPrefix(prefix) {
            result[String(entry.name.dropFirst(prefix.count))] = try file.tensor(named: entry.name)
        }
        return result
    }
}

/// The corpus of small models.
enum Corpus {
    static let folder = Fixtures.unpacked("corpus")

    static func manifest() throws -> JSONValue {
        try JSONParser.parse(Array(Data(contentsOf: folder.appendingPathComponent("manifest.json"))))
    }
}
