import Foundation
import JSON
import Tensors

/// Texts from a file: one a line (`.txt` and anything else), JSON Lines (`.jsonl`, `.ndjson`), or CSV and TSV with a header line.
public enum RecordFile {
    public enum Format: String, Sendable, Hashable, CaseIterable { case text, jsonl, csv, tsv }

    /// Fields that hold the text where the caller names none, in this order.
    static let usualTextFields = ["text", "content", "body", "sentence", "description"]
    static let usualTitleFields = ["title", "name", "heading"]

    /// Reads all records. Empty lines of a text file are passed over.
    ///
    /// - Parameters:
    ///   - format: nil: by the file's extension.
    ///   - textField: The field with the text; nil: the first of `text`, `content`, `body`, `sentence`, `description` that is there.
    ///   - titleField: The same for the title (`title`, `name`, `heading`), which may be absent.
    /// - Throws: `FileError` naming file and line.
    public static func read(
        contentsOf url: URL, format: Format? = nil, textField: String? = nil, titleField: String? = nil
    ) throws -> [Record] {
        let storage = try Storage(mapping: url)
        return try storage.withUnsafeBytes { bytes in
            try read(bytes, name: url.path, format: format ?? self.format(of: url), textField: textField, titleField: titleField)
        }
    }

    static func format(of url: URL) -> Format {
        switch url.pathExtension.lowercased() {
        case "jsonl", "ndjson": return .jsonl
        case "csv": return .csv
        case "tsv": return .tsv
        default: return .text
        }
    }

    static func read(
        _ bytes: UnsafeRawBufferPointer, name: String, format: Format, textField: String?, titleField: String?
    ) throws -> [Record] {
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? UnsafeRawBufferPointer(rebasing: bytes[3...]) : bytes
        switch format {
        case .text: return try lines(content, name: name).filter { !$0.text.isEmpty }
        case .jsonl:
            return try lines(content, name: name).filter { !$0.text.allSatisfy(\.isWhitespace) }.map { line in
                let value: JSONValue
                do { value = try JSONParser.parse(line.text) } catch {
                    throw FileError(path: name, reason: "line \(line.line): \(error)")
                }
                let fields = value.members.compactMap { member in member.value.stringValue.map { (member.key, $0) } }
                return try record(fields, line: line.line, name: name, textField: textField, titleField: titleField)
            }
        case .csv, .tsv:
            let separator = format == .csv ? UInt8(ascii: ",") : UInt8(ascii: "\t")
            var rows = DelimitedReader(bytes: content, separator: separator, name: name)
            guard let header = try rows.next() else { throw FileError(path: name, reason: "has no header line") }
            var records: [Record] = []
            while let row = try rows.next() {
                if row.fields == [""] { continue }
                guard row.fields.count == header.fields.count else {
                    throw FileError(path: name, reason: "line \(row.line) has \(row.fields.count) fields, the header has \(header.fields.count)")
                }
                records.append(
                    try record(
                        Array(zip(header.fields, row.fields)), line: row.line, name: name, textField: textField, titleField: titleField))
            }
            return records
        }
    }

    private static func record(
        _ fields: [(String, String)], line: Int, name: String, textField: String?, titleField: String?
    ) throws -> Record {
        func find(_ names: [String]) -> String? {
            for name in names {
                if let field = fields.first(where: { $0.0 == name }) { return field.1 }
            }
            return nil
        }
        let textNames = textField.map { [$0] } ?? usualTextFields
        guard let text = find(textNames) else {
            let known = fields.map(\.0).joined(separator: ", ")
            throw FileError(
                path: name,
                reason: "line \(line) has no text field '\(textNames.joined(separator: "', '"))' (its text fields: \(known)); name one with --text-field")
        }
        return Record(text: text, title: find(titleField.map { [$0] } ?? usualTitleFields), line: line)
    }

    private static func lines(_ bytes: UnsafeRawBufferPointer, name: String) throws -> [Record] {
        var records: [Record] = []
        var start = 0
        var number = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            number += 1
            var line = bytes[start..<end]
            if line.last == 0x0D { line = line.dropLast() }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw FileError(path: name, reason: "line \(number) is not valid UTF-8; convert the file first, for example with iconv")
            }
            records.append(Record(text: text, line: number))
            start = end + 1
        }
        return records
    }
}

/// RFC 4180 records: fields in quotes may hold separators, line ends and doubled quotes.
struct DelimitedReader {
    let bytes: UnsafeRawBufferPointer
    let separator: UInt8
    let name: String
    private var position = 0
    private var line = 1

    init(bytes: UnsafeRawBufferPointer, separator: UInt8, name: String) {
        self.bytes = bytes
        self.separator = separator
        self.name = name
    }

    /// The fields of the next record and the line it begins on; nil at the end.
    mutating func next() throws -> (fields: [String], line: Int)? {
        guard position < bytes.count else { return nil }
        let first = line
        var fields: [String] = []
        while true {
            fields.append(try field(first))
            guard position < bytes.count, bytes[position] == separator else { break }
            position += 1
        }
        if position < bytes.count, bytes[position] == 0x0D { position += 1 }
        if position < bytes.count, bytes[position] == 0x0A {
            position += 1
            line += 1
        }
        return (fields, first)
    }

    private mutating func field(_ first: Int) throws -> String {
        var content: [UInt8] = []
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
            position += 1
            while true {
                guard position < bytes.count else { throw FileError(path: name, reason: "line \(first): a quoted field does not end") }
                let byte = bytes[position]
                position += 1
                if byte == UInt8(ascii: "\"") {
                    guard position < bytes.count, bytes[position] == byte else { break }
                    position += 1
                } else if byte == 0x0A {
                    line += 1
                }
                content.append(byte)
            }
            guard position >= bytes.count || [separator, 0x0A, 0x0D].contains(bytes[position]) else {
                throw FileError(path: name, reason: "line \(line): text after a quoted field")
            }
        } else {
            while position < bytes.count, bytes[position] != separator, bytes[position] != 0x0A {
                if bytes[position] == 0x0D, position + 1 >= bytes.count || bytes[position + 1] == 0x0A { break }
                content.append(bytes[position])
                position += 1
            }
        }
        guard let text = String(validating: content, as: UTF8.self) else {
            throw FileError(path: name, reason: "line \(first) is not valid UTF-8; convert the file first, for example with iconv")
        }
        return text
    }
}
