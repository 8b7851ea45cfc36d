import CXXHash

/// Names the contents of a source file in the provenance.
public enum ContentHash {
    /// XXH3 with 128 bits as 32 hexadecimal digits: what `xxhsum -H128` prints.
    public static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
        return [hash.high64, hash.low64].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}
