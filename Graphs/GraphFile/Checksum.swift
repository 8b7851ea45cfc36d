import CXXHash

/// XXH3 with 64 bits (https://xxhash.com): finds damage at the speed of memory. It is no protection against forgery.
struct Checksum: Hashable {
    let value: UInt64

    init(_ bytes: UnsafeRawBufferPointer) { value = XXH3_64bits(bytes.baseAddress, bytes.count) }

    /// 16 hexadecimal digits.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
