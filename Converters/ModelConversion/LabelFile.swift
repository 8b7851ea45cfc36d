import Foundation
import JSON
import Tensors

/// Labels as users write them down: a file with one a line, a JSON array, a JSON object `id -> label` (also inside a config.json), or
/// the labels themselves, separated by commas.
public enum LabelFile {
    /// - Throws: `ConversionError` or `FileError` where there are no labels, or one stands twice.
    public static func labels(from argument: String) throws -> [String] {
        var labels: [String]
        if FileManager.default.fileExists(atPath: argument) {
            let storage = try Storage(mapping: URL(fileURLWithPath: argument))
            guard let text = storage.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
                throw ConversionError("\(argument) is not valid UTF-8")
            }
            if text.drop(while: \.isWhitespace).first.map({ "[{".contains($0) }) == true {
                labels = try json(JSONParser.parse(text), argument)
            } else {
                labels = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            }
        } else if argument.contains("/") || argument.hasSuffix(".txt") || argument.hasSuffix(".json") {
            throw ConversionError("\(argument): no such file")
        } else {
            labels = argument.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        labels = labels.filter { !$0.isEmpty }
        guard !labels.isEmpty else { throw ConversionError("there are no labels in '\(argument)'") }
        if let twice = Dictionary(grouping: labels, by: { $0 }).first(where: { $0.value.count > 1 }) {
            throw ConversionError("the label '\(twice.key)' stands twice")
        }
        return labels
    }

    private static func json(_ value: JSONValue, _ name: String) throws -> [String] {
        if let array = value.arrayValue {
            let labels = array.compactMap(\.stringValue)
            guard labels.count == array.count else { throw ConversionError("\(name): not all labels are strings") }
            return labels
        }
        let members = (value["id2label"] ?? value).members
        let pairs = try members.map { member -> (Int, String) in
            guard let id = Int(member.key), let label = member.value.stringValue else {
                throw ConversionError("\(name): '\(member.key)' does not map a number to a label")
            }
            return (id, label)
        }.sorted { $0.0 < $1.0 }
        guard pairs.map(\.0) == Array(0..<pairs.count) else { throw ConversionError("\(name): the label numbers do not count up from 0") }
        return pairs.map(\.1)
    }
}
