import Foundation
import Testing

/// Models of the catalogue that `make models-fetch` has brought.
public enum FetchedModels {
    private static let folder = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Models/fetched")

    /// The folder of a fetched model.
    public static func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

    public static func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: url(name).path) }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test, saying why, where a model was not fetched: `@Test(.needsModel("minilm"))`.
    public static func needsModel(_ names: String...) -> Self {
        let missing = names.filter { !FetchedModels.isThere($0) }
        return .enabled(if: missing.isEmpty, "the models \(missing.joined(separator: ", ")) were not fetched: make models-fetch")
    }
}
