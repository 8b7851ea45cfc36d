import Tensors

/// What is known of one operand of a node: its type, and its elements where inference (a shape) or the graph (a constant) has them.
public struct Fact: Sendable {
    public var type: TensorType
    public var value: SymbolicTensor?
    public var constant: Tensor?

    public init(_ type: TensorType, value: SymbolicTensor? = nil, constant: Tensor? = nil) {
        self.type = type
        self.value = value ?? constant.flatMap(SymbolicTensor.init)
        self.constant = constant
    }
}

/// One operation of the graph: a struct whose stored properties are its attributes.
///
/// `Codable` conformance (synthesised) is what the text form prints and reads, so a property's name is part of the
/// `.graph` format. An operator is complete in its one file: attributes, type rule, value rule, and the reference evaluation that
/// constant folding uses and every optimised kernel is tested against.
public protocol Operator: Sendable, Hashable, Codable {
    /// The name in graph text, snake case, as in Core ML's MIL where it has the word.
    static var name: String { get }

    /// How many operands a node may have; trailing optional ones may be left out or absent.
    static var arity: ClosedRange<Int> { get }

    /// Whether the outputs depend on the key-value cache of the run besides the operands; such a node is never evaluated beforehand.
    static var usesCache: Bool { get }

    /// The types of the outputs.
    ///
    /// - Throws: `OperatorError` where operands do not fit.
    func inferTypes(_ operands: Operands) throws -> [TensorType]

    /// The elements of outputs as far as the elements of the operands tell them; only for operators that shape arithmetic uses.
    func inferValues(_ operands: Operands) throws -> [SymbolicTensor?]

    /// The outputs for actual inputs: plain Swift, any legal dtype, no concern for speed. The inputs fit the type rule.
    func evaluate(_ inputs: Inputs) throws -> [Tensor]
}

extension Operator {
    public static var usesCache: Bool { false }

    public func inferValues(_ operands: Operands) throws -> [SymbolicTensor?] { [] }
}

/// A family of operators that share one struct and differ in `kind`: `add`, `sub`, `mul` are `Binary`. The text form shows the kind
/// as the operator's name.
public protocol OperatorFamily: Operator {
    associatedtype Kind: RawRepresentable & CaseIterable & Sendable & Hashable & Codable where Kind.RawValue == String
    var kind: Kind { get }
}

extension OperatorFamily {
    public static var kindNames: [String] { Kind.allCases.map(\.rawValue) }
}

extension Operator {
    /// The operator's name in text: of a family the kind's.
    public var mnemonic: String {
        if let family = self as? any OperatorFamily { return family.kindName }
        return Self.name
    }
}

extension OperatorFamily {
    fileprivate var kindName: String { kind.rawValue }
}

/// Operands or attributes that an operator does not take.
public struct OperatorError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in classes that a caller may want to tell apart.
    public enum Reason: Sendable, Hashable { case typeMismatch, shapeMismatch, unsupportedType, unsupported, invalidAttribute }
    public let reason: Reason
    public let description: String

    public init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}

/// The facts of a node's operands, with checked access.
public struct Operands: Sendable {
    public let facts: [Fact?]
    /// Prefix for symbols that inference has to invent (data-dependent sizes), unique to the node.
    public let symbolPrefix: String

    public init(_ facts: [Fact?], symbolPrefix: String = "?") {
        self.facts = facts
        self.symbolPrefix = symbolPrefix
    }

    public var count: Int { facts.count }

    public func has(_ index: Int) -> Bool { optional(index) != nil }

    public func optional(_ index: Int) -> Fact? { index < facts.count ? facts[index] : nil }

    /// - Throws: `OperatorError` when the operand is absent.
    public func fact(_ index: Int) throws -> Fact {
        guard let fact = optional(index) else { throw OperatorError(.invalidAttribute, "operand \(index) is missing") }
        return fact
    }

    /// The operand's type, for all operators that work on elements.
    ///
    /// - Throws: `OperatorError` when the operand is absent or block-quantised.
    public func type(_ index: Int) throws -> TensorType {
        let type = try weightType(index)
        guard !type.dtype.isBlock else { throw Self.refusal(index, type.dtype) }
        return type
    }

    /// The type of an operand that may be block-quantised.
    public func weightType(_ index: Int) throws -> TensorType { try fact(index).type }

    private static func refusal(_ index: Int, _ dtype: DType) -> OperatorError {
        OperatorError(
            .typeMismatch, "operand \(index) is \(dtype.rawValue); only the weight of linear, the table of gather and cast take blocks")
    }

    /// The elements of an integer operand as dims, when known.
    public func value(_ index: Int) -> SymbolicTensor? { optional(index)?.value }

    /// A symbol for a size that only the data tell.
    public func freshSymbol(_ index: Int = 0) -> Dim { .symbol("\(symbolPrefix).\(index)") }

    /// - Throws: `OperatorError` unless the operand has one of the types.
    @discardableResult
    public func require(_ index: Int, _ allowed: (DType) -> Bool, _ what: String) throws -> TensorType {
        let type = try type(index)
        guard allowed(type.dtype) else {
            throw OperatorError(.typeMismatch, "operand \(index) is \(type.dtype.rawValue), expected \(what)")
        }
        return type
    }

    /// - Throws: `OperatorError` unless all present operands of those indices have one type; returns it.
    @discardableResult
    public func requireSameType(_ indices: some Sequence<Int>) throws -> DType {
        var common: DType?
        for index in indices {
            guard let dtype = optional(index)?.type.dtype else { continue }
            guard !dtype.isBlock else { throw Self.refusal(index, dtype) }
            if let common, common != dtype {
                throw OperatorError(.typeMismatch, "operands have the types \(common.rawValue) and \(dtype.rawValue)")
            }
            common = dtype
        }
        guard let common else { throw OperatorError(.invalidAttribute, "an operand is missing") }
        return common
    }
}

/// The tensors of a node's operands, with checked access.
public struct Inputs: Sendable {
    public let tensors: [Tensor?]
    public init(_ tensors: [Tensor?]) { self.tensors = tensors }

    public var count: Int { tensors.count }

    public func optional(_ index: Int) -> Tensor? { index < tensors.count ? tensors[index] : nil }

    public subscript(_ index: Int) -> Tensor {
        get throws {
            guard let tensor = optional(index) else { throw OperatorError(.invalidAttribute, "operand \(index) is missing") }
            return tensor
        }
    }

    /// The operands as facts, for operators whose evaluation follows their type rule.
    public var operands: Operands {
        Operands(tensors.map { tensor in tensor.map { Fact(TensorType($0.dtype, shape: $0.shape), constant: $0) } })
    }
}
