import CONNX
import Foundation
import Tensors

/// Reads an ONNX file: maps it, scans its wire format, unpacks what is left of it without the weights, and copies that into Swift values.
struct ModelReader {
    private var tensors: TensorReader
    private let path: String

    /// - Throws: `FileError` where the file cannot be mapped, `ONNXError` where it is no ONNX model.
    static func read(_ url: URL) throws -> ONNXModel {
        let storage = try Storage(mapping: url)
        var reader = ModelReader(
            tensors: TensorReader(path: url.path, storage: storage, external: ExternalData(model: url)), path: url.path)
        return try reader.model()
    }

    private func fail(_ reason: String) -> ONNXError { ONNXError(.malformedFile, path: path, reason) }

    private mutating func model() throws -> ONNXModel {
        let bytes = tensors.storage.bytes
        guard bytes.count > 0 else { throw fail("is empty, not an ONNX model") }
        var scan = onnx_scan_result()
        let status = onnx_scan_model(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &scan)
        defer { free(scan.bytes) }
        guard status == ONNX_SCAN_OK else { throw fail("is no ONNX model or damaged: byte \(scan.offset): \(Self.reason(status))") }
        guard let unpacked = onnx__model_proto__unpack(nil, scan.count, scan.bytes) else {
            throw fail("is no ONNX model or damaged: its messages do not unpack")
        }
        defer { onnx__model_proto__free_unpacked(unpacked, nil) }
        let proto = unpacked.pointee
        guard proto.has_ir_version != 0, let graph = proto.graph else {
            throw fail("is no ONNX model: it has no \(proto.graph == nil ? "graph" : "ir_version")")
        }
        let producer = [try text(proto.producer_name), try text(proto.producer_version)].filter { !$0.isEmpty }
        var result = ONNXModel(
            irVersion: Int(proto.ir_version),
            producer: producer.joined(separator: " "),
            opsets: try opsets(proto.opset_import, proto.n_opset_import),
            metadata: try pointers(proto.metadata_props, proto.n_metadata_props).map {
                MetadataProperty(key: try text($0.pointee.key), value: try text($0.pointee.value))
            },
            graph: try self.graph(graph.pointee),
            functions: [],
            externalFiles: [])
        for function in pointers(proto.functions, proto.n_functions) { result.functions.append(try self.function(function.pointee)) }
        result.externalFiles = tensors.external.locations
        return result
    }

    private static func reason(_ status: onnx_scan_status) -> String {
        switch status {
        case ONNX_SCAN_TRUNCATED: return "a field goes beyond the end of the file or of its message"
        case ONNX_SCAN_BAD_VARINT: return "a number has too many bytes"
        case ONNX_SCAN_BAD_TAG: return "there is no field of that kind"
        case ONNX_SCAN_BAD_STRING: return "a name holds a zero byte"
        case ONNX_SCAN_REPEATED: return "a field stands twice"
        case ONNX_SCAN_TOO_DEEP: return "messages are nested too deeply"
        case ONNX_SCAN_TOO_MANY: return "there are more than \(ONNX_SCAN_MAXIMUM_FIELDS) fields"
        case ONNX_SCAN_TOO_LARGE: return "what is no raw tensor data exceeds 2 GiB"
        default: return "there is not enough memory"
        }
    }

    private func text(_ pointer: UnsafePointer<CChar>?) throws -> String { try tensors.text(pointer) }

    private func names(_ array: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ count: Int) throws -> [ExactName] {
        try UnsafeBufferPointer(start: array, count: count).map { ExactName(try text($0)) }
    }

    private func opsets(
        _ array: UnsafeMutablePointer<UnsafeMutablePointer<Onnx__OperatorSetIdProto>?>?, _ count: Int
    ) throws -> [OpsetImport] {
        try pointers(array, count).map {
            OpsetImport(domain: OperatorName(try text($0.pointee.domain), "").domain, version: Int($0.pointee.version))
        }
    }

    private mutating func graph(_ proto: Onnx__GraphProto) throws -> ONNXGraph {
        var graph = ONNXGraph(name: try text(proto.name), nodes: [], initializers: [], inputs: [], outputs: [], valueInfo: [])
        graph.nodes.reserveCapacity(proto.n_node)
        for node in pointers(proto.node, proto.n_node) { graph.nodes.append(try self.node(node.pointee)) }
        for tensor in pointers(proto.initializer, proto.n_initializer) { graph.initializers.append(try tensors.read(tensor.pointee)) }
        for tensor in pointers(proto.sparse_initializer, proto.n_sparse_initializer) {
            graph.initializers.append(try tensors.read(tensor.pointee))
        }
        graph.inputs = try pointers(proto.input, proto.n_input).map { try valueInfo($0.pointee) }
        graph.outputs = try pointers(proto.output, proto.n_output).map { try valueInfo($0.pointee) }
        graph.valueInfo = try pointers(proto.value_info, proto.n_value_info).map { try valueInfo($0.pointee) }
        return graph
    }

    private mutating func function(_ proto: Onnx__FunctionProto) throws -> ONNXFunction {
        var function = ONNXFunction(
            operatorName: OperatorName(try text(proto.domain), try text(proto.name)),
            overload: try text(proto.overload),
            inputs: try names(proto.input, proto.n_input),
            outputs: try names(proto.output, proto.n_output),
            attributeDefaults: [],
            nodes: [],
            opsets: try opsets(proto.opset_import, proto.n_opset_import))
        for attribute in pointers(proto.attribute_proto, proto.n_attribute_proto) {
            function.attributeDefaults.append(try self.attribute(attribute.pointee))
        }
        for node in pointers(proto.node, proto.n_node) { function.nodes.append(try self.node(node.pointee)) }
        return function
    }

    private mutating func node(_ proto: Onnx__NodeProto) throws -> ONNXNode {
        var attributes: [ONNXAttribute] = []
        for attribute in pointers(proto.attribute, proto.n_attribute) { attributes.append(try self.attribute(attribute.pointee)) }
        return ONNXNode(
            name: try text(proto.name),
            operatorName: OperatorName(try text(proto.domain), try text(proto.op_type)),
            overload: try text(proto.overload),
            inputs: try names(proto.input, proto.n_input),
            outputs: try names(proto.output, proto.n_output),
            attributes: attributes)
    }

    private mutating func attribute(_ proto: Onnx__AttributeProto) throws -> ONNXAttribute {
        let name = try text(proto.name)
        if let reference = proto.ref_attr_name, reference.pointee != 0 {
            return ONNXAttribute(name: name, value: .reference(try text(reference)))
        }
        let value: ONNXAttribute.Value
        // The codes of AttributeProto.AttributeType.
        switch proto.type {
        case 1: value = .float(proto.f)
        case 2: value = .int(Int(proto.i))
        case 3: value = .string(try string(proto.s))
        case 4:
            guard let tensor = proto.t else { throw fail("attribute \"\(name)\" has no tensor") }
            value = .tensor(try tensors.read(tensor.pointee))
        case 5:
            guard let graph = proto.g else { throw fail("attribute \"\(name)\" has no graph") }
            value = .graph(try self.graph(graph.pointee))
        case 6: value = .floats(Array(UnsafeBufferPointer(start: proto.floats, count: proto.n_floats)))
        case 7: value = .ints(UnsafeBufferPointer(start: proto.ints, count: proto.n_ints).map { Int($0) })
        case 8: value = .strings(try UnsafeBufferPointer(start: proto.strings, count: proto.n_strings).map(string))
        case 11:
            guard let tensor = proto.sparse_tensor else { throw fail("attribute \"\(name)\" has no sparse tensor") }
            value = .sparseTensor(try tensors.read(tensor.pointee))
        case 9, 10, 12, 13, 14: value = .other
        default: throw fail("attribute \"\(name)\" has the unknown type \(proto.type)")
        }
        return ONNXAttribute(name: name, value: value)
    }

    private func string(_ data: ProtobufCBinaryData) throws -> String {
        guard let text = String(validating: UnsafeBufferPointer(start: data.data, count: data.len), as: UTF8.self) else {
            throw fail("a string attribute is not valid UTF-8")
        }
        return text
    }

    private func valueInfo(_ proto: Onnx__ValueInfoProto) throws -> ONNXValueInfo {
        ONNXValueInfo(name: ExactName(try text(proto.name)), kind: try kind(proto.type?.pointee))
    }

    private func kind(_ proto: Onnx__TypeProto?) throws -> ONNXValueInfo.Kind {
        guard let proto else { return .missing }
        if proto.sequence_type != nil { return .other("sequence") }
        if proto.map_type != nil { return .other("map") }
        if proto.optional_type != nil { return .other("optional") }
        if proto.sparse_tensor_type != nil { return .other("sparse tensor") }
        if proto.opaque_type != nil { return .other("opaque value") }
        guard let tensor = proto.tensor_type?.pointee else { return .missing }
        let dims = try tensor.shape.map { shape in
            try pointers(shape.pointee.dim, shape.pointee.n_dim).map { dim -> ONNXValueInfo.Dimension in
                if dim.pointee.has_dim_value != 0 {
                    // Some exporters write -1 for a size that is open.
                    return dim.pointee.dim_value < 0 ? .unknown : .fixed(Int(dim.pointee.dim_value))
                }
                let name = try text(dim.pointee.dim_param)
                return name.isEmpty ? .unknown : .named(name)
            }
        }
        return .tensor(code: Int(tensor.elem_type), dims: dims)
    }
}
