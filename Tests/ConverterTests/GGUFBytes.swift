/// Writes the bytes of GGUF files, well-formed or not.
struct GGUFBytes {
    private(set) var bytes: [UInt8] = []

    init(version: UInt32 = 3, tensors: UInt64, values: UInt64) {
        bytes = Array("GGUF".utf8)
        add(version)
        add(tensors)
        add(values)
    }

    mutating func add(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) } }

    mutating func add(_ text: String) {
        add(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(raw: [UInt8]) { bytes.append(contentsOf: raw) }

    mutating func value(_ key: String, type: UInt32) {
        add(key)
        add(type)
    }

    mutating func string(_ key: String, _ text: String) {
        value(key, type: 8)
        add(text)
    }

    mutating func integer(_ key: String, _ number: UInt32) {
        value(key, type: 4)
        add(number)
    }

    /// Dimensions as the file has them, innermost first.
    mutating func tensor(_ name: String, _ dimensions: [UInt64], type: UInt32, offset: UInt64) {
        add(name)
        add(UInt32(dimensions.count))
        for size in dimensions { add(size) }
        add(type)
        add(offset)
    }

    mutating func data(_ count: Int, alignment: Int = 32) {
        while bytes.count % alignment != 0 { bytes.append(0) }
        bytes.append(contentsOf: [UInt8](repeating: 0, count: count))
    }
}
