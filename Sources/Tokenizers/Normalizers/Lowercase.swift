/// Lower case, scalar by scalar.
struct Lowercase: Normalizer {
    static let typeName = "Lowercase"
    init(_ json: ComponentJSON) {}
    func normalize(_ text: inout NormalizedText) { text.lowercase() }
}

extension NormalizedText {
    mutating func lowercase() {
        if isASCII {
            // Every scalar keeps its place.
            bytes.withUnsafeMutableBufferPointer { buffer in
                for index in buffer.indices where buffer[index] &- 0x41 < 26 { buffer[index] |= 0x20 }
            }
            return
        }
        var changes: [ScalarChange] = []
        changes.reserveCapacity(bytes.count)
        for scalar in scalars {
            if scalar == 0x130 {
                changes.append(ScalarChange(scalar: 0x69, change: 0))
                changes.append(ScalarChange(scalar: 0x307, change: 1))
            } else {
                changes.append(ScalarChange(scalar: LowercaseMap.lowercase(scalar), change: 0))
            }
        }
        transform(changes)
    }
}
