import Foundation
import JSON
import Operators
import TestSupport
import Tensors
import Testing

@testable import GraphFile
@testable import GraphIR

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "no error"
    } catch {
        return "\(error)"
    }
}

private func open(_ bytes: [UInt8]) throws -> GraphFile {
    try GraphFile(storage: Storage(byteCount: bytes.count) { $0.copyBytes(from: bytes) }, path: "f")
}

private let provenance = Provenance(
    sources: [.init(name: "model.onnx", byteCount: 12, hash: "ab")], format: "onnx", producer: "pytorch", opset: 17, converterVersion: "0.1.0")

private func describe() -> ModelDescription {
    var description = ModelDescription(task: .classification)
    description.labels = ["no", "yes", "\u{E9}", "e\u{301}"]
    description.pooling = .mean
    description.inputs = .init(typeIDs: "token_type_ids")
    description.prompts = [.init(name: "query", text: "query: \n")]
    description.maximumLength = 512
    return description
}

private func bytes(of graph: Graph, tokenizer: [UInt8]? = Array(0..<77)) throws -> [UInt8] {
    try Fixtures.withTemporaryFolder { folder in
        let url = folder.appendingPathComponent("m.graph")
        try GraphFile.write(graph: graph, description: describe(), provenance: provenance, tokenizer: tokenizer, to: url)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["m.graph"])
        return Array(try Data(contentsOf: url))
    }
}

@Suite struct GraphFileTests {
    @Test func roundTrip() throws {
        for seed in 0..<12 {
            let graph = try RandomGraph.make(seed: UInt64(seed))
            let written = try bytes(of: graph)
            #expect(written == (try bytes(of: graph)))
            let file = try open(written)
            #expect(file.graph.isIdentical(to: graph))
            #expect(file.description == describe() && file.provenance == provenance)
            #expect(file.tokenizer.map { Array($0.storage.bytes[$0.range]) } == Array(0..<77))
            #expect(try bytes(of: file.graph) == written)
            #expect(try open(bytes(of: graph, tokenizer: nil)).tokenizer == nil)
        }
    }

    @Test func equalConstantsAreStoredOnceAndAligned() throws {
        var builder = GraphBuilder(name: "twins")
        let values = (0..<64).map { Float($0) }
        let x = builder.input("x", TensorType(.f32, shape: [64]))
        let a = builder.constant(try Tensor(floats: values, shape: [64]), name: "a")
        let b = builder.constant(try Tensor(floats: values, shape: [64]), name: "b")
        let c = builder.constant(try Tensor(floats: values, shape: [8, 8]), name: "c")
        builder.output("y", try builder.apply(Binary(.add), builder.apply(Binary(.mul), x, a), b))
        builder.output("c", c)
        let written = try bytes(of: builder.graph)
        let stored = try SafetensorsFile(storage: Storage(byteCount: written.count) { $0.copyBytes(from: written) }, path: "f")
        #expect(stored.entries.map(\.name) == ["a", "c", "__tokenizer__"])
        #expect(stored.entries[0].bytes.lowerBound % 64 == 0 && stored.entries[1].bytes.lowerBound % 64 == 0)
        let graph = try open(written).graph
        #expect(graph.isIdentical(to: builder.graph))
        let pointers = graph.usedConstants.map { graph.constant($0)?.unsafePointer }
        #expect(pointers.count == 3 && pointers[0] == pointers[1] && pointers[0] != pointers[2])
    }

    /// No changed byte of a file goes unnoticed: all of the header, every byte of the small tensors.
    @Test func flippedBytes() throws {
        let written = try bytes(of: try RandomGraph.make(seed: 5, nodes: 6))
        let file = try open(written)
        let entries = try SafetensorsFile(storage: Storage(byteCount: written.count) { $0.copyBytes(from: written) }, path: "f").entries
        let dataStart = try #require(entries.map(\.bytes.lowerBound).min())
        #expect(file.graph.nodes.count > 6)
        var random = SeededRandom(seed: 1)
        for index in written.indices where index < dataStart || random.int(0..<8) == 0 {
            var damaged = written
            damaged[index] ^= UInt8(random.int(1..<256))
            let found = message { _ = try open(damaged) }
            if index >= dataStart {
                let entry = try #require(entries.first { $0.bytes.contains(index) })
                let name = JSONValue.string(entry.name).text
                #expect(found == "f: the data of tensor \(name) are damaged (their checksum differs)")
            } else if index >= 8, index < 8 + GraphFileFormat.headerStart.utf8.count {
                #expect(found.hasPrefix("f: ") && found != "no error", "byte \(index)")
            } else if index >= 8 {
                #expect(found == "f: the header is damaged (its checksum differs)", "byte \(index)")
            } else {
                #expect(found.contains("damaged"), "byte \(index): \(found)")
            }
        }
    }

    @Test func truncatedFiles() throws {
        let written = try bytes(of: try RandomGraph.make(seed: 5, nodes: 6))
        for count in Array(0..<200) + Array(stride(from: 200, to: written.count, by: 37)) + [written.count - 1] {
            let found = message { _ = try open(Array(written[..<count])) }
            #expect(found.hasPrefix("f: "), "\(count): \(found)")
            if count >= 70 { #expect(found.contains("cut off"), "\(count): \(found)") }
        }
        #expect(message { _ = try open(written + [0]) }.contains("belong to no tensor"))
    }

    /// The bytes with another metadata value, sealed again.
    private func resealed(_ written: [UInt8], _ from: String, _ to: String) throws -> [UInt8] {
        precondition(from.utf8.count == to.utf8.count)
        var bytes = written
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: from.utf8) })
        bytes.replaceSubrange(start..<start + from.utf8.count, with: to.utf8)
        let length = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
        let place = 8 + GraphFileFormat.headerStart.utf8.count
        let checksum = bytes[(place + 16)..<(8 + length)].withUnsafeBytes { Checksum($0) }
        bytes.replaceSubrange(place..<place + 16, with: checksum.text.utf8)
        return bytes
    }

    @Test func newerVersionsAndWrongContents() throws {
        let graph = try RandomGraph.make(seed: 5, nodes: 6)
        let written = try bytes(of: graph)
        #expect(message { _ = try open(resealed(written, #""version":"1""#, #""version":"9""#)) }
            == "f: has version 9 of the graph format, this program reads up to 1: update it")
        #expect(message { _ = try open(resealed(written, #""version":"1""#, #""version":"x""#)) } == "f: is not a graph file of this toolkit")
        #expect(message { _ = try open(resealed(written, #""provenance":"#, #""provenancf":"#)) }
            == "f: its metadata have no 'provenance'; convert the model again")
        #expect(message { _ = try open(resealed(written, "classification", "classificatiom")) }.contains("'task' of the description"))
        #expect(message { _ = try open(resealed(written, "gather(", "gathes(")) }.contains("unknown operator 'gathes'"))
        #expect(message { _ = try open(resealed(written, "f32[128, 8] = @", "f32[129, 8] = @")) }.contains("declared as f32[129, 8]"))
    }

    @Test func otherFilesAreNamed() throws {
        let graph = try RandomGraph.make(seed: 1)
        #expect(message { _ = try open([]) } == "f: is empty")
        #expect(message { _ = try open(Array(graph.text.utf8)) } == "f: is the text of a graph, without weights; give the .graph file")
        #expect(message { _ = try open(Array("{}".utf8)) } == "f: is a JSON file, not a graph file")
        #expect(message { _ = try open([0x08, 0x08, 0x12, 0x07] + Array("pytorch".utf8)) }
            == "f: seems to be an ONNX model; convert it with mlconv first")
        #expect(message { _ = try open(Array("some text of a reader".utf8)) }.hasPrefix("f: is not a graph file ("))
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("plain.safetensors")
            try SafetensorsWriter.write([("a", try Tensor(floats: [1], shape: [1]))], to: url)
            #expect(message { _ = try GraphFile(contentsOf: url) }
                == "\(url.path): is a safetensors file with 1 tensors and no graph; convert it with mlconv first")
            try SafetensorsWriter.write([], metadata: [JSONMember(key: "format", value: "mlgraph")], to: url)
            #expect(message { _ = try GraphFile(contentsOf: url) }
                == "\(url.path): another program has rewritten its header; convert the model again")
            #expect(message { _ = try GraphFile(contentsOf: folder) } == "\(folder.path): is a folder, not a file")
        }
    }

    @Test(.needsFixture("corpus")) func corpusFilesAreNoGraphs() {
        for name in ["bert-encoder/model.safetensors", "bert-encoder/config.json", "bert-encoder/onnx/ts17-eager.onnx"] {
            let url = Fixtures.unpacked("corpus").appendingPathComponent(name)
            let expected = name.hasSuffix("json") ? "JSON" : name.hasSuffix("onnx") ? "ONNX model" : "safetensors file with 39 tensors"
            #expect(message { _ = try GraphFile(contentsOf: url) }.contains(expected))
        }
    }

    @Test func graphsThatCannotBeReadBackAreNotWritten() throws {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("m.graph")
            func write(_ graph: Graph) -> String {
                message { try GraphFile.write(graph: graph, description: describe(), provenance: provenance, to: url) }
            }
            var graph = Graph(name: "g")
            let x = graph.addInput("x", TensorType(.f32, [.symbol("n")]))
            graph.nodes.append(Node(op: Unary(.neg), inputs: [x], outputs: [graph.addValue("y", TensorType(.i64, [.symbol("n")]))], name: ""))
            #expect(write(graph).contains("the graph cannot be stored: graph g, node 0 (neg)"))
            var reserved = Graph(name: "g")
            let c = reserved.addConstant("__tokenizer__", try Tensor(floats: [Float](repeating: 1, count: 64), shape: [64]))
            reserved.outputs.append(Output(name: "c", value: c))
            #expect(write(reserved).contains("reserved name"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test func fuzzedFiles() throws {
        let samples = try (0..<3).map { try bytes(of: RandomGraph.make(seed: UInt64($0), nodes: 8)) }
        var fuzzer = Fuzzer(samples: samples)
        try fuzzer.run { bytes in
            do {
                let file = try open(bytes)
                // Mutations may cancel out; anything else is found.
                #expect(samples.contains(bytes), "\(file.graph.nodes.count) nodes")
            } catch is GraphFileError {}
        }
    }

    /// Damage behind intact checksums: what a forger can do must still not trap.
    @Test func fuzzedContents() throws {
        let samples = try (0..<3).map { try bytes(of: RandomGraph.make(seed: UInt64($0), nodes: 8)) }
        var fuzzer = Fuzzer(samples: samples, seed: 2)
        var opened = 0
        try fuzzer.run { mutant in
            var bytes = mutant
            let place = 8 + GraphFileFormat.headerStart.utf8.count
            guard bytes.count > place + 16 else { return }
            let length = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
            guard length + 8 <= bytes.count, length + 8 >= place + 16 else { return }
            let checksum = bytes[(place + 16)..<(8 + length)].withUnsafeBytes { Checksum($0) }
            bytes.replaceSubrange(place..<place + 16, with: checksum.text.utf8)
            do {
                _ = try open(bytes)
                opened += 1
            } catch is GraphFileError {}
        }
        #expect(opened >= 0)
    }
}
