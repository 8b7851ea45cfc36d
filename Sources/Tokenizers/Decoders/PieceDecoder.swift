/// Joins tokens that are bytes of the text already, as llama.cpp does: may drop a space at the start and undo the spaces
/// before some punctuation marks. What is not valid UTF-8 becomes U+FFFD.
struct PieceDecoder: Decoder {
    static let typeName = "Pieces"
    private let stripsFirstSpace: Bool
    private let cleansSpaces: Bool

    init(_ json: ComponentJSON) throws {
        stripsFirstSpace = try json.bool("strips_first_space")
        cleansSpaces = try json.bool("cleans_spaces")
    }

    func stage(next: DecoderSink) -> DecoderSink {
        PieceStage(next: next, stripsFirstSpace: stripsFirstSpace, cleansSpaces: cleansSpaces)
    }
}

private final class PieceStage: DecoderSink {
    private let next: DecoderSink
    private var stripsSpace: Bool
    private let cleansSpaces: Bool
    /// Text that the clean-up may still change.
    private var held: [UInt8] = []
    private var decoder = LossyDecoder()

    init(next: DecoderSink, stripsFirstSpace: Bool, cleansSpaces: Bool) {
        self.next = next
        stripsSpace = stripsFirstSpace
        self.cleansSpaces = cleansSpaces
    }

    override func fail(_ error: any Error) { next.fail(error) }

    override func write(_ bytes: [UInt8]) { held += bytes }

    override func endToken() {
        if stripsSpace, let first = held.first {
            if first == 0x20 { held.removeFirst() }
            stripsSpace = false
        }
        // The clean-up looks for a space and up to three bytes after it.
        if cleansSpaces, held.suffix(3).contains(0x20) { return }
        flush()
    }

    private func flush() {
        var output: [UInt8] = []
        for byte in cleansSpaces ? SpaceCleanUp.cleaned(held) : held { decoder.push(byte, into: &output) }
        held.removeAll(keepingCapacity: true)
        next.write(output)
    }

    override func finish() {
        flush()
        var output: [UInt8] = []
        decoder.finish(into: &output)
        next.write(output)
        next.endToken()
        next.finish()
    }
}

/// The clean-up of spaces that old tokenizers left behind: `" ?"` `" !"` `" ."` `" ,"`, then `" ' "`, then `" 's"` `" 'm"` `" 're"`
/// `" 've"` lose their spaces. Each of the three is a walk of its own.
enum SpaceCleanUp {
    static func cleaned(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(0x20) else { return text }
        let marks = withoutSpaces(text) { text, space in
            guard space + 1 < text.count else { return false }
            switch text[space + 1] {
            case 0x21, 0x2C, 0x2E, 0x3F: return true
            default: return false
            }
        }
        let quotes = withoutLoneApostrophes(marks)
        return withoutSpaces(quotes) { text, space in
            guard space + 2 < text.count, text[space + 1] == 0x27 else { return false }
            switch text[space + 2] {
            case 0x73, 0x6D: return true  // 's 'm
            case 0x72, 0x76: return space + 3 < text.count && text[space + 3] == 0x65  // 're 've
            default: return false
            }
        }
    }

    /// Leaves out the spaces for which `drops` holds.
    private static func withoutSpaces(_ text: [UInt8], _ drops: (_ text: [UInt8], _ space: Int) -> Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        for (index, byte) in text.enumerated() where byte != 0x20 || !drops(text, index) { output.append(byte) }
        return output
    }

    private static func withoutLoneApostrophes(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if index + 2 < text.count, text[index] == 0x20, text[index + 1] == 0x27, text[index + 2] == 0x20 {
                output.append(0x27)
                index += 3
            } else {
                output.append(text[index])
                index += 1
            }
        }
        return output
    }
}
