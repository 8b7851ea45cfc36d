import Foundation
import JSON
import Runtime

/// Where results were measured.
public struct Machine: Sendable, Hashable {
    public var cpu: String
    /// Instruction set extensions that the kernels know.
    public var features: [String]
    /// CPUs that the process may use.
    public var cores: Int
    public var system: String
    /// The BLAS library and its kernels.
    public var blas: String
    /// The commit of the sources; with `+` where they were changed.
    public var commit: String
    /// Runnable processes over the last minute when the run began: measurements on a busy machine say little.
    public var loadAverage: Double
    /// Plain reading of memory, bytes per second, by number of threads.
    public var readBandwidth: [Bandwidth]

    public struct Bandwidth: Sendable, Hashable {
        public var threads: Int
        public var bytesPerSecond: Double
    }

    /// Looks at this machine.
    public static func current(threads: [Int]) -> Machine {
        let report = SystemReport.current()
        var loads = [0.0, 0.0, 0.0]
        if getloadavg(&loads, 3) < 1 { loads[0] = 0 }
        return Machine(
            cpu: processorName(), features: report.cpuFeatures, cores: report.threads, system: systemName(),
            blas: report.blas.isAvailable ? "\(report.blas.configuration), \(report.blas.core)" : "none", commit: commit(), loadAverage: loads[0],
            readBandwidth: threads.map { Bandwidth(threads: $0, bytesPerSecond: MemoryBandwidth.read(threads: $0)) })
    }

    private static func processorName() -> String {
        if let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) {
            for line in text.split(separator: "\n") where line.hasPrefix("model name") {
                return line.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces)
            }
        }
        return output(of: ["sysctl", "-n", "machdep.cpu.brand_string"]) ?? "unknown"
    }

    private static func systemName() -> String {
        let version = ProcessInfo.processInfo.operatingSystemVersionString
        guard let text = try? String(contentsOfFile: "/etc/os-release", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("PRETTY_NAME=") })
        else { return version }
        let name = line.dropFirst("PRETTY_NAME=".count).trimmingCharacters(in: CharacterSet(charactersIn: "\""))
        return output(of: ["uname", "-rm"]).map { "\(name), \($0)" } ?? name
    }

    private static func commit() -> String {
        guard let id = output(of: ["git", "rev-parse", "--short", "HEAD"]) else { return "unknown" }
        return id + (output(of: ["git", "status", "--porcelain", "--untracked-files=no"]) == nil ? "" : "+")
    }

    /// The standard output of a program without the last newline; nil where it fails or says nothing.
    private static func output(of command: [String]) -> String? {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}

extension Machine {
    var json: JSONValue {
        [
            "cpu": .string(cpu), "features": .array(features.map { .string($0) }), "cores": .integer(cores), "system": .string(system),
            "blas": .string(blas), "commit": .string(commit), "load_average": .number(loadAverage),
            "read_bandwidth": .array(readBandwidth.map { ["threads": .integer($0.threads), "bytes_per_second": .number($0.bytesPerSecond)] }),
        ]
    }

    init(_ reader: ResultsReader) throws {
        self.init(
            cpu: try reader.string("cpu"), features: try reader.strings("features"), cores: try reader.integer("cores"),
            system: try reader.string("system"), blas: try reader.string("blas"), commit: try reader.string("commit"),
            loadAverage: try reader.number("load_average"),
            readBandwidth: try reader.array("read_bandwidth").map {
                Bandwidth(threads: try $0.integer("threads"), bytesPerSecond: try $0.number("bytes_per_second"))
            })
    }
}
