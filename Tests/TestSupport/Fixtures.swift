import Foundation
import Testing

/// Test data that is unpacked from the archives under Tests/Fixtures.
public enum Fixtures {
    /// The folder Tests/Fixtures.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures")

    /// Where the archive `name`.tar.xz is unpacked.
    public static func unpacked(_ name: String) -> URL { folder.appendingPathComponent("unpacked/\(name)") }

    public static func isUnpacked(_ name: String) -> Bool { FileManager.default.fileExists(atPath: unpacked(name).path) }

    /// Calls `body` with a fresh folder that is removed afterwards.
    public static func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("mlgraph-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try body(url)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test, saying why, where an archive of test data is not unpacked: `@Test(.needsFixture("corpus"))`.
    public static func needsFixture(_ name: String) -> Self {
        .enabled(
            if: Fixtures.isUnpacked(name),
            "Tests/Fixtures/unpacked/\(name) is missing: unpack Tests/Fixtures/\(name).tar.xz there (make test does)")
    }
}
