import GraphIR
import Tensors

/// A place where a pattern fits: its nodes and captured values.
public struct Match: Sendable {
    /// The number of the last node.
    let root: Int
    /// Numbers of all nodes of the pattern, the root first.
    fileprivate(set) var nodes: [Int] = []
    fileprivate(set) var shared: Set<Int> = []
    private var captures: [(name: String, value: ValueID)] = []

    init(root: Int) { self.root = root }

    /// The captured value, where the branch of the pattern that has it was taken.
    public func optional(_ name: String) -> ValueID? { captures.first { $0.name == name }?.value }

    /// - Throws: `RuleMismatch` where the pattern has no such name.
    public subscript(_ name: String) -> ValueID {
        get throws {
            guard let value = optional(name) else { throw RuleMismatch("the pattern captures no \(name)") }
            return value
        }
    }

    /// False where the name stands for another value already.
    fileprivate mutating func capture(_ name: String, _ value: ValueID) -> Bool {
        if let known = optional(name) { return known == value }
        captures.append((name, value))
        return true
    }
}

/// Finds patterns, with full backtracking over alternatives and operand orders, and remembers how far the best attempt got. A class, because
/// the attempts of all branches report to one place.
final class PatternMatcher {
    let editor: GraphEditor
    /// The nodes that the best failed attempt matched, and what stopped it.
    private(set) var closest: (nodes: [Int], reason: String) = ([], "")

    private typealias Continuation = (Match) -> Match?

    init(_ editor: GraphEditor) { self.editor = editor }

    func match(_ pattern: Pattern, root: Int) -> Match? {
        guard let output = editor.node(root)?.outputs.first else { return nil }
        return match(pattern, output, Match(root: root)) { $0 }
    }

    private func fail(_ partial: Match, _ reason: @autoclosure () -> String) -> Match? {
        if partial.nodes.count > closest.nodes.count { closest = (partial.nodes, reason()) }
        return nil
    }

    private func text(_ value: ValueID?) -> String { value.map { "%\(editor.graph[$0].name)" } ?? "an absent operand" }

    private func match(_ pattern: Pattern, _ value: ValueID?, _ partial: Match, _ next: Continuation) -> Match? {
        var extended = partial
        switch (pattern, value) {
        case (.optional, nil), (.absent, nil): return next(partial)
        case (.absent, let value?): return fail(partial, "\(text(value)) stands where the pattern has no operand")
        case (.any(let name), let value?), (.optional(let name), let value?):
            guard extended.capture(name, value) else { return fail(partial, "\(text(value)) stands where the pattern has \(name)") }
            return next(extended)
        case (.constant(let name), let value?):
            guard editor.constant(value) != nil, extended.capture(name, value) else {
                return fail(partial, "\(text(value)) is not the constant \(name)")
            }
            return next(extended)
        case (.scalar(let expected), let value?):
            guard let actual = editor.scalar(value) else { return fail(partial, "\(text(value)) is not the constant \(expected)") }
            guard Self.isClose(actual, expected, editor.type(value).dtype) else {
                return fail(partial, "the constant is \(actual), expected \(expected)")
            }
            return next(extended)
        case (.either(let patterns), _):
            for pattern in patterns {
                if let match = match(pattern, value, partial, next) { return match }
            }
            return nil
        case (.node(let node), let value?): return match(node, value, partial, next)
        case (_, nil): return fail(partial, "an operand is absent")
        }
    }

    private func match(_ pattern: NodePattern, _ value: ValueID, _ partial: Match, _ next: Continuation) -> Match? {
        guard let number = editor.definition(value), let node = editor.node(number), pattern.accepts(node.op) else {
            let found = editor.op(value)?.mnemonic ?? (editor.constant(value) == nil ? "an input" : "a constant")
            return fail(partial, "found \(found), expected \(pattern.name)")
        }
        var extended = partial
        if !extended.nodes.contains(number) { extended.nodes.append(number) }
        if pattern.isShared { extended.shared.insert(number) }
        if let capture = pattern.capture, !extended.capture(capture, value) {
            return fail(partial, "\(text(value)) stands where the pattern has \(capture)")
        }
        var inputs = node.inputs
        guard inputs.count <= pattern.operands.count || inputs[pattern.operands.count...].allSatisfy({ $0 == nil }) else {
            return fail(extended, "\(pattern.name) has \(inputs.count) operands, expected at most \(pattern.operands.count)")
        }
        while inputs.count < pattern.operands.count { inputs.append(nil) }
        if let match = match(pattern.operands[...], inputs[...], extended, next) { return match }
        guard pattern.isCommutative, inputs.count == 2 else { return nil }
        return match(pattern.operands[...], [inputs[1], inputs[0]][...], extended, next)
    }

    private func match(
        _ patterns: ArraySlice<Pattern>, _ values: ArraySlice<ValueID?>, _ partial: Match, _ next: Continuation
    ) -> Match? {
        guard let pattern = patterns.first, let value = values.first else { return next(partial) }
        return match(pattern, value, partial) { [self] in
            match(patterns.dropFirst(), values.dropFirst(), $0, next)
        }
    }

    /// Equal to the precision in which exporters write constants of that type.
    private static func isClose(_ actual: Double, _ expected: Double, _ dtype: DType) -> Bool {
        let tolerance: Double
        switch dtype {
        case .f16: tolerance = 1e-3
        case .bf16: tolerance = 8e-3
        case .f32, .f64: tolerance = 1e-6
        default: tolerance = 0
        }
        if abs(actual - expected) <= tolerance * abs(expected) { return true }
        // Or the number as a 16-bit float had it before the graph was widened to f32.
        let narrow = Float(expected)
        return actual == Double(HalfPrecision.float(fromF16: HalfPrecision.f16(from: narrow)))
            || actual == Double(HalfPrecision.float(fromBF16: HalfPrecision.bf16(from: narrow)))
    }
}
