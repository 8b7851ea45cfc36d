import Foundation

/// SentencePiece's compiled normalization rules: what replaces which prefix of a text.
///
/// The bytes: 32-bit length of the trie in bytes, a darts-clone double array, then the replacement strings, each ended
/// by a zero byte.
struct Charsmap: Sendable {
    private let trie: ByteView
    private let strings: ByteView

    /// The charsmap under `key`: base64, or `@n` for number n of the compiled tokenizer.
    init(_ json: ComponentJSON, _ key: String) throws {
        let text = try json.bytes(key)
        let data: ByteView
        if text.first == 0x40 {
            guard let index = Int(String(decoding: text.dropFirst(), as: UTF8.self)), json.blobs.indices.contains(index) else {
                throw json.invalid(key, "no such section")
            }
            data = json.blobs[index]
        } else {
            guard let decoded = Data(base64Encoded: Data(text)), let view = ByteView(copying: Array(decoded)) else {
                throw json.invalid(key, "not base64")
            }
            data = view
        }
        let trieSize = Int(data.uint32(0))
        guard data.count >= 4, trieSize % 4 == 0, trieSize >= 4, trieSize <= data.count - 4,
            let trie = data.part(offset: 4, count: trieSize),
            let strings = data.part(offset: 4 + trieSize, count: data.count - 4 - trieSize),
            let all = strings.bytes(offset: 0, count: strings.count), UTF8Bytes.firstInvalid(all) == nil
        else { throw json.invalid(key, "damaged") }
        self.trie = trie
        self.strings = strings
    }

    /// What replaces the shortest, or the longest, prefix of `text` that has a rule, and that prefix's length; nil when none has.
    func replacement(
        of text: UnsafeBufferPointer<UInt8>, longest: Bool
    ) -> (replacement: UnsafeBufferPointer<UInt8>, length: Int)? {
        func offset(_ unit: UInt32) -> Int { Int((unit >> 10) << ((unit & 1 << 9) >> 6)) }
        let limit = trie.count / 4
        var node = offset(trie.uint32(0))
        var found: (UnsafeBufferPointer<UInt8>, Int)?
        for (index, byte) in text.enumerated() {
            if byte == 0 { break }
            node ^= Int(byte)
            guard node < limit else { break }
            let unit = trie.uint32(node)
            guard unit & (1 << 31 | 0xFF) == UInt32(byte) else { break }
            node ^= offset(unit)
            guard node < limit else { break }
            if unit >> 8 & 1 == 1 {
                let start = Int(trie.uint32(node) & 0x7FFF_FFFF)
                guard start <= strings.count, let rest = strings.bytes(offset: start, count: strings.count - start) else { break }
                found = (UnsafeBufferPointer(rebasing: rest.prefix(while: { $0 != 0 })), index + 1)
                if !longest { break }
            }
        }
        return found
    }
}
