import Tensors

/// An ONNX file as Swift values, as written: nothing is checked against the rules of a graph yet.
struct ONNXModel: Sendable {
    var irVersion: Int
    var producer: String
    var opsets: [OpsetImport]
    var metadata: [MetadataProperty]
    var graph: ONNXGraph
    var functions: [ONNXFunction]
    /// Side files that tensors name, in order of appearance.
    var externalFiles: [String]
}

/// Which version of an operator set a model or function uses.
public struct OpsetImport: Sendable, Hashable {
    /// Empty for the standard operators.
    public let domain: String
    public let version: Int
}

/// An entry of the model's metadata.
public struct MetadataProperty: Sendable, Hashable {
    public let key: String
    public let value: String
}

struct ONNXGraph: Sendable {
    var name: String
    var nodes: [ONNXNode]
    var initializers: [ONNXTensor]
    var inputs: [ONNXValueInfo]
    var outputs: [ONNXValueInfo]
    var valueInfo: [ONNXValueInfo]
}

struct ONNXFunction: Sendable {
    var operatorName: OperatorName
    var overload: String
    var inputs: [ExactName]
    var outputs: [ExactName]
    /// Defaults of attributes.
    var attributeDefaults: [ONNXAttribute]
    var nodes: [ONNXNode]
    var opsets: [OpsetImport]
}

/// An operator's domain (empty for the standard one) and name.
struct OperatorName: Hashable, Sendable, CustomStringConvertible {
    let domain: String
    let type: String

    init(_ domain: String, _ type: String) {
        self.domain = domain == "ai.onnx" ? "" : domain
        self.type = type
    }

    var description: String { domain.isEmpty ? type : "\(domain)::\(type)" }
}

struct ONNXNode: Sendable {
    var name: String
    var operatorName: OperatorName
    var overload: String
    /// An empty name stands for an optional input that is absent.
    var inputs: [ExactName]
    /// An empty name stands for an output that nobody uses.
    var outputs: [ExactName]
    var attributes: [ONNXAttribute]
    /// The version of the operator's set; set once functions are inlined.
    var opset = 0

    /// How errors name the node.
    var label: String {
        if !name.isEmpty { return "node \"\(name)\" (\(operatorName))" }
        guard let output = outputs.first(where: { !$0.isEmpty }) else { return "an unnamed node (\(operatorName))" }
        return "the node of \"\(output)\" (\(operatorName))"
    }
}

struct ONNXAttribute: Sendable {
    enum Value: Sendable {
        case float(Float)
        case int(Int)
        case string(String)
        case tensor(ONNXTensor)
        case graph(ONNXGraph)
        case floats([Float])
        case ints([Int])
        case strings([String])
        case sparseTensor(ONNXTensor)
        /// In a function: the attribute of that name of the calling node.
        case reference(String)
        /// A kind that no supported operator takes.
        case other
    }
    var name: String
    var value: Value

    var tensor: ONNXTensor? {
        switch value {
        case .tensor(let tensor), .sparseTensor(let tensor): return tensor
        default: return nil
        }
    }

    /// The graph that the attribute holds (a branch or loop body).
    var graph: ONNXGraph? {
        if case .graph(let graph) = value { return graph }
        return nil
    }
}

/// A tensor of the file, or why it cannot be had.
struct ONNXTensor: Sendable {
    var name: ExactName
    var contents: Result<Tensor, ONNXError>
    /// The file has four bits per element, the tensor eight.
    var isHalfByte = false
}

/// The declared type of an input, output or inner value.
struct ONNXValueInfo: Sendable {
    enum Kind: Sendable {
        /// An element type code of the specification and dims; nil where no shape is given.
        case tensor(code: Int, dims: [Dimension]?)
        /// No tensor: a sequence, map, optional or sparse tensor.
        case other(String)
        case missing
    }
    enum Dimension: Sendable, Hashable {
        case fixed(Int)
        case named(String)
        case unknown
    }
    var name: ExactName
    var kind: Kind
}
