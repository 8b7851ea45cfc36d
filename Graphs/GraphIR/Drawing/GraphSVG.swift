import Tensors

/// Draws a graph as a standalone SVG image: data flows from top to bottom, one row per depth, weights left out.
///
/// Layers are longest-path ranks; the order inside a layer follows the barycentre heuristic of Sugiyama, Tagawa and Toda (1981).
public struct GraphSVG: Sendable {
    private struct Box {
        var title: String
        var detail: String
        var kind: Kind
        var layer = 0
        var x = 0.0
        var width: Double
        /// Boxes whose results flow in.
        var sources: [Int]
    }

    private enum Kind: String { case input, node, output }

    private var boxes: [Box] = []

    private static let characterWidth = 6.6
    private static let boxHeight = 36.0
    private static let layerHeight = 64.0
    private static let gap = 18.0
    private static let margin = 20.0

    public init(_ graph: Graph) {
        var owner: [ValueID: Int] = [:]
        for id in graph.inputs {
            owner[id] = boxes.count
            append("\(graph[id].name)", "\(graph.type(id))", .input, sources: [])
        }
        for node in graph.nodes {
            let sources = node.inputs.compactMap { $0.flatMap { owner[$0] } }
            for output in node.outputs { owner[output] = boxes.count }
            append(node.op.mnemonic, node.outputs.first.map { "\(graph.type($0))" } ?? "", .node, sources: sources)
        }
        for output in graph.outputs {
            append(output.name, "\(graph.type(output.value))", .output, sources: owner[output.value].map { [$0] } ?? [])
        }
        layOut()
    }

    private mutating func append(_ title: String, _ detail: String, _ kind: Kind, sources: [Int]) {
        let characters = Double(max(title.unicodeScalars.count, detail.unicodeScalars.count, 6))
        boxes.append(
            Box(title: title, detail: detail, kind: kind, width: characters * Self.characterWidth + 16, sources: sources))
    }

    private mutating func layOut() {
        // Boxes stand in an order in which sources come first.
        for index in boxes.indices {
            boxes[index].layer = boxes[index].sources.map { boxes[$0].layer + 1 }.max() ?? 0
        }
        var layers: [[Int]] = Array(repeating: [], count: (boxes.map(\.layer).max() ?? -1) + 1)
        for index in boxes.indices { layers[boxes[index].layer].append(index) }
        for layer in layers.indices {
            let order = layers[layer].map { ($0, centreOfSources($0)) }.sorted { $0.1 == $1.1 ? $0.0 < $1.0 : $0.1 < $1.1 }
            // Each box goes under its sources where there is room, else right of its neighbour.
            var left = -Double.infinity
            for (index, middle) in order {
                let wanted = middle - boxes[index].width / 2
                boxes[index].x = max(wanted, left)
                left = boxes[index].x + boxes[index].width + Self.gap
            }
        }
        let shift = Self.margin - (boxes.map(\.x).min() ?? 0)
        for index in boxes.indices { boxes[index].x += shift }
    }

    /// The mean place of the boxes that flow into one.
    private func centreOfSources(_ index: Int) -> Double {
        let sources = boxes[index].sources
        return sources.isEmpty ? 0 : sources.map { boxes[$0].x + boxes[$0].width / 2 }.reduce(0, +) / Double(sources.count)
    }

    /// The image.
    public var text: String {
        let width = (boxes.map { $0.x + $0.width }.max() ?? 0) + Self.margin
        let height = Double((boxes.map(\.layer).max() ?? 0) + 1) * Self.layerHeight + Self.margin
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.number(width))" height="\(Self.number(height))" \
            font-family="Menlo, DejaVu Sans Mono, monospace" font-size="11">
            <style>rect{stroke:#555}.input{fill:#d9ead3}.node{fill:#e8eef7}.output{fill:#fce5cd}path{fill:none;stroke:#999}text{text-anchor:middle}.detail{fill:#666;font-size:9px}</style>
            <rect width="100%" height="100%" style="fill:#fff;stroke:none"/>

            """
        for box in boxes {
            for source in box.sources { svg += path(from: boxes[source], to: box) }
        }
        for box in boxes {
            let y = top(box)
            let middle = Self.number(box.x + box.width / 2)
            svg += "<rect class=\"\(box.kind.rawValue)\" x=\"\(Self.number(box.x))\" y=\"\(Self.number(y))\" width=\"\(Self.number(box.width))\" "
            svg += "height=\"\(Self.number(Self.boxHeight))\" rx=\"5\"/>"
            svg += "<text x=\"\(middle)\" y=\"\(Self.number(y + 15))\">\(Self.escaped(box.title))</text>"
            svg += "<text class=\"detail\" x=\"\(middle)\" y=\"\(Self.number(y + 28))\">\(Self.escaped(box.detail))</text>\n"
        }
        return svg + "</svg>\n"
    }

    private func top(_ box: Box) -> Double { Self.margin + Double(box.layer) * Self.layerHeight }

    private func path(from a: Box, to b: Box) -> String {
        let x1 = Self.number(a.x + a.width / 2)
        let y1 = top(a) + Self.boxHeight
        let x2 = Self.number(b.x + b.width / 2)
        let y2 = top(b)
        let bend = (y2 - y1) / 2
        return "<path d=\"M\(x1) \(Self.number(y1))C\(x1) \(Self.number(y1 + bend)) \(x2) \(Self.number(y2 - bend)) \(x2) \(Self.number(y2))\"/>\n"
    }

    private static func number(_ value: Double) -> String {
        let rounded = (value * 10).rounded() / 10
        return rounded == rounded.rounded() ? String(Int64(rounded)) : "\(rounded)"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            // XML 1.0 has no way to write most control characters.
            case "\u{0}"..<"\u{20}": result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
