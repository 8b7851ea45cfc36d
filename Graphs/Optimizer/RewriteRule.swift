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
        var nearMisses: [Attempt] = []
        let count = try editor.visit { editor, number in
            switch find(at: number, in: editor) {
            case .failure(let attempt):
                nearMisses.append(attempt)
                return 0
            case .success(nil): return 0
            case .success(let match?):
                guard let output = editor.node(number)?.outputs.first else { return 0 }
                editor.replace(output, with: try rule.rewrite(match, in: &editor))
                return 1
            }
        }
        report.nearMisses.removeAll { $0.rule == rule.name }
        report.nearMisses += Self.distinct(nearMisses, in: editor).map { .init(rule: rule.name, node: $0.label, reason: $0.reason) }
        if count > 0 { graph = editor.finish() }
        return count
    }

    /// A place that the pattern does not fit, or not quite.
    private struct Attempt: Error {
        let nodes: [Int]
        let label: String
        let reason: String
    }

    private func find(at number: Int, in editor: GraphEditor) -> Result<Match?, Attempt> {
        let matcher = PatternMatcher(editor)
        guard let match = matcher.match(rule.pattern, root: number) else {
            guard matcher.closest.nodes.count >= rule.nearMissThreshold else { return .success(nil) }
            return .failure(Attempt(nodes: matcher.closest.nodes, label: editor.label(number), reason: matcher.closest.reason))
        }
        do {
            // First what is no near miss at all, then what only lacks freedom.
            try rule.check(match, in: editor)
            try Self.guardUses(of: match, in: editor)
            return .success(match)
        } catch let mismatch as RuleMismatch {
            return mismatch.isNearMiss ? .failure(Attempt(nodes: match.nodes, label: editor.label(number), reason: mismatch.description)) : .success(nil)
        } catch {
            return .failure(Attempt(nodes: match.nodes, label: editor.label(number), reason: "\(error)"))
        }
    }

    /// Of attempts that share nodes the one that got furthest; none that a fusion took part of after all.
    private static func distinct(_ attempts: [Attempt], in editor: GraphEditor) -> [Attempt] {
        var taken: Set<Int> = []
        var kept: [(position: Int, attempt: Attempt)] = []
        for (position, attempt) in attempts.enumerated().sorted(by: { ($1.element.nodes.count, $0.offset) < ($0.element.nodes.count, $1.offset) })
        where attempt.nodes.allSatisfy({ editor.node($0) != nil }) && taken.isDisjoint(with: attempt.nodes) {
            taken.formUnion(attempt.nodes)
            kept.append((position, attempt))
        }
        return kept.sorted { $0.position < $1.position }.map(\.attempt)
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
