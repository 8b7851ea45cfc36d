import Foundation
import GGUFConverter
import ONNXConverter
import TestSupport
import Testing

/// What documents show is what the code says.
@Suite struct DocumentationTests {
    private static let root = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent()

    @Test(arguments: [
        "README.md", "Sources/Tasks/Tasks.docc/ClassifyingText.md", "Sources/Tasks/Tasks.docc/EmbeddingText.md",
        "Sources/Tasks/Tasks.docc/SearchingText.md", "Sources/Tasks/Tasks.docc/GeneratingText.md",
    ])
    func swiftExamplesCompile(document: String) throws {
        let examples = try String(contentsOf: Self.root.appendingPathComponent("Tests/DocumentationTests/Examples.swift"), encoding: .utf8)
        let compiled = Set(examples.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
        let text = try String(contentsOf: Self.root.appendingPathComponent(document), encoding: .utf8)
        var blocks = 0
        for block in text.components(separatedBy: "```swift\n").dropFirst() {
            blocks += 1
            for line in block.components(separatedBy: "```")[0].split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
                #expect(compiled.contains(line), "\(document): '\(line)' is not in Examples.swift")
            }
        }
        #expect(blocks > 0)
    }

    @Test func readmeListsTheOperatorsThatConvert() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let flowing = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for (domain, names) in ONNXImporter.supportedOperators {
            #expect(flowing.contains(names.joined(separator: ", ")), "the README's list of \(domain.isEmpty ? "ai.onnx" : domain) is not '\(names.joined(separator: ", "))'")
        }
    }

    @Test func readmeListsTheArchitecturesOfGGUF() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let list = GGUFImporter.architectures.map { "`\($0)`" }.joined(separator: ", ")
        #expect(text.contains("architectures \(list)"), "the README's list of GGUF architectures is not \(list)")
    }

    /// Links inside the project lead somewhere.
    @Test(arguments: ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]) func linksLeadSomewhere(document: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent(document), encoding: .utf8)
        for part in text.components(separatedBy: "](").dropFirst() {
            let target = String(part.prefix { $0 != ")" })
            if target.hasPrefix("http") || target.hasPrefix("#") { continue }
            #expect(FileManager.default.fileExists(atPath: Self.root.appendingPathComponent(target).path), "\(document) links to \(target)")
        }
    }
}
