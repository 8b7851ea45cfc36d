import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Ctrl-C leaves nothing half-written, and ends a filter with the usual status.
@Suite struct InterruptionTests {
    @Test func controlCEndsAFilterWithStatus130() throws {
        let runner = try ToolRunner("mlrun")
        let process = Process()
        process.executableURL = runner.executable
        process.arguments = ["classify"]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("I love this\n".utf8))
        // The answer shows that the filter is at work and that lines are answered as they come.
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("positive\t"))
        kill(process.processIdentifier, SIGINT)
        process.waitUntilExit()
        #expect(process.terminationStatus == 130)
    }

    @Test func interruptedConversionsLeaveNoFile() throws {
        let runner = try ToolRunner("mlconv")
        try Fixtures.withTemporaryFolder { folder in
            // At several moments of a conversion: the file is whole or not there, and no temporary file stays.
            for milliseconds in [1, 20, 60, 120, 200, 300] {
                let process = Process()
                process.executableURL = runner.executable
                process.arguments = [Fixtures.folder.appendingPathComponent("categorium-topics").path, "-o", folder.appendingPathComponent("out.graph").path]
                process.standardError = FileHandle.nullDevice
                try process.run()
                usleep(UInt32(milliseconds * 1000))
                kill(process.processIdentifier, SIGINT)
                process.waitUntilExit()
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(left.isEmpty || left == ["out.graph"], "\(left) after \(milliseconds) ms")
                if left == ["out.graph"] {
                    #expect(try ToolRunner("mlrun").run("inspect", folder.appendingPathComponent("out.graph").path).status == 0)
                    try FileManager.default.removeItem(at: folder.appendingPathComponent("out.graph"))
                }
            }
        }
    }
}
