/// A text with what stands beside it in its file.
public struct Record: Sendable, Hashable {
    public let text: String
    public let title: String?
    /// The line of the file where the record begins, from 1.
    public let line: Int

    public init(text: String, title: String? = nil, line: Int) {
        self.text = text
        self.title = title
        self.line = line
    }
}
