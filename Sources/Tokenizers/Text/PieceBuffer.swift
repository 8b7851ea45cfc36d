/// One piece of a text on its way through the pre-tokenizers: a range of the buffer's bytes.
struct Piece: Sendable {
    var start: Int
    var end: Int
    /// Where the piece begins in the original text.
    var originalStart: Int
    /// The id when the piece is an added token (it is then final), else nil.
    var token: UInt32?
}

/// A normalized text cut into pieces. Pre-tokenizers cut the pieces further, and some rewrite their bytes.
struct PieceBuffer {
    var bytes: [UInt8]
    var spans: [Span]?
    let original: [UInt8]
    var pieces: [Piece]

    /// Takes over one text as one piece.
    init(_ text: NormalizedText) {
        original = text.original
        bytes = text.bytes
        spans = text.base == 0 ? text.spans : text.explicitSpans()
        pieces = text.bytes.isEmpty ? [] : [Piece(start: 0, end: text.bytes.count, originalStart: text.base)]
    }

    init(original: [UInt8]) {
        self.original = original
        bytes = []
        spans = []
        pieces = []
    }

    /// Appends a text; only for buffers made with `init(original:)`.
    mutating func append(_ text: NormalizedText) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text.bytes)
        spans?.append(contentsOf: text.explicitSpans())
        return start..<bytes.count
    }

    @inline(__always)
    func span(at index: Int) -> Span {
        if let spans { return index < spans.count ? spans[index] : Span(0, 0) }
        return NormalizedText.scalarSpan(original, at: index)
    }

    /// Cuts every piece that is not an added token. `cut` reports what to keep, in order, as ranges relative to the
    /// piece; empty ones are dropped.
    mutating func split(_ cut: (UnsafeBufferPointer<UInt8>, (_ start: Int, _ end: Int) -> Void) throws -> Void) throws {
        var result: [Piece] = []
        result.reserveCapacity(pieces.count + bytes.count / 4)
        try bytes.withUnsafeBufferPointer { buffer in
            for piece in pieces {
                if piece.token != nil {
                    result.append(piece)
                    continue
                }
                try cut(UnsafeBufferPointer(rebasing: buffer[piece.start..<piece.end])) { start, end in
                    guard start < end else { return }
                    let from = piece.start + start
                    let whole = start == 0 && piece.end - piece.start == end
                    result.append(
                        Piece(
                            start: from, end: piece.start + end,
                            originalStart: whole ? piece.originalStart : Int(span(at: from).start)))
                }
            }
        }
        pieces = result
    }

    /// Cuts by matches and a behaviour.
    mutating func split(
        _ behavior: SplitBehavior, _ find: (UnsafeBufferPointer<UInt8>, inout [Match]) throws -> Void
    ) throws {
        var matches: [Match] = []
        try split { piece, keep in
            matches.removeAll(keepingCapacity: true)
            try find(piece, &matches)
            behavior.apply(to: matches, keep)
        }
    }

    /// Rewrites the bytes of every piece that is not an added token.
    mutating func rewrite(_ body: (Piece, UnsafeBufferPointer<UInt8>, inout PieceWriter) throws -> Void) throws {
        var writer = PieceWriter(capacity: bytes.count + bytes.count / 2)
        var result: [Piece] = []
        result.reserveCapacity(pieces.count)
        try bytes.withUnsafeBufferPointer { buffer in
            for piece in pieces {
                let start = writer.bytes.count
                let slice = UnsafeBufferPointer(rebasing: buffer[piece.start..<piece.end])
                if piece.token != nil {
                    for index in 0..<slice.count { writer.append(slice[index], span(at: piece.start + index)) }
                } else {
                    try body(piece, slice, &writer)
                }
                var moved = piece
                moved.start = start
                moved.end = writer.bytes.count
                if moved.end > start { result.append(moved) }
            }
        }
        bytes = writer.bytes
        spans = writer.spans
        pieces = result
    }
}

/// The output of `PieceBuffer.rewrite`.
struct PieceWriter {
    private(set) var bytes: [UInt8] = []
    private(set) var spans: [Span] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
        spans.reserveCapacity(capacity)
    }

    @inline(__always)
    mutating func append(_ byte: UInt8, _ span: Span) {
        bytes.append(byte)
        spans.append(span)
    }
}
