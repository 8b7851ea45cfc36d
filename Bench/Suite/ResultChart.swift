import Foundation

/// Results as an SVG drawing: a line a case, a dot a peer at its time by this project's on a logarithmic axis. Right of 1 this project is faster.
public enum ResultChart {
    private static let colors = ["#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"]
    private static let (left, plotWidth, rowHeight, top) = (230.0, 560.0, 18.0, 64.0)

    public static func svg(_ results: BenchmarkResults) -> String {
        let cases = results.cases.filter { $0.own?.statistics != nil && $0.fastestPeer != nil }
        let points = cases.flatMap { item in item.contestants.compactMap { ratio($0, item) } }
        // Whole powers of two around all dots, 1 included.
        let low = floor(log2(min(points.min() ?? 1, 1) * 0.9))
        let high = ceil(log2(max(points.max() ?? 1, 1) * 1.1))
        func x(_ ratio: Double) -> Double { left + (log2(ratio) - low) / max(high - low, 1) * plotWidth }
        let height = top + Double(cases.count) * rowHeight + 34

        var body = text(12, 20, "Time of peers by this project's, same precision, same threads: right of 1 this project is faster", size: 13)
        let names = Contestant.peers.filter { name in cases.contains { $0.contestants.contains { $0.name == name } } }
        for (index, name) in names.enumerated() {
            let place = 20 + Double(index) * 120
            body += "<circle cx=\"\(number(place))\" cy=\"38\" r=\"5\" fill=\"\(color(name))\"/>" + text(place + 10, 42, name)
        }
        var power = low
        while power <= high {
            let place = number(x(exp2(power)))
            let end = number(height - 30)
            body += "<line x1=\"\(place)\" y1=\"\(number(top - 8))\" x2=\"\(place)\" y2=\"\(end)\" stroke=\"\(power == 0 ? "#000" : "#ddd")\"/>\n"
            body += text(x(exp2(power)), height - 14, power >= 0 ? "\(Int(exp2(power)))" : "1/\(Int(exp2(-power)))", anchor: "middle")
            power += 1
        }
        for (index, item) in cases.enumerated() {
            let y = top + (Double(index) + 0.5) * rowHeight
            body += text(left - 8, y + 4, "\(item.name), \(item.threads)", anchor: "end")
            if let range = item.ratio {
                body += "<line x1=\"\(number(x(range.minimum)))\" y1=\"\(number(y))\" x2=\"\(number(x(range.maximum)))\" y2=\"\(number(y))\" stroke=\"#888\" stroke-width=\"2\"/>\n"
            }
            for contestant in item.contestants {
                guard let ratio = ratio(contestant, item) else { continue }
                body += "<circle cx=\"\(number(x(ratio)))\" cy=\"\(number(y))\" r=\"5\" fill=\"\(color(contestant.name))\"><title>\(escaped(contestant.name)) "
                    + "\(ResultTable.decimal(ratio))</title></circle>\n"
            }
        }
        let width = left + plotWidth + 30
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(number(width))" height="\(number(height))" viewBox="0 0 \(number(width)) \(number(height))" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="#fff"/>
            \(body)</svg>

            """
    }

    /// A peer's median by this project's.
    private static func ratio(_ contestant: ContestantResult, _ item: CaseResult) -> Double? {
        guard contestant.name != Contestant.own, let theirs = contestant.statistics?.median, let ours = item.own?.statistics?.median, ours > 0, theirs > 0
        else { return nil }
        return theirs / ours
    }

    private static func color(_ name: String) -> String {
        colors[(Contestant.peers.firstIndex(of: name) ?? 0) % colors.count]
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private static func text(_ x: Double, _ y: Double, _ content: String, anchor: String = "start", size: Int = 11) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" font-size=\"\(size)\">\(escaped(content))</text>\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;").replacingOccurrences(of: ">", with: "&gt;")
    }
}
