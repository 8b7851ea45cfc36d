import Foundation

@testable import Tokenizers

/// Reads the tokenizer of a GGUF file for the vectors: only what those files have, and nothing about tensors.
struct GGUFMetadata {
    enum Value {
        case integer(Int)
        case number(Double)
        case bool(Bool)
        case text([UInt8])
        case texts([[UInt8]])
        case numbers([Double])
    }

    struct Malformed: Error {}

    private(set) var values: [String: Value] = [:]
    private let data: Data
    private var position = 0

    init(contentsOf url: URL) throws {
        data = try Data(contentsOf: url, options: .mappedIfSafe)
        guard try take(4).elementsEqual("GGUF".utf8) else { throw Malformed() }
        _ = try number(UInt32.self)
        _ = try number(UInt64.self)
        for _ in 0..<Int(try number(UInt64.self)) {
            let key = String(decoding: try text(), as: UTF8.self)
            values[key] = try value(type: try number(UInt32.self))
        }
    }

    private mutating func take(_ count: Int) throws -> Data {
        guard count >= 0, position <= data.count - count else { throw Malformed() }
        defer { position += count }
        return data.subdata(in: position..<(position + count))
    }

    private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try take(MemoryLayout<Number>.size).withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
    }

    private mutating func text() throws -> [UInt8] { Array(try take(Int(try number(UInt64.self)))) }

    private mutating func value(type: UInt32) throws -> Value {
        switch type {
        case 0: .integer(Int(try number(UInt8.self)))
        case 1: .integer(Int(try number(Int8.self)))
        case 2: .integer(Int(try number(UInt16.self)))
        case 3: .integer(Int(try number(Int16.self)))
        case 4: .integer(Int(try number(UInt32.self)))
        case 5: .integer(Int(try number(Int32.self)))
        case 6: .number(Double(Float(bitPattern: try number(UInt32.self))))
        case 7: .bool(try number(UInt8.self) != 0)
        case 8: .text(try text())
        case 9: try array(type: try number(UInt32.self), count: Int(try number(UInt64.self)))
        case 10: .integer(Int(try number(UInt64.self)))
        case 11: .integer(Int(try number(Int64.self)))
        case 12: .number(Double(bitPattern: try number(UInt64.self)))
        default: throw Malformed()
        }
    }

    private mutating func array(type: UInt32, count: Int) throws -> Value {
        if type == 8 { return .texts(try (0..<count).map { _ in try text() }) }
        return .numbers(
            try (0..<count).map { _ in
                switch try value(type: type) {
                case .integer(let integer): Double(integer)
                case .number(let number): number
                case .bool(let bool): bool ? 1 : 0
                default: throw Malformed()
                }
            })
    }

    /// The vocabulary of the file.
    func vocabulary() throws -> GGUFVocabulary {
        func string(_ key: String) -> String? {
            if case .text(let text)? = values[key] { String(decoding: text, as: UTF8.self) } else { nil }
        }
        func integer(_ key: String) -> Int? { if case .integer(let integer)? = values["tokenizer.ggml." + key] { integer } else { nil } }
        func bool(_ key: String) -> Bool? { if case .bool(let bool)? = values["tokenizer.ggml." + key] { bool } else { nil } }
        func texts(_ key: String) -> [[UInt8]] { if case .texts(let texts)? = values["tokenizer.ggml." + key] { texts } else { [] } }
        func numbers(_ key: String) -> [Double] { if case .numbers(let numbers)? = values["tokenizer.ggml." + key] { numbers } else { [] } }
        guard let model = string("tokenizer.ggml.model") else { throw Malformed() }
        var result = GGUFVocabulary(model: model, tokens: texts("tokens"))
        result.pre = string("tokenizer.ggml.pre")
        result.scores = numbers("scores").map { Float($0) }
        result.types = numbers("token_type").map { Int32($0) }
        result.merges = texts("merges")
        result.charsmap = numbers("precompiled_charsmap").map { UInt8(truncatingIfNeeded: Int($0)) }
        result.bosID = integer("bos_token_id")
        result.eosID = integer("eos_token_id")
        result.eotID = integer("eot_token_id")
        result.eomID = integer("eom_token_id")
        result.unknownID = integer("unknown_token_id")
        result.separatorID = integer("seperator_token_id")
        result.paddingID = integer("padding_token_id")
        result.maskID = integer("mask_token_id")
        result.addsBOS = bool("add_bos_token")
        result.addsEOS = bool("add_eos_token")
        result.addsSeparator = bool("add_sep_token")
        result.addsSpacePrefix = bool("add_space_prefix")
        result.removesExtraWhitespace = bool("remove_extra_whitespaces")
        result.chatTemplate = string("tokenizer.chat_template")
        result.modelName = string("general.name")
        result.architecture = string("general.architecture")
        return result
    }
}
