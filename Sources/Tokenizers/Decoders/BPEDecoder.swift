/// Joins tokens that mark the end of a word by a suffix: the suffix becomes a space, in the last token nothing.
struct BPEDecoder: Decoder {
    static let typeName = "BPEDecoder"
    private let suffix: [UInt8]

    init(_ json: ComponentJSON) throws { suffix = try json.optionalBytes("suffix") ?? Array("</w>".utf8) }

    func stage(next: DecoderSink) -> DecoderSink {
        // A token waits until it is known whether it is the last one.
        var waiting: [UInt8]?
        return TokenStage(
            next: next,
            end: { emit in if let last = waiting { emit(last.replacing(suffix, with: [])) } }
        ) { token, _, emit in
            if let before = waiting { emit(before.replacing(suffix, with: [0x20])) }
            waiting = token
        }
    }
}
