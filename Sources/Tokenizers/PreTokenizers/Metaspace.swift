/// SentencePiece's treatment of spaces: a space becomes a visible mark, and a mark may be put in front.
struct Metaspace: PreTokenizer, Decoder {
    static let typeName = "Metaspace"

    enum PrependScheme: String {
        case always, first, never
    }

    private let replacement: UInt32
    private let mark: [UInt8]
    private let scheme: PrependScheme
    private let splits: Bool

    init(_ json: ComponentJSON) throws {
        replacement = try json.scalar("replacement")
        mark = try json.bytes("replacement")
        // Older files have add_prefix_space in place of prepend_scheme.
        let addsPrefix = try json.bool("add_prefix_space", default: true)
        if json.value["prepend_scheme"] != nil {
            scheme = try json.choice("prepend_scheme", of: PrependScheme.self)
            if !addsPrefix, scheme != .never {
                throw json.invalid("add_prefix_space", "contradicts prepend_scheme")
            }
        } else {
            scheme = addsPrefix ? .always : .never
        }
        splits = try json.bool("split", default: true)
    }

    func preTokenize(_ buffer: inout PieceBuffer) throws {
        let old = buffer
        try buffer.rewrite { piece, bytes, writer in
            guard bytes.count > 0 else { return }
            let begins = bytes[0] == 0x20 || bytes.starts(with: mark)
            if !begins, scheme == .always || (scheme == .first && piece.originalStart == 0) {
                let span = old.span(at: piece.start)
                for byte in mark { writer.append(byte, span) }
            }
            for index in 0..<bytes.count {
                let span = old.span(at: piece.start + index)
                if bytes[index] == 0x20 {
                    for byte in mark { writer.append(byte, span) }
                } else {
                    writer.append(bytes[index], span)
                }
            }
        }
        guard splits else { return }
        try buffer.split(.mergedWithNext, scalars: { $0 == replacement })
    }

    func stage(next: DecoderSink) -> DecoderSink {
        let dropsFirst = scheme != .never
        return TokenStage(next: next) { token, index, emit in
            var output: [UInt8] = []
            var position = 0
            token.withUnsafeBufferPointer { bytes in
                while position < bytes.count {
                    let (scalar, length) = UTF8Bytes.scalar(bytes, at: position)
                    if scalar == replacement {
                        if index > 0 || !dropsFirst { output.append(0x20) }
                    } else {
                        output.append(contentsOf: bytes[position..<(position + length)])
                    }
                    position += length
                }
            }
            emit(output)
        }
    }
}
