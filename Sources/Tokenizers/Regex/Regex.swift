import CPCRE2

/// A compiled pattern of the tokenizer file. The text of every call must be valid UTF-8.
///
/// The compiled code and the match context are only read after `init`, so one value serves all threads.
final class Regex: @unchecked Sendable {
    /// The pattern as the file has it.
    let source: String
    private let code: OpaquePointer
    private let context: OpaquePointer

    /// Compiles an Oniguruma (Ruby syntax) pattern.
    init(oniguruma pattern: [UInt8], path: String) throws {
        source = String(decoding: pattern, as: UTF8.self)
        let translated = try OnigurumaTranslator.translate(pattern, path: path)
        var errorCode: Int32 = 0
        var errorOffset = 0
        let options = UInt32(PCRE2_UTF) | UInt32(PCRE2_MULTILINE) | UInt32(PCRE2_NEVER_BACKSLASH_C)
        let compiled = translated.withUnsafeBufferPointer {
            pcre2_compile_8($0.baseAddress, $0.count, options, &errorCode, &errorOffset, nil)
        }
        guard let compiled else {
            throw TokenizerError.invalid(path: path, reason: "the pattern does not compile: \(Self.message(errorCode))")
        }
        guard let context = pcre2_match_context_create_8(nil) else {
            pcre2_code_free_8(compiled)
            throw TokenizerError.invalid(path: path, reason: "no memory for the pattern")
        }
        code = compiled
        self.context = context
        pcre2_set_match_limit_8(context, 5_000_000)
        pcre2_set_heap_limit_8(context, 256 * 1024)  // KiB
        // Without JIT support matching is slower but the same.
        pcre2_jit_compile_8(code, UInt32(PCRE2_JIT_COMPLETE))
    }

    deinit {
        pcre2_match_context_free_8(context)
        pcre2_code_free_8(code)
    }

    private static func message(_ errorCode: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 128)
        let length = pcre2_get_error_message_8(errorCode, &buffer, buffer.count)
        return length > 0 ? String(decoding: buffer[0..<Int(length)], as: UTF8.self) : "error \(errorCode)"
    }

    /// Calls `found` with each match, from left to right. An empty match right after a match is skipped.
    func forEachMatch(in text: UnsafeBufferPointer<UInt8>, _ found: (_ start: Int, _ end: Int) -> Void) throws {
        guard let base = text.baseAddress, let data = pcre2_match_data_create_8(1, nil) else {
            if text.isEmpty { return }
            throw TokenizerError.patternLimit(pattern: source)
        }
        defer { pcre2_match_data_free_8(data) }
        guard let vector = pcre2_get_ovector_pointer_8(data) else { return }
        var from = 0
        var lastEnd = -1
        while from <= text.count {
            var result = pcre2_match_8(code, base, text.count, from, UInt32(PCRE2_NO_UTF_CHECK), data, context)
            if result == PCRE2_ERROR_JIT_STACKLIMIT {
                result = pcre2_match_8(
                    code, base, text.count, from, UInt32(PCRE2_NO_UTF_CHECK) | UInt32(PCRE2_NO_JIT), data, context)
            }
            if result == PCRE2_ERROR_NOMATCH { return }
            guard result >= 0 else { throw TokenizerError.patternLimit(pattern: source) }
            let start = vector[0]
            let end = vector[1]
            guard start <= end, end <= text.count, end >= from else { throw TokenizerError.patternLimit(pattern: source) }
            if start == end, end == lastEnd {
                from += UTF8Bytes.scalar(text, at: from).length
                continue
            }
            found(start, end)
            from = end
            lastEnd = end
        }
    }
}

/// What `Split` and `Replace` look for.
enum TextPattern: Sendable {
    case literal([UInt8])
    case regex(Regex)

    /// Appends matches and the stretches between them; together they cover the text.
    func matches(in text: UnsafeBufferPointer<UInt8>, into matches: inout [Match]) throws {
        switch self {
        case .literal(let literal): Self.literalMatches(literal, in: text, into: &matches)
        case .regex(let regex):
            try Self.fill(&matches, text.count) { found in try regex.forEachMatch(in: text, found) }
        }
    }

    /// Refuses a replacement that would blow a text up: patterns come from a file.
    static func checkGrowth(_ matches: [Match], of count: Int, _ content: [UInt8]) throws {
        let number = matches.reduce(0) { $0 + ($1.isMatch ? 1 : 0) }
        let (added, overflow) = number.multipliedReportingOverflow(by: content.count)
        guard !overflow, added <= 1 << 28 || added <= count * 4 else {
            throw TokenizerError.input(reason: "a replacement of the tokenizer would make the text \(number) times \(content.count) bytes long")
        }
    }

    static func literalMatches(_ literal: [UInt8], in text: UnsafeBufferPointer<UInt8>, into matches: inout [Match]) {
        fill(&matches, text.count) { found in forEachLiteral(literal, in: text, found) }
    }

    /// Appends what `search` finds and the stretches between. In an empty text nothing is found.
    private static func fill(
        _ matches: inout [Match], _ count: Int, _ search: ((_ start: Int, _ end: Int) -> Void) throws -> Void
    ) rethrows {
        guard count > 0 else { return }
        var previous = 0
        try search { start, end in
            if previous != start { matches.append(Match(previous, start, false)) }
            matches.append(Match(start, end, true))
            previous = end
        }
        if previous != count { matches.append(Match(previous, count, false)) }
    }

    func matches(in text: [UInt8]) throws -> [Match] {
        var matches: [Match] = []
        try text.withUnsafeBufferPointer { try self.matches(in: $0, into: &matches) }
        return matches
    }

    private static func forEachLiteral(
        _ literal: [UInt8], in text: UnsafeBufferPointer<UInt8>, _ found: (Int, Int) -> Void
    ) {
        guard let first = literal.first else {
            // The empty pattern matches before every scalar and at the end.
            var index = 0
            while index < text.count {
                found(index, index)
                index += UTF8Bytes.scalar(text, at: index).length
            }
            found(text.count, text.count)
            return
        }
        var index = 0
        while index + literal.count <= text.count {
            if text[index] == first, (1..<literal.count).allSatisfy({ text[index + $0] == literal[$0] }) {
                found(index, index + literal.count)
                index += literal.count
            } else {
                index += 1
            }
        }
    }
}
