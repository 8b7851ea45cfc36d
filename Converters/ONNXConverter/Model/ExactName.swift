/// A name of the model file, compared byte by byte: Swift's own string comparison takes canonically equivalent names for one.
struct ExactName: Hashable, Sendable, CustomStringConvertible {
    let text: String

    init(_ text: String) { self.text = text }

    var isEmpty: Bool { text.isEmpty }
    var description: String { text }

    static func == (a: ExactName, b: ExactName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
