import Tensors

/// Replaces calls of model-local functions by their bodies, and gives every node the version of its operator set.
struct FunctionInliner {
    private let path: String
    private let functions: [Key: ONNXFunction]
    private let modelOpsets: [OpsetImport]
    private var usedNames: Set<ExactName>
    private(set) var nodes: [ONNXNode] = []

    private struct Key: Hashable {
        let operatorName: OperatorName
        let overload: String
    }

    /// Functions that call functions: real models stay far below both bounds.
    private static let maximumDepth = 32
    private static let maximumNodes = 1 << 20

    static func inline(_ model: ONNXModel, path: String) throws -> [ONNXNode] {
        var functions: [Key: ONNXFunction] = [:]
        for function in model.functions {
            let key = Key(operatorName: function.operatorName, overload: function.overload)
            guard functions.updateValue(function, forKey: key) == nil else {
                throw ONNXError(.duplicateName, path: path, "the function \(function.operatorName) is defined twice")
            }
        }
        var used = Set(model.graph.nodes.flatMap { $0.outputs })
        used.formUnion(model.graph.inputs.map(\.name))
        used.formUnion(model.graph.initializers.map(\.name))
        var inliner = FunctionInliner(path: path, functions: functions, modelOpsets: model.opsets, usedNames: used)
        try inliner.append(model.graph.nodes, opsets: model.opsets, depth: 0)
        return inliner.nodes
    }

    private init(path: String, functions: [Key: ONNXFunction], modelOpsets: [OpsetImport], usedNames: Set<ExactName>) {
        self.path = path
        self.functions = functions
        self.modelOpsets = modelOpsets
        self.usedNames = usedNames
    }

    private mutating func append(_ added: [ONNXNode], opsets: [OpsetImport], depth: Int) throws {
        for node in added {
            if let function = functions[Key(operatorName: node.operatorName, overload: node.overload)] {
                guard depth < Self.maximumDepth else {
                    throw ONNXError(.malformedFile, path: path, "\(node.label): functions call each other without end")
                }
                try append(body(of: function, for: node), opsets: function.opsets.isEmpty ? modelOpsets : function.opsets, depth: depth + 1)
            } else {
                guard nodes.count < Self.maximumNodes else {
                    throw ONNXError(.malformedFile, path: path, "the graph has more than \(Self.maximumNodes) nodes once functions are inlined")
                }
                var node = node
                node.opset = opsets.first { $0.domain == node.operatorName.domain }?.version ?? 0
                guard node.opset != 0 || !node.operatorName.domain.isEmpty else {
                    throw ONNXError(.malformedFile, path: path, "\(node.label): the version of its operator set is not given")
                }
                nodes.append(node)
            }
        }
    }

    /// A function's nodes with the caller's values and attributes in place of its own names.
    private mutating func body(of function: ONNXFunction, for call: ONNXNode) throws -> [ONNXNode] {
        guard call.inputs.count <= function.inputs.count, call.outputs.count <= function.outputs.count else {
            throw ONNXError(.malformedFile, path: path, "\(call.label) has more inputs or outputs than its function")
        }
        var renamed: [ExactName: ExactName] = [ExactName(""): ExactName("")]
        for (index, formal) in function.inputs.enumerated() {
            renamed[formal] = index < call.inputs.count ? call.inputs[index] : ExactName("")
        }
        var result: [ONNXNode] = []
        for (formal, actual) in zip(function.outputs, call.outputs) where !actual.isEmpty {
            if let input = renamed[formal] {
                result.append(
                    ONNXNode(
                        name: call.name, operatorName: OperatorName("", "Identity"), overload: "", inputs: [input], outputs: [actual],
                        attributes: []))
            } else {
                renamed[formal] = actual
            }
        }
        let prefix = call.name.isEmpty ? call.operatorName.type : call.name
        func innerName(_ name: ExactName, _ renamed: inout [ExactName: ExactName], _ used: inout Set<ExactName>) -> ExactName {
            if let known = renamed[name] { return known }
            var candidate = ExactName("\(prefix)/\(name)")
            var number = 1
            while !used.insert(candidate).inserted {
                candidate = ExactName("\(prefix)/\(name)_\(number)")
                number += 1
            }
            renamed[name] = candidate
            return candidate
        }
        for var node in function.nodes {
            node.name = node.name.isEmpty ? prefix : "\(prefix)/\(node.name)"
            node.inputs = node.inputs.map { innerName($0, &renamed, &usedNames) }
            node.outputs = node.outputs.map { innerName($0, &renamed, &usedNames) }
            node.attributes = node.attributes.compactMap { attribute in
                guard case .reference(let name) = attribute.value else { return attribute }
                let source = call.attributes.first { $0.name == name } ?? function.attributeDefaults.first { $0.name == name }
                return source.map { ONNXAttribute(name: attribute.name, value: $0.value) }
            }
            result.append(node)
        }
        return result
    }
}
