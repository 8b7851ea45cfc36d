/// What a model asks for that the converter does not have: versions and operators.
enum SupportCheck {
    static let irVersions = 3...13
    static let opsets = 7...24
    private static let microsoftOpsets = 1...1

    /// Operators of the specification on sequences, optionals and strings: what is missing is the type, not only the operator.
    private static let foreignTypes: Set<String> = [
        "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap",
        "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "StringConcat",
        "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer",
    ]

    struct UnsupportedOperator {
        let operatorName: OperatorName
        let opset: Int
        var nodes: [ONNXNode]
    }

    /// - Throws: `ONNXError` naming the version.
    static func checkVersions(_ model: ONNXModel, path: String) throws {
        guard irVersions.contains(model.irVersion) else {
            throw ONNXError(
                .unsupportedVersion, path: path, "has IR version \(model.irVersion), supported are \(irVersions.lowerBound) to \(irVersions.upperBound)")
        }
        for opset in model.opsets + model.functions.flatMap(\.opsets) {
            let supported = opset.domain.isEmpty ? opsets : opset.domain == "com.microsoft" ? microsoftOpsets : nil
            guard let supported, !supported.contains(opset.version) else { continue }
            throw ONNXError(
                .unsupportedVersion, path: path,
                "uses version \(opset.version) of the operator set \(opset.domain.isEmpty ? "ai.onnx" : opset.domain), supported are \(supported.lowerBound) to \(supported.upperBound)"
            )
        }
    }

    /// The operators without a lowering, in order of appearance; those inside branches and loop bodies too.
    static func unsupportedOperators(_ nodes: [ONNXNode]) -> [UnsupportedOperator] {
        var found: [UnsupportedOperator] = []
        var indices: [OperatorName: Int] = [:]
        func visit(_ node: ONNXNode, opset: Int) {
            if OperatorTable.rule(for: node.operatorName) == nil {
                if let index = indices[node.operatorName] {
                    found[index].nodes.append(node)
                } else {
                    indices[node.operatorName] = found.count
                    found.append(UnsupportedOperator(operatorName: node.operatorName, opset: opset, nodes: [node]))
                }
            }
            for attribute in node.attributes {
                for inner in attribute.graph?.nodes ?? [] { visit(inner, opset: opset) }
            }
        }
        for node in nodes { visit(node, opset: node.opset) }
        return found
    }

    static func kind(_ unsupported: [UnsupportedOperator]) -> ONNXError.Kind {
        unsupported.allSatisfy { $0.operatorName.domain.isEmpty && foreignTypes.contains($0.operatorName.type) }
            ? .unsupportedType : .unsupportedOperator
    }

    /// - Throws: `ONNXError` naming all of them.
    static func checkOperators(_ nodes: [ONNXNode], path: String) throws {
        let unsupported = unsupportedOperators(nodes)
        guard !unsupported.isEmpty else { return }
        let list = unsupported.map { "\($0.operatorName) (\($0.nodes.count)x)" }.joined(separator: ", ")
        let kind = kind(unsupported)
        throw ONNXError(
            kind, path: path,
            kind == .unsupportedType
                ? "uses sequences, optionals or strings, which are not supported, in \(list)" : "uses operators that are not supported: \(list)")
    }
}
