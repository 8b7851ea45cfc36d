/// A name compared by its UTF-8 bytes: what tables of names from files are keyed by, since `String` calls canonically
/// equivalent spellings equal and files do not.
public struct ExactName: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var isEmpty: Bool { text.isEmpty }

    public var description: String { text }

    public static func == (a: ExactName, b: ExactName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8(0xFF))
    }
}
