import Tensors

/// A graph that breaks the rules of the form: a defect of a pass or a damaged file.
public struct VerificationError: Error, Sendable, Hashable, CustomStringConvertible {
    public let graph: String
    public let place: String
    public let reason: String
    /// One line, whatever stands in the names.
    public var description: String {
        String("graph \(graph), \(place): \(reason)".unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) })
    }
}

extension Graph {
    /// Checks the whole graph: single assignment, definition before use, operand counts, every node's type rule against the
    /// recorded types, unique output names.
    ///
    /// - Throws: `VerificationError` naming the node.
    public func verify() throws {
        func fail(_ place: String, _ reason: String) -> VerificationError {
            VerificationError(graph: name, place: place, reason: reason)
        }
        var defined = Set(inputs)
        let given = Set(inputs.filter { self[$0].inputDefault == nil }.flatMap { type($0).dims.flatMap(\.symbols) })
        for input in inputs where self[input].inputDefault != nil {
            for symbol in type(input).dims.flatMap(\.symbols) where !given.contains(symbol) {
                throw fail("%\(self[input].name)", "has a default, but no required input tells the size \(symbol)")
            }
        }
        for (index, value) in values.enumerated() {
            guard let constant = value.constant else { continue }
            let id = ValueID(index)
            guard defined.insert(id).inserted else { throw fail("%\(value.name)", "an input cannot be a constant") }
            guard value.type == TensorType(constant.dtype, shape: constant.shape) else {
                throw fail("%\(value.name)", "the constant is not of its recorded type \(value.type)")
            }
        }
        // Blocks are a way to store weights, nothing is computed in them.
        for input in inputs where type(input).dtype.isBlock {
            throw fail("%\(self[input].name)", "is an input of the type \(type(input).dtype.rawValue), only constants are stored in blocks")
        }
        var facts = FactTable()
        for (index, node) in nodes.enumerated() {
            let place = "node \(index) (\(node.op.mnemonic)\(node.name.isEmpty ? "" : " \"\(node.name)\""))"
            let arity = Swift.type(of: node.op).arity
            guard arity.contains(node.inputs.count) else {
                throw fail(place, "has \(node.inputs.count) operands, takes \(arity.lowerBound) to \(arity.upperBound)")
            }
            for case let input? in node.inputs {
                guard values.indices.contains(input.index) else { throw fail(place, "uses a value that does not exist") }
                guard defined.contains(input) else { throw fail(place, "uses %\(self[input].name) before its definition") }
            }
            let types: [TensorType]
            do {
                let prefix = node.outputs.first.map { self[$0].name } ?? node.op.mnemonic
                types = try node.op.inferTypes(facts.operands(node.inputs, in: self, symbolPrefix: prefix))
                try facts.record(node, in: self)
            } catch {
                throw fail(place, "\(error)")
            }
            guard types.count == node.outputs.count else {
                throw fail(place, "has \(node.outputs.count) outputs, its rule gives \(types.count)")
            }
            for (output, inferred) in zip(node.outputs, types) {
                guard !inferred.dtype.isBlock else {
                    throw fail(place, "gives the type \(inferred.dtype.rawValue), only constants are stored in blocks")
                }
                guard values.indices.contains(output.index) else { throw fail(place, "defines a value that does not exist") }
                guard defined.insert(output).inserted else { throw fail(place, "defines %\(self[output].name) a second time") }
                let recorded = self.type(output)
                guard recorded.dtype == inferred.dtype, recorded.rank == inferred.rank,
                    zip(recorded.dims, inferred.dims).allSatisfy({ Dim.areEqual($0, $1) != false })
                else { throw fail(place, "%\(self[output].name) is recorded as \(recorded), its rule gives \(inferred)") }
            }
        }
        var outputNames: Set<String> = []
        for output in outputs {
            guard defined.contains(output.value) else { throw fail("output \(output.name)", "is not defined") }
            guard !type(output.value).dtype.isBlock else {
                throw fail("output \(output.name)", "is of the type \(type(output.value).dtype.rawValue), only constants are stored in blocks")
            }
            guard outputNames.insert(output.name).inserted else { throw fail("output \(output.name)", "stands twice") }
        }
    }
}
