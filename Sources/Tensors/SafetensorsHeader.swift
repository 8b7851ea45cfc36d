import JSON

/// One tensor of a safetensors file.
public struct SafetensorsEntry: Sendable, Hashable {
    public let name: String
    public let dtype: DType
    /// Outermost dimension first.
    public let shape: [Int]
    /// Where its data lie, counted from the start of the file.
    public let bytes: Range<Int>
}

/// The header of a safetensors file: 8 bytes of length (little endian), then a JSON object that maps each tensor's name to
/// `{"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}` and `__metadata__` to an object of strings. The data follow;
/// each byte of them belongs to exactly one tensor. Format: https://huggingface.co/docs/safetensors/index#format
struct SafetensorsHeader {
    /// The limit of the reference implementation.
    static let maximumLength = 100_000_000
    static let metadataKey = "__metadata__"

    /// In the order of the header.
    private(set) var entries: [SafetensorsEntry] = []
    private(set) var metadata: [JSONMember] = []

    private let path: String

    init(parsing bytes: UnsafeRawBufferPointer, path: String) throws {
        self.path = path
        func fail(_ offset: Int, _ reason: String) -> SafetensorsError {
            SafetensorsError(path: path, place: .byte(offset), reason: reason)
        }
        if let kind = Self.foreignFormat(bytes) {
            throw SafetensorsError(path: path, reason: "is \(kind), not a safetensors file")
        }
        guard bytes.count >= 8 else { throw fail(0, "the file has \(bytes.count) bytes, too few for a safetensors file") }
        let field = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        guard let length = Int(exactly: field), length <= Self.maximumLength else {
            throw fail(0, "not a safetensors file: its header would have \(field) bytes, more than the \(Self.maximumLength) allowed")
        }
        guard length <= bytes.count - 8 else {
            throw fail(0, "the header has \(length) bytes, but only \(bytes.count - 8) follow: the file is cut off or no safetensors file")
        }
        let dataStart = 8 + length
        let document: JSONValue
        do {
            document = try JSONParser.parse(UnsafeRawBufferPointer(rebasing: bytes[8..<dataStart]))
        } catch let error as JSONError {
            throw fail(8 + error.offset, "invalid JSON in the header: \(error.reason)")
        }
        guard case .object(let members) = document else {
            throw fail(8, "the header is \(document.kindName), not an object")
        }
        entries.reserveCapacity(members.count)
        for member in members {
            if member.key.utf8.elementsEqual(Self.metadataKey.utf8) {
                try readMetadata(member.value)
            } else {
                entries.append(try entry(member, dataStart: dataStart, fileSize: bytes.count))
            }
        }
        try checkCoverage(dataStart: dataStart, fileSize: bytes.count)
    }

    /// What a file is that people pass by mistake; nil when nothing is recognised.
    private static func foreignFormat(_ bytes: UnsafeRawBufferPointer) -> String? {
        func starts(_ text: StaticString) -> Bool {
            bytes.starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
        if starts("version https://git-lfs") { return "a Git LFS pointer (fetch the file it stands for)" }
        if starts("PK\u{3}\u{4}") { return "a zip archive (perhaps a PyTorch checkpoint; convert it to safetensors first)" }
        if starts("GGUF") { return "a GGUF file" }
        return nil
    }

    private func fail(_ name: String, _ reason: String) -> SafetensorsError {
        SafetensorsError(path: path, place: .tensor(name), reason: reason)
    }

    private mutating func readMetadata(_ value: JSONValue) throws {
        guard case .object(let members) = value else {
            throw SafetensorsError(path: path, reason: "\(Self.metadataKey) is \(value.kindName), not an object")
        }
        for member in members where member.value.stringValue == nil {
            let key = JSONValue.string(member.key).text
            throw SafetensorsError(path: path, reason: "\(Self.metadataKey) \(key) is \(member.value.kindName), not a string")
        }
        metadata = members
    }

    private func entry(_ member: JSONMember, dataStart: Int, fileSize: Int) throws -> SafetensorsEntry {
        let name = member.key
        guard case .object(let fields) = member.value else {
            throw fail(name, "its description is \(member.value.kindName), not an object")
        }
        if let unknown = fields.first(where: { !["dtype", "shape", "data_offsets"].contains($0.key) }) {
            throw fail(name, "unknown field \(JSONValue.string(unknown.key).text)")
        }
        guard let dtypeName = member.value["dtype"]?.stringValue else { throw fail(name, "has no dtype") }
        guard let dtype = DType(safetensorsName: dtypeName) else {
            let known = DType.allCases.compactMap(\.safetensorsName).joined(separator: ", ")
            throw fail(name, "the dtype \(JSONValue.string(dtypeName).text) is not supported (supported: \(known))")
        }
        guard let shape = Self.sizes(member.value["shape"]) else { throw fail(name, "its shape is no list of sizes") }
        guard let offsets = Self.sizes(member.value["data_offsets"]), offsets.count == 2 else {
            throw fail(name, "its data_offsets are no pair of offsets")
        }
        let (begin, end) = (offsets[0], offsets[1])
        let dataCount = fileSize - dataStart
        guard begin <= end else { throw fail(name, "its data end (\(end)) before they begin (\(begin))") }
        guard end <= dataCount else {
            throw fail(name, "its data end at \(end), but the file has only \(dataCount) bytes of data: it is cut off or damaged")
        }
        guard let count = try? Shape.count(shape) else { throw fail(name, "its shape \(shape) has too many elements") }
        let (size, overflow) = count.multipliedReportingOverflow(by: dtype.size)
        guard !overflow, size == end - begin else {
            let needed = overflow ? "too many" : "\(size)"
            throw fail(name, "\(dtypeName) of shape \(shape) takes \(needed) bytes, its data_offsets span \(end - begin)")
        }
        return SafetensorsEntry(name: name, dtype: dtype, shape: shape, bytes: dataStart + begin..<dataStart + end)
    }

    private static func sizes(_ value: JSONValue?) -> [Int]? {
        guard let values = value?.arrayValue else { return nil }
        var sizes: [Int] = []
        for case .integer(let size) in values where size >= 0 { sizes.append(size) }
        return sizes.count == values.count ? sizes : nil
    }

    /// Every byte of data belongs to exactly one tensor.
    private func checkCoverage(dataStart: Int, fileSize: Int) throws {
        var covered = dataStart
        var previous: SafetensorsEntry?
        for entry in entries.sorted(by: { ($0.bytes.lowerBound, $0.bytes.upperBound) < ($1.bytes.lowerBound, $1.bytes.upperBound) }) {
            if entry.bytes.lowerBound < covered, let previous {
                throw fail(entry.name, "its data overlap those of tensor \(JSONValue.string(previous.name).text)")
            }
            guard entry.bytes.lowerBound == covered else {
                throw fail(entry.name, "the \(entry.bytes.lowerBound - covered) bytes before its data belong to no tensor")
            }
            covered = entry.bytes.upperBound
            previous = entry
        }
        guard covered == fileSize else {
            throw SafetensorsError(
                path: path, place: .byte(covered), reason: "\(fileSize - covered) bytes after the last tensor belong to no tensor")
        }
    }
}
