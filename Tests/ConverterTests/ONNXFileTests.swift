import Foundation
import ONNXConverter
import Tensors
import TestSupport
import Testing

/// A protobuf message in the making.
struct Message {
    private(set) var bytes: [UInt8] = []

    static func varint(_ value: UInt64) -> [UInt8] {
        var rest = value
        var result: [UInt8] = []
        repeat {
            result.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return result
    }

    func adding(_ field: UInt64, _ value: Int64) -> Message { appending(field << 3, Self.varint(UInt64(bitPattern: value))) }

    func adding(_ field: UInt64, _ text: String) -> Message { adding(field, Message(bytes: Array(text.utf8))) }

    func adding(_ field: UInt64, _ message: Message) -> Message {
        appending(field << 3 | 2, Self.varint(UInt64(message.bytes.count)) + message.bytes)
    }

    func appending(_ tag: UInt64, _ payload: [UInt8]) -> Message { Message(bytes: bytes + Self.varint(tag) + payload) }

    init(bytes: [UInt8] = []) { self.bytes = bytes }
}

/// Parts of ONNX files; field numbers are those of the specification.
enum Build {
    static func type(_ code: Int64, _ dims: [Int64]) -> Message {
        let shape = dims.reduce(Message()) { $0.adding(1, Message().adding(1, $1)) }
        return Message().adding(1, Message().adding(1, code).adding(2, shape))
    }

    static func value(_ name: String, _ dims: [Int64], _ code: Int64 = 1) -> Message {
        Message().adding(1, name).adding(2, type(code, dims))
    }

    static func node(_ type: String, _ inputs: [String], _ outputs: [String]) -> Message {
        let ins = inputs.reduce(Message()) { $0.adding(1, $1) }
        return outputs.reduce(ins) { $0.adding(2, $1) }.adding(4, type)
    }

    /// A tensor in a side file.
    static func external(_ name: String, _ dims: [Int64], _ entries: [(String, String)]) -> Message {
        let shaped = dims.reduce(Message()) { $0.adding(1, $1) }.adding(2, 1 as Int64).adding(8, name)
        return entries.reduce(shaped) { $0.adding(13, Message().adding(1, $1.0).adding(2, $1.1)) }.adding(14, 1 as Int64)
    }

    static func model(_ graph: Message, opset: Int64 = 17) -> [UInt8] {
        Message().adding(1, 8 as Int64).adding(8, Message().adding(2, opset)).adding(7, graph).bytes
    }

    /// y = x + w, with w as given.
    static func sum(_ w: Message) -> [UInt8] {
        model(
            Message().adding(1, node("Add", ["x", "w"], ["y"])).adding(5, w).adding(11, value("x", [2])).adding(12, value("y", [2])))
    }
}

/// What belongs to the file format rather than to operators.
@Suite struct ONNXFileTests {
    private func kind(_ url: URL) throws -> ONNXError.Kind? {
        do {
            _ = try ONNXImporter.convert(contentsOf: url)
            return nil
        } catch let error as ONNXError {
            #expect(error.description.hasPrefix(url.path))
            return error.kind
        }
    }

    private func convert(_ bytes: [UInt8], in folder: URL) throws -> ONNXConversion {
        let url = folder.appendingPathComponent("m.onnx")
        try Data(bytes).write(to: url)
        return try ONNXImporter.convert(contentsOf: url)
    }

    private func kind(_ bytes: [UInt8]) throws -> ONNXError.Kind? {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("m.onnx")
            try Data(bytes).write(to: url)
            return try kind(url)
        }
    }

    private let weights = Data([0, 0, 0, 0] + [0, 0, 128, 63] + [0, 0, 0, 64])

    @Test func sideFilesAreFoundAsCachesLayThemOut() throws {
        try Fixtures.withTemporaryFolder { folder in
            let files = FileManager.default
            let snapshot = folder.appendingPathComponent("snapshots/abc")
            let blobs = folder.appendingPathComponent("blobs")
            try files.createDirectory(at: snapshot, withIntermediateDirectories: true)
            try files.createDirectory(at: blobs, withIntermediateDirectories: true)
            let tensor = Build.external("w", [2], [("location", "model.onnx_data"), ("offset", "4"), ("length", "8"), ("checksum", "?")])
            try Data(Build.sum(tensor)).write(to: blobs.appendingPathComponent("x"))
            try weights.write(to: blobs.appendingPathComponent("y"))
            let model = snapshot.appendingPathComponent("model.onnx")
            try files.createSymbolicLink(atPath: model.path, withDestinationPath: "../../blobs/x")
            #expect(try kind(model) == .missingExternalData)

            let side = snapshot.appendingPathComponent("model.onnx_data")
            try files.createSymbolicLink(atPath: side.path, withDestinationPath: "../../blobs/y")
            let conversion = try ONNXImporter.convert(contentsOf: model)
            #expect(conversion.information.externalFiles == ["model.onnx_data"])
            let constant = try #require(conversion.graph.usedConstants.first)
            #expect(conversion.graph.constant(constant)?.floats() == [1, 2])

            // A plain file beside the link will do as well.
            try files.removeItem(at: side)
            try weights.write(to: side)
            #expect(try kind(model) == nil)

            // But no link to anywhere else.
            try files.removeItem(at: side)
            try weights.write(to: folder.appendingPathComponent("elsewhere"))
            try files.createSymbolicLink(atPath: side.path, withDestinationPath: "../../elsewhere")
            #expect(try kind(model) == .invalidExternalPath)
        }
    }

    @Test func sideFilesOutsideTheFolderOrDamagedAreRefused() throws {
        try Fixtures.withTemporaryFolder { folder in
            try weights.write(to: folder.appendingPathComponent("w.bin"))
            try FileManager.default.createDirectory(at: folder.appendingPathComponent("sub"), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: folder.appendingPathComponent("etc").path, withDestinationPath: "/etc")
            mkfifo(folder.appendingPathComponent("pipe").path, 0o600)
            let url = folder.appendingPathComponent("m.onnx")
            func kind(_ entries: [(String, String)], _ dims: [Int64] = [2]) throws -> ONNXError.Kind? {
                try Data(Build.sum(Build.external("w", dims, entries))).write(to: url)
                return try self.kind(url)
            }
            #expect(try kind([("location", "w.bin")]) == nil)
            #expect(try kind([("location", "./w.bin"), ("offset", "4")]) == nil)
            #expect(try kind([("location", "/etc/hosts")]) == .invalidExternalPath)
            #expect(try kind([("location", "sub/../w.bin")]) == .invalidExternalPath)
            #expect(try kind([("location", "etc/passwd")]) == .invalidExternalPath)
            #expect(try kind([("location", "")]) == .invalidExternalPath)
            #expect(try kind([]) == .malformedFile)
            #expect(try kind([("location", "sub")]) == .missingExternalData)
            #expect(try kind([("location", "pipe")]) == .missingExternalData)
            #expect(try kind([("location", "none.bin")]) == .missingExternalData)
            #expect(try kind([("location", "w.bin"), ("offset", "8")]) == .malformedFile)
            #expect(try kind([("location", "w.bin"), ("offset", "-4")]) == .malformedFile)
            #expect(try kind([("location", "w.bin"), ("offset", "9223372036854775807")]) == .malformedFile)
            #expect(try kind([("location", "w.bin"), ("length", "4")]) == .malformedFile)
            #expect(try kind([("location", "w.bin")], [.max, .max]) == .malformedFile)
        }
    }

    @Test func checkNamesAllThatIsMissing() throws {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("m.onnx")
            let graph = Message()
                .adding(1, Build.node("Add", ["x", "w"], ["a"])).adding(1, Build.node("Conv", ["a", "v"], ["y"]))
                .adding(5, Build.external("w", [2], [("location", "one.bin")])).adding(5, Build.external("v", [2], [("location", "two.bin")]))
                .adding(11, Build.value("x", [2])).adding(12, Build.value("y", [2]))
            try Data(Build.model(graph)).write(to: url)
            let issues = try ONNXImporter.check(contentsOf: url)
            #expect(issues.map(\.kind) == [.missingExternalData, .missingExternalData, .unsupportedOperator])
            #expect(issues[0].description.contains("one.bin") && issues[1].description.contains("two.bin"))
            #expect(issues[2].nodes == ["y"])
        }
    }

    /// A file of more than 2 GiB, most of it a hole: protobuf libraries refuse such messages.
    @Test func modelsBeyondTwoGibibytes() throws {
        try Fixtures.withTemporaryFolder { folder in
            let size: UInt64 = 2_300_000_000
            let head = Message().adding(1, Int64(size)).adding(2, 2 as Int64).adding(8, "w").bytes
            let rawHead = Message.varint(9 << 3 | 2) + Message.varint(size)
            let tensorSize = UInt64(head.count + rawHead.count) + size
            let graphHead = Message().adding(1, Build.node("Gather", ["w", "i"], ["y"])).adding(11, Build.value("i", [2], 7))
                .adding(12, Build.value("y", [2], 2)).bytes
            let tensorHead = Message.varint(5 << 3 | 2) + Message.varint(tensorSize)
            let graphSize = UInt64(graphHead.count + tensorHead.count) + tensorSize
            let bytes = Message().adding(1, 8 as Int64).adding(8, Message().adding(2, 17 as Int64)).bytes + Message.varint(7 << 3 | 2)
                + Message.varint(graphSize) + graphHead + tensorHead + head + rawHead
            let url = folder.appendingPathComponent("big.onnx")
            try Data(bytes).write(to: url)
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: UInt64(bytes.count) + size - 1)
            try handle.seekToEnd()
            try handle.write(contentsOf: [7])
            try handle.close()
            let conversion = try ONNXImporter.convert(contentsOf: url)
            let weight = try #require(conversion.graph.usedConstants.first.flatMap { conversion.graph.constant($0) })
            #expect(weight.shape == [Int(size)])
            #expect(weight.withUnsafeBytes { $0.last } == 7)
        }
    }

    @Test func nestingIsBounded() throws {
        // A node whose branch holds a node whose branch ...
        var graph = Message().adding(12, Build.value("y", [1]))
        for _ in 0..<20_000 {
            let attribute = Message().adding(1, "then_branch").adding(6, graph).adding(20, 5 as Int64)
            graph = Message().adding(1, Message().adding(4, "If").adding(5, attribute))
            if graph.bytes.count > 200_000 { break }
        }
        #expect(try kind(Build.model(graph)) == .malformedFile)
        let groups = [UInt8](repeating: 0x0B, count: 100_000)
        #expect(try kind(groups) == .malformedFile)
    }

    @Test func namesThatAreNotTextAreRefused() throws {
        func graph(_ name: [UInt8]) -> [UInt8] {
            let node = Message().adding(1, "x").adding(2, Message(bytes: name)).adding(4, "Relu")
            return Build.model(Message().adding(1, node).adding(11, Build.value("x", [1])).adding(12, Message().adding(1, Message(bytes: name))))
        }
        #expect(try kind(graph([0x79])) == nil)
        #expect(try kind(graph([0x79, 0])) == .malformedFile)
        #expect(try kind(graph([0xFF, 0xFE])) == .malformedFile)
    }

    /// Two names that Swift's strings call equal are two values.
    @Test func namesAreComparedByteByByte() throws {
        let graph = Message()
            .adding(1, Build.node("Neg", ["\u{E9}"], ["y"])).adding(1, Build.node("Abs", ["e\u{301}"], ["z"]))
            .adding(11, Build.value("\u{E9}", [1])).adding(11, Build.value("e\u{301}", [2]))
            .adding(12, Build.value("y", [1])).adding(12, Build.value("z", [2]))
        try Fixtures.withTemporaryFolder { folder in
            let conversion = try convert(Build.model(graph), in: folder)
            #expect(conversion.graph.inputs.count == 2)
            #expect(conversion.graph.outputs.map { conversion.graph.type($0.value).shape } == [[1], [2]])
        }
    }

    @Test func versionsAreChecked() throws {
        func file(ir: Int64, opset: Int64) -> [UInt8] {
            let graph = Message().adding(1, Build.node("Relu", ["x"], ["y"])).adding(11, Build.value("x", [1])).adding(12, Build.value("y", [1]))
            return Message().adding(1, ir).adding(8, Message().adding(2, opset)).adding(7, graph).bytes
        }
        for (ir, opset) in [(3, 7), (8, 17), (13, 24)] as [(Int64, Int64)] { #expect(try kind(file(ir: ir, opset: opset)) == nil) }
        for (ir, opset) in [(2, 7), (14, 17), (8, 6), (8, 25), (8, 0)] as [(Int64, Int64)] {
            #expect(try kind(file(ir: ir, opset: opset)) == .unsupportedVersion)
        }
    }

    @Test func functionsThatCallThemselvesAreRefused() throws {
        let function = Message().adding(1, "F").adding(4, "a").adding(5, "b").adding(10, "local")
            .adding(7, Build.node("F", ["a"], ["t"]).adding(7, "local")).adding(7, Build.node("F", ["t"], ["b"]).adding(7, "local"))
        let graph = Message().adding(1, Build.node("F", ["x"], ["y"]).adding(7, "local"))
            .adding(11, Build.value("x", [1])).adding(12, Build.value("y", [1]))
        let file = Message(bytes: Build.model(graph)).adding(25, function).bytes
        #expect(try kind(file) == .malformedFile)
    }

    @Test func attributesThatNobodyReadsAreRefused() throws {
        let odd = Build.node("Relu", ["x"], ["y"]).adding(5, Message().adding(1, "slope").adding(3, 1 as Int64).adding(20, 2 as Int64))
        let graph = Message().adding(1, odd).adding(11, Build.value("x", [1])).adding(12, Build.value("y", [1]))
        #expect(try kind(Build.model(graph)) == .unsupportedOperator)
    }

    @Test func emptyAndForeignFilesAreRefused() throws {
        #expect(try kind([]) == .malformedFile)
        #expect(try kind(Array("{\"a\": 1}".utf8)) == .malformedFile)
        #expect(try kind([8, 8]) == .malformedFile)
        #expect(throws: FileError.self) { try ONNXImporter.convert(contentsOf: URL(fileURLWithPath: "/nonexistent/m.onnx")) }
    }

    /// Damaged copies of small models neither trap nor hang.
    @Test(.needsFixture("corpus")) func damagedFiles() throws {
        let folder = Corpus.folder.appendingPathComponent("handmade")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let samples = try names.map { Array(try Data(contentsOf: folder.appendingPathComponent("\($0)/model.onnx"))) }.filter { $0.count < 2000 }
        var fuzzer = Fuzzer(samples: samples)
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("m.onnx")
            let count = try fuzzer.run { bytes in
                try Data(bytes).write(to: url)
                do {
                    let conversion = try ONNXImporter.convert(contentsOf: url)
                    try conversion.graph.verify()
                } catch is ONNXError {
                    _ = try? ONNXImporter.check(contentsOf: url)
                }
            }
            #expect(count > 0)
        }
    }
}
