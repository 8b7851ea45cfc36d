import GraphIR
import Operators
import Tensors

/// Builds the graph: inputs, initializers, the nodes in order, outputs; and compares what the file declares with what inference proves.
struct GraphAssembly {
    private let model: ONNXModel
    private let path: String
    private let options: ONNXImporter.Options
    private var lowering: NodeLowering
    private var values: [ExactName: ValueID] = [:]
    private var inputDefaults: [(name: String, value: Tensor)] = []
    /// Symbols that an input's size gives a value.
    private var inputSymbols: Set<String> = []
    var warnings: [String] = []

    init(model: ONNXModel, path: String, options: ONNXImporter.Options) {
        self.model = model
        self.path = path
        self.options = options
        lowering = NodeLowering(graph: model.graph.name.isEmpty ? "model" : model.graph.name, path: path)
    }

    mutating func run(_ nodes: [ONNXNode]) throws -> ONNXConversion {
        try checkHalfByteUses(nodes)
        try addInputsAndInitializers()
        inputSymbols = Set(lowering.builder.graph.inputSymbols)
        for node in nodes {
            let inputs = try node.inputs.map { name -> ValueID? in name.isEmpty ? nil : try value(name, "\(node.label) uses") }
            let results = try lowering.lower(node, inputs: inputs)
            for (name, result) in zip(node.outputs, results) where !name.isEmpty { values[name] = result }
        }
        for output in model.graph.outputs {
            let value = try value(output.name, "the graph outputs")
            lowering.builder.output(output.name.text, value)
            try checkDeclaration(output, isOutput: true)
        }
        guard !model.graph.outputs.isEmpty else { throw ONNXError(.malformedFile, path: path, "the graph has no outputs") }
        for info in model.graph.valueInfo { try checkDeclaration(info, isOutput: false) }
        let information = ONNXInformation(
            irVersion: model.irVersion, opsets: model.opsets, producer: model.producer, metadataProperties: model.metadata,
            externalFiles: model.externalFiles)
        return ONNXConversion(
            graph: lowering.builder.graph.compacted(), warnings: warnings + lowering.warnings, information: information, inputDefaults: inputDefaults)
    }

    private func value(_ name: ExactName, _ user: String) throws -> ValueID {
        guard let value = values[name] else { throw ONNXError(.undefinedValue, path: path, "\(user) \"\(name)\", which nothing defines") }
        return value
    }

    private mutating func addInputsAndInitializers() throws {
        let defaults = Dictionary(model.graph.initializers.map { ($0.name, $0) }) { first, _ in first }
        var constants: [String] = []
        for input in model.graph.inputs {
            if let initializer = defaults[input.name] {
                // Before IR version 4 every initializer had to be listed as an input.
                guard model.irVersion >= 4 else { continue }
                guard options.keepsInputsWithDefaults else {
                    constants.append(input.name.text)
                    continue
                }
                inputDefaults.append((input.name.text, try initializer.contents.get()))
            }
            values[input.name] = lowering.builder.input(input.name.text, try Self.type(input, path: path))
        }
        for initializer in model.graph.initializers {
            let tensor = try initializer.contents.get()
            guard values[initializer.name] == nil else { continue }
            values[initializer.name] = lowering.builder.constant(tensor, name: initializer.name.text)
        }
        if !constants.isEmpty {
            let shown = constants.prefix(4).map { "\"\($0)\"" }.joined(separator: ", ") + (constants.count > 4 ? ", ..." : "")
            warnings.append("\(constants.count) inputs have a default value and became constants: \(shown)")
        }
    }

    /// The type of an input. A named dim becomes a symbol, a dim without a name one of its own.
    static func type(_ info: ONNXValueInfo, path: String) throws -> TensorType {
        func fail(_ kind: ONNXError.Kind, _ reason: String) -> ONNXError {
            ONNXError(kind, path: path, "the input \"\(info.name)\" \(reason)")
        }
        switch info.kind {
        case .missing: throw fail(.malformedFile, "has no type")
        case .other(let kind): throw fail(.unsupportedType, "is a \(kind), only tensors are supported")
        case .tensor(let code, let dims):
            guard let dtype = ElementType.dtype(code) else {
                throw fail(.unsupportedType, "has the element type \(ElementType.name(code)), which is not supported")
            }
            guard let dims else { throw fail(.unsupportedType, "has no declared number of dimensions") }
            guard dims.count <= 64 else { throw fail(.malformedFile, "has \(dims.count) dimensions") }
            return TensorType(
                dtype,
                dims.enumerated().map { axis, dim in
                    switch dim {
                    case .fixed(let size): return .fixed(size)
                    case .named(let name): return .symbol(symbolName(name))
                    case .unknown: return .symbol(symbolName("\(info.name).\(axis)"))
                    }
                })
        }
    }

    /// The graph's text form writes odd names in backquotes, so they cannot hold one.
    private static func symbolName(_ name: String) -> String {
        name.utf8.contains(UInt8(ascii: "`")) ? String(name.map { $0 == "`" ? "'" : $0 }) : name
    }

    /// Four-bit tensors are held as bytes, which only the operators that read their numbers may see.
    private func checkHalfByteUses(_ nodes: [ONNXNode]) throws {
        let halfBytes = Set(model.graph.initializers.lazy.filter(\.isHalfByte).map(\.name))
        for node in nodes {
            let reads = node.operatorName.type == "Cast" || node.operatorName.type == "DequantizeLinear"
            let holds = node.attributes.contains { $0.tensor?.isHalfByte == true }
            guard holds || (!reads && node.inputs.contains(where: halfBytes.contains)) else { continue }
            throw ONNXError(.unsupportedType, path: path, "\(node.label) takes 4-bit integers, which only Cast and DequantizeLinear can")
        }
    }

    /// Inference wins over the declared dims of a value, with a warning; a declared element type must be right.
    private mutating func checkDeclaration(_ info: ONNXValueInfo, isOutput: Bool) throws {
        guard let value = values[info.name] else { return }
        let type = lowering.type(value)
        let what = "\(isOutput ? "the output" : "the value") \"\(info.name)\""
        switch info.kind {
        case .missing: return
        case .other(let kind): throw ONNXError(.unsupportedType, path: path, "\(what) is declared as a \(kind), only tensors are supported")
        case .tensor(let code, let dims):
            guard code != 0 else { return }
            guard let declared = ElementType.dtype(code) else {
                throw ONNXError(.unsupportedType, path: path, "\(what) has the element type \(ElementType.name(code)), which is not supported")
            }
            guard declared == type.dtype else {
                throw ONNXError(.typeMismatch, path: path, "\(what) is declared as \(declared.rawValue) but is \(type.dtype.rawValue)")
            }
            guard let dims else { return }
            guard dims.count == type.rank else {
                return warn("\(what) is declared with \(dims.count) dimensions but has \(type.rank): \(type)")
            }
            for (dim, inferred) in zip(dims, type.dims) where contradicts(dim, inferred) {
                let declared = dims.map(Self.text).joined(separator: ", ")
                return warn("\(what) is declared as [\(declared)] but is \(type)")
            }
        }
    }

    private mutating func warn(_ text: String) {
        if !warnings.contains(text) { warnings.append(text) }
    }

    private static func text(_ dim: ONNXValueInfo.Dimension) -> String {
        switch dim {
        case .fixed(let size): return String(size)
        case .named(let name): return name
        case .unknown: return "?"
        }
    }

    /// Whether a declared dim cannot be what inference found. Names that no input has are mere labels.
    private func contradicts(_ declared: ONNXValueInfo.Dimension, _ inferred: Dim) -> Bool {
        switch declared {
        case .unknown: return false
        case .fixed(let size): return Dim.areEqual(.fixed(size), inferred) == false
        case .named(let name):
            guard inputSymbols.contains(name), inferred.symbols.isSubset(of: inputSymbols), inferred != .symbol(name) else { return false }
            // `total` for `past + sequence` may well be right; 2*batch for `batch` is not, nor is a number or another input's name.
            let isExpression = inferred.fixedValue == nil && inferred.symbolName == nil
            return !isExpression || (inferred.symbols == [name] && (try? inferred - .symbol(name))?.isKnownNonNegative == true)
        }
    }
}
