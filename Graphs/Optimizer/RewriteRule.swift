import GraphIR

/// One kind of fusion: what to look for, when it is right, and what to put in its place. The driver makes sure that nothing else uses
/// the nodes that go.
public protocol RewriteRule: Sendable {
    /// As the report shows it.
    var name: String { get }

    var pattern: Pattern { get }

    /// An attempt that matched at least so many nodes before it failed is reported as a near miss.
    var nearMissThreshold: Int { get }

    /// Looks at what a pattern cannot say: types, shapes, axes.
    ///
    /// - Throws: `RuleMismatch` with the reason why the rule does not apply.
    func check(_ match: Match, in editor: GraphEditor) throws

    /// Adds the new nodes.
    ///
    /// - Returns: The value that takes the place of the pattern's last.
    func rewrite(_ match: Match, in editor: inout GraphEditor) throws -> ValueID
}

extension RewriteRule {
    public func check(_ match: Match, in editor: GraphEditor) throws {}
}

/// Why a rule does not apply at a place that fits its pattern.
public struct RuleMismatch: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    /// Whether a user could want to know.
    let isNearMiss: Bool

    public init(_ reason: String, isNearMiss: Bool = true) {
        description = reason
        self.isNearMiss = isNearMiss
    }
}

/// Applies one rule wherever it fits.
struct RewritePass: Pass {
    let rule: any RewriteRule
    var name: String { rule.name }

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        var editor = try GraphEditor(graph)
        let rule = rule
        var nearMisses: [OptimizationReport.NearMiss] = []
        let count = try editor.visit { editor, number in
            let match: Match
            do {
                match = try find(at: number, in: editor)
            } catch let mismatch as RuleMismatch {
                if mismatch.isNearMiss {
                    nearMisses.append(.init(rule: rule.name, node: editor.label(number), reason: mismatch.description))
                }
                return 0
            }
            guard let output = editor.node(number)?.outputs.first else { return 0 }
            editor.replace(output, with: try rule.rewrite(match, in: &editor))
            return 1
        }
        report.nearMisses.removeAll { $0.rule == rule.name }
        report.nearMisses += nearMisses
        if count > 0 { graph = editor.finish() }
        return count
    }

    /// - Throws: `RuleMismatch` with the reason why the rule does not apply here.
    private func find(at number: Int, in editor: GraphEditor) throws -> Match {
        let matcher = PatternMatcher(editor)
        guard let match = matcher.match(rule.pattern, root: number) else {
            throw RuleMismatch(matcher.closest.reason, isNearMiss: matcher.closest.matched >= rule.nearMissThreshold)
        }
        // First what is no near miss at all, then what only lacks freedom.
        try rule.check(match, in: editor)
        try Self.guardUses(of: match, in: editor)
        return match
    }

    /// - Throws: `RuleMismatch` where something else needs a value inside the pattern.
    private static func guardUses(of match: Match, in editor: GraphEditor) throws {
        let inside = Set(match.nodes)
        for number in match.nodes where number != match.root && !match.shared.contains(number) {
            for output in editor.node(number)?.outputs ?? [] {
                if editor.isOutput(output) { throw RuleMismatch("%\(editor.graph[output].name) is an output of the graph") }
                if let other = editor.users(output).first(where: { !inside.contains($0) }) {
                    throw RuleMismatch("%\(editor.graph[output].name) is also used by \(editor.label(other))")
                }
            }
        }
    }
}
