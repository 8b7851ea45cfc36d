import Foundation
import JSON
import TestSupport
import Testing

@testable import Tensors

/// Bytes of a file with this header and so many data bytes.
private func file(_ header: String, data: Int = 0) -> [UInt8] {
    withUnsafeBytes(of: UInt64(header.utf8.count).littleEndian) { Array($0) } + Array(header.utf8) + (0..<data).map { UInt8($0 & 0xFF) }
}

private func open(_ bytes: [UInt8]) throws -> SafetensorsFile {
    try SafetensorsFile(storage: Storage(byteCount: bytes.count) { $0.copyBytes(from: bytes) }, path: "f")
}

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "no error"
    } catch {
        return "\(error)"
    }
}

@Suite struct SafetensorsTests {
    @Test func roundTripOfAllTypes() throws {
        try Fixtures.withTemporaryFolder { folder in
            var random = SeededRandom(seed: 7)
            var tensors: [(name: String, tensor: Tensor)] = []
            for dtype in DType.allCases where !dtype.isBlock {
                for shape in [[], [0], [3, 0, 2], [7], [2, 3, 5], [64]] {
                    let tensor = try Tensor(dtype: dtype, shape: shape) { target in
                        for index in target.indices { target[index] = dtype == .bool ? UInt8(random.int(0..<2)) : UInt8(random.int(0..<256)) }
                    }
                    tensors.append(("\(dtype.rawValue) \(shape) \"é\u{301}\n", tensor))
                }
            }
            // Canonically equivalent names are different names.
            tensors.append(("\u{E9}", try Tensor(integers: [1], shape: [1])))
            tensors.append(("e\u{301}", try Tensor(integers: [2], shape: [1])))
            let metadata = [JSONMember(key: "b", value: "x\u{0}\"\\y"), JSONMember(key: "a", value: "")]
            let url = folder.appendingPathComponent("all.safetensors")
            try SafetensorsWriter.write(tensors, metadata: metadata, to: url)
            let read = try SafetensorsFile(contentsOf: url)
            #expect(read.metadata == metadata)
            #expect(read.metadata("b") == "x\u{0}\"\\y" && read.metadata("c") == nil)
            #expect(read.entries.count == tensors.count)
            for (name, tensor) in tensors { #expect(Tensor.identical(try read.tensor(named: name), tensor), "\(name)") }
            for entry in read.entries {
                #expect(entry.bytes.lowerBound % entry.dtype.size == 0)
                if !entry.bytes.isEmpty, entry.bytes.count % 64 == 0 { #expect(entry.bytes.lowerBound % 64 == 0) }
                let pointer = try read.tensor(named: entry.name).unsafePointer
                #expect(entry.bytes.isEmpty || pointer == read.storage.bytes.baseAddress.map { $0 + entry.bytes.lowerBound }, "a copy")
            }
            let again = folder.appendingPathComponent("again.safetensors")
            try SafetensorsWriter.write(tensors, metadata: metadata, to: again)
            #expect(try Data(contentsOf: url) == Data(contentsOf: again))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        }
    }

    @Test func unalignedDataAreCopied() throws {
        let bytes = file(#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[],"data_offsets":[1,5]}} "#, data: 5)
        #expect(try open(bytes).tensor(named: "b").withUnsafeBytes { Array($0) } == [1, 2, 3, 4])
        #expect(try open(file("{}")).entries.isEmpty)
    }

    /// Each header with the error it must give.
    static let hostileHeaders: [(header: String, data: Int, message: String)] = [
        ("", 0, "f, byte 8: invalid JSON in the header: the text ends where a value should stand"),
        ("[]", 0, "f, byte 8: the header is an array, not an object"),
        (#"{"a":"#, 0, "f, byte 13: invalid JSON in the header: the text ends where a value should stand"),
        (#"{"a":1}"#, 0, #"f, tensor "a": its description is a number, not an object"#),
        (#"{"a\n":{}}"#, 0, #"f, tensor "a\n": has no dtype"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}}"#, 4,
            #"f, byte 62: invalid JSON in the header: the key "a" stands twice"#),
        (#"{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}"#, 1,
            #"f, tensor "a": the dtype "F8_E4M3" is not supported (supported: F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL)"#),
        (#"{"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}}"#, 4,
            #"f, tensor "a": the dtype "f32" is not supported (supported: F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL)"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":0}}"#, 4, #"f, tensor "a": unknown field "x""#),
        (#"{"a":{"dtype":"F32","data_offsets":[0,4]}}"#, 4, #"f, tensor "a": its shape is no list of sizes"#),
        (#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#, 4, #"f, tensor "a": its shape is no list of sizes"#),
        (#"{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}"#, 4, #"f, tensor "a": its shape is no list of sizes"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}"#, 4, #"f, tensor "a": its data_offsets are no pair of offsets"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,99999999999999999999]}}"#, 4,
            #"f, tensor "a": its data_offsets are no pair of offsets"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#, 4, #"f, tensor "a": its data end (0) before they begin (4)"#),
        (#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775803,9223372036854775807]}}"#, 4,
            #"f, tensor "a": its data end at 9223372036854775807, but the file has only 4 bytes of data: it is cut off or damaged"#),
        (#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, 4,
            #"f, tensor "a": F32 of shape [2] takes 8 bytes, its data_offsets span 4"#),
        (#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#, 0,
            #"f, tensor "a": its shape [4294967296, 4294967296] has too many elements"#),
        (#"{"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}"#, 0,
            #"f, tensor "a": F64 of shape [2305843009213693952] takes too many bytes, its data_offsets span 0"#),
        (#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#, 6,
            #"f, tensor "b": its data overlap those of tensor "a""#),
        (#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[1],"data_offsets":[6,7]}}"#, 7,
            #"f, tensor "b": the 2 bytes before its data belong to no tensor"#),
        (#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#, 6, "f, byte 65: 2 bytes after the last tensor belong to no tensor"),
        ("{}", 1, "f, byte 10: 1 bytes after the last tensor belong to no tensor"),
        (#"{"__metadata__":[]}"#, 0, "f: __metadata__ is an array, not an object"),
        (#"{"__metadata__":{"k":1}}"#, 0, #"f: __metadata__ "k" is a number, not a string"#),
        (String(repeating: "[", count: 300), 0, "f, byte 264: invalid JSON in the header: nested deeper than 256 levels"),
    ]

    @Test func hostileHeadersAreRefused() {
        for item in Self.hostileHeaders {
            #expect(message { _ = try open(file(item.header, data: item.data)) } == item.message)
        }
    }

    @Test func damagedLengthFields() {
        #expect(message { _ = try open([]) } == "f, byte 0: the file has 0 bytes, too few for a safetensors file")
        #expect(message { _ = try open([2, 0, 0]) } == "f, byte 0: the file has 3 bytes, too few for a safetensors file")
        let tooLong = "f, byte 0: not a safetensors file: its header would have 18446744073709551615 bytes, more than the 100000000 allowed"
        #expect(message { _ = try open([UInt8](repeating: 0xFF, count: 8)) } == tooLong)
        #expect(
            message { _ = try open([9, 0, 0, 0, 0, 0, 0, 0, 0x7B]) }
                == "f, byte 0: the header has 9 bytes, but only 1 follow: the file is cut off or no safetensors file")
        #expect(message { _ = try open(Array("version https://git-lfs.github.com/spec/v1".utf8)) }.contains("Git LFS pointer"))
        #expect(message { _ = try open(Array("PK\u{3}\u{4}0000000000".utf8)) }.contains("zip archive"))
    }

    @Test(.needsFixture("corpus")) func corpusCheckpoints() throws {
        let corpus = Fixtures.unpacked("corpus")
        // Values read with numpy.
        let encoder = try WeightFiles(contentsOf: corpus.appendingPathComponent("bert-encoder"))
        #expect(encoder.names.count == 39 && encoder.files.first?.metadata("format") == "pt")
        let bias = try encoder.tensor(named: "embeddings.LayerNorm.bias")
        #expect(bias.dtype == .f32 && bias.shape == [32])
        #expect(Array(bias.floats().prefix(3)) == [0x1.52840ep-9, 0x1.acd6aep-5, -0x1.46ba36p-8])
        let weight = try encoder.tensor(named: "encoder.layer.1.output.dense.weight")
        #expect(weight.shape == [32, 64] && abs(weight.doubles().reduce(0, +) - 8.029876053988119) < 1e-12)
        let half = try SafetensorsFile(contentsOf: corpus.appendingPathComponent("bert-sequence-classification/checkpoint-fp16/model.safetensors"))
        let norm = try half.tensor(named: "bert.encoder.layer.0.output.LayerNorm.weight")
        #expect(norm.dtype == .f16 && norm.doubles().reduce(0, +) == 32.552734375)
        let cases = try SafetensorsFile(contentsOf: corpus.appendingPathComponent("bert-sequence-classification/cases.safetensors"))
        #expect(try cases.tensor(named: "case0.input_ids").integers().prefix(5) == [68, 120, 95, 51, 47])
    }

    @Test(.needsFixture("corpus"), arguments: ["bert-sequence-classification", "llama-causal-lm"])
    func shardsEqualTheWhole(_ model: String) throws {
        let folder = Fixtures.unpacked("corpus").appendingPathComponent(model)
        let whole = try WeightFiles(contentsOf: folder)
        let sharded = try WeightFiles(contentsOf: folder.appendingPathComponent("checkpoint-sharded"))
        #expect(sharded.files.count == 3 && Set(sharded.names) == Set(whole.names))
        for name in whole.names { #expect(Tensor.identical(try whole.tensor(named: name), try sharded.tensor(named: name))) }
        #expect(throws: SafetensorsError.self) { try sharded.tensor(named: "no such tensor") }
    }

    @Test(.needsFixture("corpus")) func everyCorpusFileOpens() throws {
        let files = FileManager.default.enumerator(at: Fixtures.unpacked("corpus").resolvingSymlinksInPath(), includingPropertiesForKeys: nil)
        var count = 0
        while let url = files?.nextObject() as? URL {
            guard url.pathExtension == "safetensors" else { continue }
            count += 1
            let file = try SafetensorsFile(contentsOf: url)
            for entry in file.entries { #expect(try file.tensor(named: entry.name).byteCount == entry.bytes.count) }
        }
        #expect(count > 80)
    }

    @Test func indexesAreChecked() throws {
        try Fixtures.withTemporaryFolder { folder in
            let shard = folder.appendingPathComponent("blob")
            try SafetensorsWriter.write([("a", try Tensor(integers: [1], shape: [1]))], to: shard)
            try FileManager.default.createSymbolicLink(atPath: folder.appendingPathComponent("s.safetensors").path, withDestinationPath: "blob")
            let index = folder.appendingPathComponent("model.safetensors.index.json")
            func open(_ map: String) throws -> WeightFiles {
                try Data("{\"weight_map\":\(map)}".utf8).write(to: index)
                return try WeightFiles(contentsOf: folder)
            }
            #expect(try open(#"{"a":"s.safetensors"}"#).tensor(named: "a").integers() == [1])
            #expect(try open(#"{"a":"./s.safetensors"}"#).names == ["a"])
            let place = "\(index.path), tensor \"a\": "
            for escape in ["/etc/passwd", "../blob", "x/../../blob", "..", ""] {
                let expected = place + "its shard \"\(escape)\" lies outside the index's folder"
                #expect(message { _ = try open("{\"a\":\"\(escape)\"}") } == expected)
            }
            #expect(message { _ = try open(#"{"a":"t.safetensors"}"#) } == place + "its shard \"t.safetensors\" is missing from the folder")
            #expect(message { _ = try open(#"{"a":"s.safetensors","b":"s.safetensors"}"#) }
                == "\(index.path), tensor \"b\": is not in its shard \"s.safetensors\"")
            #expect(message { _ = try open(#"{"a":1}"#) } == place + "its shard is a number, not a file name")
            #expect(message { _ = try open("[]") }.contains("no object \"weight_map\""))
            #expect(message { _ = try open("{") }.contains("byte 16: invalid JSON"))
            try FileManager.default.removeItem(at: index)
            #expect(message { _ = try WeightFiles(contentsOf: folder) }.contains("neither model.safetensors nor"))
            #expect(message { _ = try WeightFiles(contentsOf: index) }.contains("no such file"))
        }
    }

    @Test func failedWritesLeaveNothing() throws {
        try Fixtures.withTemporaryFolder { folder in
            let tensor = try Tensor(integers: [1], shape: [1])
            let url = folder.appendingPathComponent("x")
            try Data("old".utf8).write(to: url)
            #expect(throws: SafetensorsError.self) { try SafetensorsWriter.write([("a", tensor), ("a", tensor)], to: url) }
            #expect(throws: SafetensorsError.self) { try SafetensorsWriter.write([("__metadata__", tensor)], to: url) }
            struct Interrupted: Error {}
            #expect(throws: Interrupted.self) {
                try AtomicFile.write(to: url) { file in
                    try file.write([1, 2, 3])
                    throw Interrupted()
                }
            }
            #expect(try Data(contentsOf: url) == Data("old".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["x"])
            #expect(message { try SafetensorsWriter.write([], to: folder) } == "\(folder.path): is a folder, not a file")
            #expect(message { try SafetensorsWriter.write([], to: URL(fileURLWithPath: "/dev/null")) } == "/dev/null: is not a regular file")
            let missing = folder.appendingPathComponent("no/x")
            #expect(message { try SafetensorsWriter.write([], to: missing) } == "\(missing.path): cannot be written: no such file or directory")
        }
    }

    @Test func fuzzedHeaders() throws {
        var samples = Self.hostileHeaders.map { file($0.header, data: $0.data) }
        samples.append(file(#"{"__metadata__":{"a":"b"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}"#, data: 9))
        var fuzzer = Fuzzer(samples: samples)
        var opened = 0
        let count = try fuzzer.run { bytes in
            do {
                let file = try open(bytes)
                for entry in file.entries { #expect(try file.tensor(named: entry.name).byteCount == entry.bytes.count) }
                opened += 1
            } catch is SafetensorsError {}
        }
        #expect(count > 0 && opened <= count)
    }
}
