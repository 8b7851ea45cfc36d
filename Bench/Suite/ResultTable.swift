import Foundation

/// Results as a Markdown page.
public enum ResultTable {
    public static func markdown(_ results: BenchmarkResults) -> String {
        var text = machine(results)
        for threads in Set(results.cases.map(\.threads)).sorted() {
            text += "\n## \(threads) thread\(threads == 1 ? "" : "s")\n"
            for section in Section.all {
                let cases = results.cases.filter { $0.threads == threads && section.kinds.contains($0.kind) && !$0.contestants.isEmpty }
                guard !cases.isEmpty else { continue }
                text += "\n\(section.title)\n\n" + table(cases, section) + bandwidth(cases, results.machine)
            }
        }
        text += memory(results.cases)
        return text + absent(results.cases)
    }

    private struct Section {
        let title: String
        let kinds: [BenchmarkCase.Kind]
        let cell: @Sendable (Double, CaseResult) -> String

        static let all = [
            Section(title: "Encoders, milliseconds:", kinds: [.encode, .embed]) { seconds, _ in decimal(seconds * 1e3) },
            Section(title: "Generation, tokens per second:", kinds: [.prompt, .decode]) { seconds, item in decimal(Double(item.work) / seconds) },
            Section(title: "Tokenizers, megabytes per second:", kinds: [.tokenize]) { seconds, item in decimal(Double(item.work) / seconds / 1e6) },
            Section(title: "Process start to first answer, milliseconds:", kinds: [.start]) { seconds, _ in decimal(seconds * 1e3) },
        ]
    }

    private static func machine(_ results: BenchmarkResults) -> String {
        let machine = results.machine
        let bandwidth = machine.readBandwidth.map { "\(decimal($0.bytesPerSecond / 1e9)) GB/s with \($0.threads)" }.joined(separator: ", ")
        var versions: [(name: String, version: String)] = []
        for contestant in results.cases.flatMap(\.contestants) where !contestant.version.isEmpty && !versions.contains(where: { $0.name == contestant.name }) {
            versions.append((contestant.name, contestant.version))
        }
        return """
            # Measured \(results.date)

            - \(machine.cpu), \(machine.cores) CPUs, \(machine.features.joined(separator: " ")); \(machine.system)
            - BLAS: \(machine.blas)
            - Reading memory: \(bandwidth.isEmpty ? "not measured" : bandwidth) thread(s)
            - Load when the run began: \(decimal(machine.loadAverage)) (on an idle machine near 0; times on a busy one say little)
            - Commit \(machine.commit); \(versions.map { "\($0.name) \($0.version)" }.joined(separator: ", "))

            Medians over rounds. "Ratio" is the fastest peer's time by this project's, round by round: its median, and the least and the most.

            """
    }

    private static func table(_ cases: [CaseResult], _ section: Section) -> String {
        let names = ([Contestant.own] + Contestant.peers).filter { name in cases.contains { $0.contestants.contains { $0.name == name } } }
        var text = "| case | \(names.joined(separator: " | ")) | ratio | range |\n|\(String(repeating: "---|", count: names.count + 3))\n"
        for item in cases {
            let best = item.contestants.compactMap { $0.statistics?.median }.min()
            let cells = names.map { name -> String in
                guard let contestant = item.contestants.first(where: { $0.name == name }), let median = contestant.statistics?.median else { return "-" }
                let cell = section.cell(median, item) + (contestant.uses.isEmpty ? "" : " (\(contestant.uses))")
                return median == best ? "**\(cell)**" : cell
            }
            let ratio = item.ratio.map { "\(decimal($0.median)) | \(decimal($0.minimum)) to \(decimal($0.maximum))" } ?? "- | -"
            text += "| \(item.name) | \(cells.joined(separator: " | ")) | \(ratio) |\n"
        }
        return text
    }

    /// The share of the memory's speed that decoding reaches.
    private static func bandwidth(_ cases: [CaseResult], _ machine: Machine) -> String {
        var text = ""
        for item in cases where item.kind == .decode {
            guard let own = item.own, let bytes = own.weightBytes, let median = own.statistics?.median, median > 0,
                let limit = machine.readBandwidth.first(where: { $0.threads == item.threads })?.bytesPerSecond, limit > 0
            else { continue }
            let rate = Double(bytes) * Double(item.work) / median
            text += "\n\(item.name): \(Contestant.own) reads weights at \(decimal(rate / 1e9)) GB/s, \(Int((rate / limit * 100).rounded())) % of plain reading.\n"
        }
        return text
    }

    private static func memory(_ cases: [CaseResult]) -> String {
        let names = ([Contestant.own] + Contestant.peers).filter { name in cases.contains { $0.contestants.contains { $0.name == name } } }
        guard !names.isEmpty else { return "" }
        var text = "\n## Load and memory\n\nSeconds from the start of the process until it was ready / most resident memory, MiB.\n\n"
        text += "| case | threads | \(names.joined(separator: " | ")) |\n|\(String(repeating: "---|", count: names.count + 2))\n"
        for item in cases where !item.contestants.isEmpty {
            let cells = names.map { name in
                item.contestants.first { $0.name == name }.map { "\(decimal($0.loadSeconds)) / \($0.peakBytes >> 20)" } ?? "-"
            }
            text += "| \(item.name) | \(item.threads) | \(cells.joined(separator: " | ")) |\n"
        }
        return text
    }

    /// Who did not take part, by reason.
    private static func absent(_ cases: [CaseResult]) -> String {
        var order: [CaseResult.Absent] = []
        var where_: [CaseResult.Absent: [String]] = [:]
        for item in cases {
            for absent in item.absent {
                if where_[absent] == nil { order.append(absent) }
                if where_[absent]?.contains(item.name) != true { where_[absent, default: []].append(item.name) }
            }
        }
        guard !order.isEmpty else { return "" }
        return "\n## Not measured\n\n"
            + order.map { absent in
                let names = where_[absent] ?? []
                return "- \(absent.name), \(names.count > 4 ? "\(names.count) cases" : names.joined(separator: ", ")): \(absent.reason)\n"
            }.joined()
    }

    /// Three significant digits.
    static func decimal(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = abs(value)
        return String(format: size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : "%.2f", value)
    }
}
