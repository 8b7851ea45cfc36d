import Foundation
import GraphFile
import GraphIR
import JSON
import Operators
import Tensors
import TestSupport
import Tokenizers

@testable import Tasks

/// A language model of random weights over bytes: one layer of attention and a tokenizer of 256 bytes and an end token.
enum ToyModel {
    static let endToken = 256
    static let context = 48

    static func graph(isCached: Bool = true) throws -> Graph {
        let (vocabulary, heads, shared, width) = (257, 4, 2, 8)
        var random = SeededRandom(seed: 9)
        func table(_ shape: [Int], _ scale: Float) throws -> Tensor {
            try Tensor(floats: (0..<shape.reduce(1, *)).map { _ in random.float() * scale }, shape: shape)
        }
        var builder = GraphBuilder(name: "toy")
        let type = TensorType(.i64, [.symbol("batch"), .symbol("sequence")])
        let ids = builder.input("input_ids", type)
        let mask = builder.input("attention_mask", type, default: .ones)
        let positions = try builder.apply(CachePositions(), ids, mask)
        let frequencies = builder.constant(try Tensor(floats: (0..<width / 2).map { 1 / Float(1 + 3 * $0) }, shape: [width / 2]), name: "frequencies")
        func operand(_ heads: Int, _ name: String) throws -> ValueID {
            try builder.apply(Gather(axis: 0), builder.constant(table([vocabulary, heads, width], 2), name: name), ids)
        }
        let q = try builder.apply(RotaryEmbedding(), operand(heads, "q"), positions, frequencies)
        let k = try builder.apply(RotaryEmbedding(), operand(shared, "k"), positions, frequencies)
        let attended = try builder.apply(CachedAttention(slot: 0, scale: 0.5), q, k, operand(shared, "v"), mask)
        let shape = builder.constant(try Tensor(integers: [0, 0, Int64(heads * width)], shape: [3]), name: "shape")
        let hidden = try builder.apply(Reshape(zeroCopies: true), attended, shape)
        let head = builder.constant(try table([vocabulary, heads * width], 2), name: "head")
        builder.output("logits", try builder.apply(Linear(layout: .output_input), hidden, head))
        return builder.graph
    }

    /// Byte-level BPE without merges.
    static func tokenizer() throws -> Tokenizer {
        // GPT-2 shows bytes as characters; its printable ones stand for themselves.
        var characters: [Unicode.Scalar] = []
        var next: UInt32 = 256
        for byte in UInt32(0)..<256 {
            let isPrintable = (33...126).contains(byte) || (161...172).contains(byte) || (174...255).contains(byte)
            characters.append(Unicode.Scalar(isPrintable ? byte : next) ?? " ")
            if !isPrintable { next += 1 }
        }
        let vocabulary = characters.enumerated().map { JSONMember(key: String(Character($1)), value: .integer($0)) }
        let json: JSONValue = [
            "version": "1.0", "added_tokens": [["id": 256, "content": "<end>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false]],
            "pre_tokenizer": ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true],
            "decoder": ["type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true],
            "model": ["type": "BPE", "vocab": .object(vocabulary), "merges": []],
        ]
        return try Tokenizer(tokenizerJSON: Data(json.text.utf8))
    }

    static func load(threads: Int? = nil, hasTokenizer: Bool = true, contextLength: Int? = nil, change: (inout ModelDescription) -> Void = { _ in }) throws -> LanguageModel {
        try Fixtures.withTemporaryFolder { folder in
            let url = folder.appendingPathComponent("toy.graph")
            var description = ModelDescription(task: .generation)
            description.output = "logits"
            description.inputs = .init()
            var settings = GenerationSettings()
            settings.endTokens = [endToken]
            settings.contextLength = context
            description.generation = settings
            change(&description)
            try GraphFile.write(
                graph: graph(), description: description, provenance: Provenance(sources: [], format: "test", converterVersion: "0"),
                tokenizer: hasTokenizer ? tokenizer().compiled() : nil, to: url)
            return try LanguageModel(contentsOf: url, threads: threads, contextLength: contextLength)
        }
    }
}
