import GraphIR
import Operators
import Tensors

/// A shape of a graph, written from its last node backwards. The same captured name twice must be the same value both times.
public indirect enum Pattern: Sendable {
    /// Any value.
    case any(String)
    /// Any value, or an absent operand, which captures nothing.
    case optional(String)
    /// An absent operand.
    case absent
    /// A constant of any contents.
    case constant(String)
    /// A constant that is this number, to the precision of its type.
    case scalar(Double)
    /// The output of a node.
    case node(NodePattern)
    /// The first of several that matches.
    case either([Pattern])
}

/// One node of a pattern and what its operands must be.
public struct NodePattern: Sendable {
    let name: String
    let accepts: @Sendable (any Operator) -> Bool
    let operands: [Pattern]
    /// The two operands may come in either order.
    let isCommutative: Bool
    /// Captures the node's output.
    var capture: String?
    /// The node may have other users: it then stays for them.
    var isShared = false
}

extension Pattern {
    static func node<Op: Operator>(
        _ name: String, _ type: Op.Type, _ operands: [Pattern], commutative: Bool = false, where accepts: @escaping @Sendable (Op) -> Bool = { _ in true }
    ) -> Pattern {
        .node(NodePattern(
            name: name, accepts: { op in (op as? Op).map(accepts) ?? false }, operands: operands, isCommutative: commutative))
    }

    static func unary(_ kind: Unary.Kind, _ x: Pattern) -> Pattern { node(kind.rawValue, Unary.self, [x]) { $0.kind == kind } }

    private static func binary(_ kind: Binary.Kind, _ a: Pattern, _ b: Pattern, commutative: Bool = false) -> Pattern {
        node(kind.rawValue, Binary.self, [a, b], commutative: commutative) { $0.kind == kind }
    }
    static func add(_ a: Pattern, _ b: Pattern) -> Pattern { binary(.add, a, b, commutative: true) }
    static func mul(_ a: Pattern, _ b: Pattern) -> Pattern { binary(.mul, a, b, commutative: true) }
    static func sub(_ a: Pattern, _ b: Pattern) -> Pattern { binary(.sub, a, b) }
    static func div(_ a: Pattern, _ b: Pattern) -> Pattern { binary(.div, a, b) }
    static func pow(_ a: Pattern, _ b: Pattern) -> Pattern { binary(.pow, a, b) }

    /// x * factor, also where it is spelled as a division by the inverse.
    static func scaled(_ x: Pattern, by factor: Double) -> Pattern {
        .either([.mul(x, .scalar(factor)), .div(x, .scalar(1 / factor))])
    }

    /// The pattern's node with its output captured.
    func captured(_ name: String) -> Pattern {
        guard case .node(var node) = self else { return self }
        node.capture = name
        return .node(node)
    }

    /// The pattern's node, which other nodes may use too.
    var shared: Pattern {
        guard case .node(var node) = self else { return self }
        node.isShared = true
        return .node(node)
    }
}
