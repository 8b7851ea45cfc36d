import Foundation
import GraphIR
import Operators
import Tensors

/// Turns an ONNX file into a graph.
///
/// Taken on: IR versions 3 to 13, operator set versions 7 to 24 of the standard domain, the operators of `OperatorTable`, model-local
/// functions (inlined), external data, and all element types but strings, complex numbers and 8-bit floats. Weights stay in the
/// mapped file where they are aligned to their element size.
public struct ONNXImporter {
    /// The operators that convert, by domain (empty: the standard one).
    public static let supportedOperators = ["", "com.microsoft"].map { (domain: $0, names: OperatorTable.names(domain: $0)) }

    /// How to convert.
    public struct Options: Sendable {
        /// Initializers that the file also lists as inputs (from IR version 4 on: inputs with a default) stay inputs. Otherwise
        /// they become constants, which is what the many files mean that list all their weights as inputs.
        public var keepsInputsWithDefaults = false

        public init() {}
    }

    /// Converts a model.
    ///
    /// - Throws: `FileError` when the file cannot be read, `ONNXError` when it is damaged or asks for what is not supported.
    public static func convert(contentsOf url: URL, options: Options = Options()) throws -> ONNXConversion {
        let model = try ModelReader.read(url)
        try SupportCheck.checkVersions(model, path: url.path)
        let nodes = try FunctionInliner.inline(model, path: url.path)
        try SupportCheck.checkOperators(nodes, path: url.path)
        let (sorted, wasSorted) = try NodeOrder.sorted(nodes, graph: model.graph, path: url.path)
        var assembly = GraphAssembly(model: model, path: url.path, options: options)
        if !wasSorted { assembly.warnings.append("nodes stood before the nodes whose outputs they use, and were sorted") }
        return try assembly.run(sorted)
    }

    /// Everything that stands in the way of a conversion, at once; empty when `convert` succeeds.
    ///
    /// - Throws: `FileError` when the file cannot be read, `ONNXError` when it is no ONNX model.
    public static func check(contentsOf url: URL) throws -> [ConversionIssue] {
        let model = try ModelReader.read(url)
        var issues: [ConversionIssue] = []
        func note(_ body: () throws -> Void) throws {
            do { try body() } catch let error as ONNXError { issues.append(ConversionIssue(error)) }
        }
        try note { try SupportCheck.checkVersions(model, path: url.path) }
        for case .failure(let error) in model.graph.initializers.map(\.contents) { issues.append(ConversionIssue(error)) }
        for info in model.graph.inputs { try note { _ = try GraphAssembly.type(info, path: url.path) } }
        try note {
            let nodes = try FunctionInliner.inline(model, path: url.path)
            let unsupported = SupportCheck.unsupportedOperators(nodes)
            let declared = DeclaredTypes(model.graph)
            for entry in unsupported { issues.append(ConversionIssue(entry, kind: SupportCheck.kind([entry]), declared)) }
            _ = try NodeOrder.sorted(nodes, graph: model.graph, path: url.path)
        }
        // What lowering finds comes to light one at a time only, and only once the rest is in order.
        if issues.isEmpty { try note { _ = try convert(contentsOf: url) } }
        return issues
    }
}

extension ConversionIssue {
    fileprivate init(_ error: ONNXError) {
        self.init(kind: error.kind, operatorName: nil, opset: nil, nodes: [], elementTypes: [], description: error.reason)
    }

    fileprivate init(_ entry: SupportCheck.UnsupportedOperator, kind: ONNXError.Kind, _ declared: DeclaredTypes) {
        let names = entry.nodes.map { $0.name.isEmpty ? ($0.outputs.first?.text ?? "") : $0.name }
        var types: [String] = []
        for name in entry.nodes.flatMap(\.inputs) {
            if let type = declared[name], !types.contains(type) { types.append(type) }
        }
        let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", ..." : "")
        self.init(
            kind: kind, operatorName: entry.operatorName.description, opset: entry.opset == 0 ? nil : entry.opset, nodes: names,
            elementTypes: types,
            description: "the operator \(entry.operatorName)\(entry.opset == 0 ? "" : " (version \(entry.opset))")"
                + "\(types.isEmpty ? "" : " of \(types.joined(separator: ", "))") is not supported; nodes: \(shown)")
    }
}

/// The element types that a file declares for its values.
private struct DeclaredTypes {
    private var types: [ExactName: String] = [:]

    init(_ graph: ONNXGraph) {
        for info in graph.inputs + graph.valueInfo + graph.outputs {
            switch info.kind {
            case .tensor(let code, _): types[info.name] = ElementType.name(code)
            case .other(let kind): types[info.name] = kind
            case .missing: break
            }
        }
        for initializer in graph.initializers {
            if case .success(let tensor) = initializer.contents { types[initializer.name] = tensor.dtype.rawValue }
        }
    }

    subscript(_ name: ExactName) -> String? { types[name] }
}
