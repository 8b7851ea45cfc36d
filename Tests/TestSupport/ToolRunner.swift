import Foundation
import Testing

/// Runs the built tools as a user does: arguments, standard input, exit status, both outputs.
public struct ToolRunner: Sendable {
    public struct Result: Sendable {
        public let status: Int32
        public let output: String
        public let errorOutput: String

        public var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    public let executable: URL

    /// - Parameter name: A product of this package.
    public init(_ name: String) throws {
        // The test bundle lies beside the products.
        let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent()
        let candidates = [folder, folder.deletingLastPathComponent()].map { $0.appendingPathComponent(name) }
        let packageRoot = Fixtures.folder.deletingLastPathComponent().deletingLastPathComponent()
        let built = [packageRoot.appendingPathComponent(".build/debug/\(name)"), packageRoot.appendingPathComponent(".build/release/\(name)")]
        executable = try #require(
            (candidates + built).first { FileManager.default.isExecutableFile(atPath: $0.path) }, "the product \(name) is not built")
    }

    /// - Throws: where the process cannot be started.
    public func run(_ arguments: [String], input: Data = Data(), environment: [String: String] = [:]) throws -> Result {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        // Files instead of pipes: no output is too long, and nothing can block.
        return try Fixtures.withTemporaryFolder { folder in
            let files = ["in", "out", "err"].map { folder.appendingPathComponent($0) }
            try input.write(to: files[0])
            for file in files[1...] { try Data().write(to: file) }
            process.standardInput = try FileHandle(forReadingFrom: files[0])
            process.standardOutput = try FileHandle(forWritingTo: files[1])
            process.standardError = try FileHandle(forWritingTo: files[2])
            try process.run()
            process.waitUntilExit()
            return Result(
                status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
                output: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
                errorOutput: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
        }
    }

    public func run(_ arguments: String..., input: String) throws -> Result { try run(arguments, input: Data(input.utf8)) }
    public func run(_ arguments: String...) throws -> Result { try run(arguments) }
}
