import Architectures
import Foundation
import GraphIR
import Operators
import TestSupport
import Tensors
import Testing

@testable import GGUFConverter

private func file(_ bytes: [UInt8]) throws -> GGUFFile {
    try GGUFFile(storage: Storage(byteCount: bytes.count) { $0.copyBytes(from: bytes) }, path: "f")
}

private func message(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "no error"
    } catch {
        return "\(error)"
    }
}

/// Files that are damaged or made to do damage: each is refused in one line.
@Suite struct GGUFHostileTests {
    private static func make(
        version: UInt32 = 3, tensors: UInt64 = 0, values: UInt64 = 0, _ fill: (inout GGUFBytes) -> Void = { _ in }
    ) -> [UInt8] {
        var bytes = GGUFBytes(version: version, tensors: tensors, values: values)
        fill(&bytes)
        return bytes.bytes
    }

    static let refused: [(bytes: [UInt8], message: String)] = [
        ([], "f, byte 0: not a GGUF file: it does not begin with the letters GGUF"),
        (Array("GGUX".utf8), "f, byte 0: not a GGUF file: it does not begin with the letters GGUF"),
        (Array("GGUF".utf8), "f, byte 4: the file ends within the version: it is cut off or damaged"),
        (make(version: 1), "f, byte 4: version 1 of GGUF is not read; convert the model again with a current program"),
        (make(version: 4), "f, byte 4: version 4 of GGUF is not known, known are 2 and 3"),
        (make(version: UInt32(3).bigEndian, tensors: 1), "f, byte 4: the file is big-endian, which is not read; convert the model for little-endian machines"),
        (make(tensors: .max), "f, byte 8: 18446744073709551615 tensors do not fit in the 8 bytes that follow: the file is cut off or damaged"),
        (make(tensors: 1), "f, byte 8: 1 tensors do not fit in the 8 bytes that follow: the file is cut off or damaged"),
        (make(values: 1 << 62), "f, byte 16: 4611686018427387904 metadata values do not fit in the 0 bytes that follow: the file is cut off or damaged"),
        (make(values: 1) { $0.add(UInt64.max); $0.add(UInt64.max) },
            "f, byte 24: 18446744073709551615 bytes of a metadata key do not fit in the 8 bytes that follow: the file is cut off or damaged"),
        (make(values: 1) { $0.add(UInt64(2)); $0.add(raw: [0xC3, 0x28]); $0.add(UInt64(0)) }, "f, byte 24: a metadata key is not valid UTF-8"),
        (make(values: 1) { $0.value("k", type: 13); $0.add(UInt64(0)) }, #"f, byte 33: "k" has the unknown type 13, known are 0 to 12"#),
        (make(values: 1) { $0.value("k\n", type: 6) }, #"f, byte 38: the file ends within "k\n": it is cut off or damaged"#),
        (make(values: 1) { $0.value("k", type: 7); $0.add(UInt8(2)) }, #"f, byte 37: "k" is the boolean 2, expected 0 or 1"#),
        (make(values: 2) { $0.integer("k", 1); $0.integer("k", 2) }, #"f, byte 41: the key "k" stands twice"#),
        (make(values: 1) { $0.value("k", type: 9); $0.add(UInt32(10)); $0.add(UInt64(1) << 61) },
            #"f, byte 41: 2305843009213693952 elements of "k" do not fit in the 0 bytes that follow: the file is cut off or damaged"#),
        (make(values: 1) { $0.value("k", type: 9); $0.add(UInt32(8)); $0.add(UInt64(1)); $0.add(UInt64(9)) },
            #"f, byte 49: 9 bytes of "k" do not fit in the 0 bytes that follow: the file is cut off or damaged"#),
        (make(values: 1) { bytes in
            bytes.value("k", type: 9)
            for _ in 0..<64 {
                bytes.add(UInt32(9))
                bytes.add(UInt64(1))
            }
        }, #"f, byte 85: "k" has arrays within arrays, more than 4 deep"#),
        (make(values: 1) { $0.integer("general.alignment", 0) }, #"f, key "general.alignment": is no power of two up to 1048576"#),
        (make(values: 1) { $0.integer("general.alignment", 48) }, #"f, key "general.alignment": is no power of two up to 1048576"#),
        (make(values: 1) { $0.string("general.alignment", "32") }, #"f, key "general.alignment": is no power of two up to 1048576"#),
        (make(tensors: 1) { $0.tensor("t", [1, 1, 1, 1, 1], type: 0, offset: 0) },
            #"f, byte 33: the tensor "t" has 5 dimensions, at most 4 are allowed"#),
        (make(tensors: 1) { $0.tensor("t", [.max], type: 0, offset: 0) }, #"f, byte 37: the tensor "t" has a dimension of 18446744073709551615"#),
        (make(tensors: 1) { $0.tensor("t", [1 << 40, 1 << 40], type: 0, offset: 0) },
            #"f, tensor "t": shape [1099511627776, 1099511627776] has too many elements"#),
        (make(tensors: 1) { $0.tensor("t", [33, 2], type: 8, offset: 0) },
            #"f, tensor "t": a tensor of type q8_0 and shape [2, 33]: its last dimension must be a multiple of 32"#),
        (make(tensors: 1) { $0.tensor("t", [4], type: 0, offset: 0) },
            #"f, tensor "t": its 16 bytes at offset 0 of the data lie beyond the end of the file: it is cut off or damaged"#),
        (make(tensors: 1) { $0.tensor("t", [4], type: 0, offset: 32); $0.data(40) },
            #"f, tensor "t": its 16 bytes at offset 32 of the data lie beyond the end of the file: it is cut off or damaged"#),
        (make(tensors: 1) { $0.tensor("t", [4], type: 0, offset: 1 << 63); $0.data(40) },
            #"f, tensor "t": its 16 bytes at offset 9223372036854775808 of the data lie beyond the end of the file: it is cut off or damaged"#),
        (make(tensors: 1) { $0.tensor("t", [4], type: 0, offset: 8); $0.data(40) }, #"f, tensor "t": its offset 8 is no multiple of the alignment 32"#),
        (make(tensors: 2) { $0.tensor("t", [4], type: 0, offset: 0); $0.tensor("t", [4], type: 0, offset: 0); $0.data(40) },
            #"f, byte 57: the tensor "t" stands twice"#),
        (make(tensors: 2) { $0.tensor("t", [16], type: 0, offset: 0); $0.tensor("u", [4], type: 0, offset: 32); $0.data(64) },
            #"f, tensor "u": its data overlap those of tensor "t""#),
    ]

    @Test(arguments: 0..<refused.count)
    func damagedFiles(_ index: Int) {
        let (bytes, expected) = Self.refused[index]
        #expect(message { _ = try file(bytes) } == expected)
    }

    @Test func olderVersionAndOtherAlignment() throws {
        let bytes = Self.make(version: 2, tensors: 1, values: 1) {
            $0.integer("general.alignment", 8)
            $0.tensor("t", [2, 3], type: 0, offset: 8)
            $0.data(32, alignment: 8)
        }
        let file = try file(bytes)
        #expect(file.version == 2 && file.entry(named: "t")?.shape == [3, 2])
        #expect(try file.tensor(named: "t").floats() == [0, 0, 0, 0, 0, 0])
        #expect(message { _ = try file.tensor(named: "u") } == #"f, tensor "u": does not exist; the file has 1 tensors"#)
    }

    private static func issues(_ bytes: [UInt8]) throws -> [String] { try GGUFImporter.build(file(bytes), length: nil).issues.map { "\($0)" } }

    /// Everything in the way is told at once.
    @Test func whatDoesNotConvert() throws {
        #expect(try Self.issues(Self.make()) == ["f: general.architecture is missing or no string, known are llama, gpt2, gptneox, qwen2, qwen3, gemma2, gemma3, phi3"])
        let other = Self.make(tensors: 3, values: 1) {
            $0.string("general.architecture", "mamba\n")
            for name in ["a", "b", "c"] { $0.tensor(name, [256], type: name == "c" ? 77 : 10, offset: 0) }
            $0.data(0)
        }
        let found = try Self.issues(other)
        #expect(found.count == 3)
        #expect(found.first == #"f: 2 tensors are stored as Q2_K, read are F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, I8, I16, I32, I64, F64, BF16: "a", "b""#)
        #expect(found[1].hasPrefix("f: 1 tensor is stored as type 77, read are"))
        #expect(found[2].hasPrefix(#"f: general.architecture is "mamba\n", known are llama, "#))
        let empty = try Self.issues(Self.make(values: 3) {
            $0.string("general.architecture", "llama")
            $0.string("llama.block_count", "2")
            $0.integer("llama.expert_count", 8)
        })
        #expect(empty.contains(#"f: key "llama.block_count" is a string, expected an integer"#))
        #expect(empty.contains(#"f: key "llama.embedding_length" is missing"#))
        #expect(empty.contains(#"f: key "llama.expert_count" is 8: mixtures of experts are not supported"#))
        // Sizes without tensors.
        let bare = try Self.issues(Self.make(values: 7) {
            $0.string("general.architecture", "llama")
            for key in ["context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"] {
                $0.integer("llama.\(key)", ["block_count": 1, "attention.head_count": 4][key] ?? 32)
            }
            $0.value("llama.attention.layer_norm_rms_epsilon", type: 6)
            $0.add(Float(1e-5).bitPattern)
        })
        #expect(bare == ["f: vocab_size is missing"])
    }

    /// Any damage to a file either leaves one that converts or is reported; nothing traps.
    @Test func fuzzedFiles() throws {
        let samples = try ["llama", "gpt2", "phi3"].map { name -> [UInt8] in
            Array(try Data(contentsOf: GGUFReferenceTests.folder.appendingPathComponent("\(name).gguf")).prefix(20_000))
        } + Self.refused.map(\.bytes).filter { $0.count > 24 }
        var fuzzer = Fuzzer(samples: samples)
        try fuzzer.run { bytes in
            // A cut file keeps its header: zeros in the place of the tensors' data.
            for padding in [0, 120_000] {
                do {
                    let file = try file(bytes + [UInt8](repeating: 0, count: padding))
                    for (_, value) in file.metadata {
                        guard let array = value.arrayValue else { continue }
                        _ = (try? array.strings().count, try? array.byteStrings().count, try? array.integers().count, try? array.floats().count)
                    }
                    for tensor in file.tensors { _ = try? file.tensor(named: tensor.name).count }
                    let (conversion, issues) = try GGUFImporter.build(file, length: nil)
                    #expect((conversion == nil) == !issues.isEmpty)
                    try conversion?.graph.verify()
                } catch let error as GGUFError {
                    #expect(!error.description.contains("\n"))
                } catch is OperatorError {
                } catch is CheckpointIssue {
                } catch is TensorError {
                }
            }
        }
    }
}
