/// Two runs of the suite on one machine: what became slower beyond noise.
public struct ResultComparison: Sendable {
    public enum Verdict: String, Sendable { case same, faster, slower, missing }

    public struct Row: Sendable {
        public let name: String
        public let threads: Int
        /// The new median by the old one.
        public let change: Double
        public let verdict: Verdict
    }

    public let rows: [Row]
    /// Why the runs may not compare.
    public let warnings: [String]

    /// Changes below that share are noise, whatever the rounds say.
    public static let threshold = 0.05

    /// A case is slower (faster) where its median changed by more than the threshold and the middle halves of the rounds, quartile to quartile,
    /// do not overlap. A case that only the old run has is missing.
    public init(old: BenchmarkResults, new: BenchmarkResults) {
        rows = old.cases.compactMap { before -> Row? in
            guard let a = before.own?.statistics else { return nil }
            guard let after = new.cases.first(where: { $0.name == before.name && $0.threads == before.threads }), let b = after.own?.statistics else {
                return Row(name: before.name, threads: before.threads, change: .nan, verdict: .missing)
            }
            let change = a.median > 0 ? b.median / a.median : 1
            var verdict = Verdict.same
            if change > 1 + Self.threshold, b.lowerQuartile > a.upperQuartile { verdict = .slower }
            if change < 1 / (1 + Self.threshold), b.upperQuartile < a.lowerQuartile { verdict = .faster }
            return Row(name: before.name, threads: before.threads, change: change, verdict: verdict)
        }
        var warnings: [String] = []
        if old.machine.cpu != new.machine.cpu || old.machine.cores != new.machine.cores {
            warnings.append("the runs are from two machines: \(old.machine.cpu), \(old.machine.cores) CPUs, and \(new.machine.cpu), \(new.machine.cores) CPUs")
        }
        for (which, run) in [("first", old), ("second", new)] where run.machine.loadAverage > 0.5 * Double(run.machine.cores) {
            warnings.append("the machine was busy when the \(which) run began (load \(ResultTable.decimal(run.machine.loadAverage)))")
        }
        self.warnings = warnings
    }

    public var regressions: [Row] { rows.filter { $0.verdict == .slower } }

    public var markdown: String {
        var text = "| case | threads | new / old time | verdict |\n|---|---|---|---|\n"
        for row in rows { text += "| \(row.name) | \(row.threads) | \(row.change.isNaN ? "-" : ResultTable.decimal(row.change)) | \(row.verdict.rawValue) |\n" }
        return text
    }
}
