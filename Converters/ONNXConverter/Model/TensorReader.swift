import CONNX
import Tensors

/// Turns tensors of the file into `Tensor`s. Raw data stay where they are in the mapped file; typed fields are converted.
struct TensorReader {
    let path: String
    let storage: Storage
    var external: ExternalData

    /// Sparse tensors are stored in full; a larger one is refused rather than allocated.
    private static let maximumDenseBytes = 1 << 28

    mutating func read(_ proto: Onnx__TensorProto) throws -> ONNXTensor {
        let name = try text(proto.name)
        do {
            let isHalfByte = [ElementType.int4, ElementType.uint4].contains(Int(proto.data_type))
            return ONNXTensor(name: ExactName(name), contents: .success(try tensor(proto, name: name)), isHalfByte: isHalfByte)
        } catch let error as ONNXError {
            return ONNXTensor(name: ExactName(name), contents: .failure(error))
        }
    }

    /// A sparse tensor, filled up with zeros.
    mutating func read(_ proto: Onnx__SparseTensorProto) throws -> ONNXTensor {
        guard let values = proto.values?.pointee, let indices = proto.indices?.pointee else {
            throw fail("a sparse tensor lacks its values or indices")
        }
        let name = try text(values.name)
        do {
            let shape = try self.shape(proto.dims, proto.n_dims, name: name)
            let dense = try densified(try tensor(values, name: name), at: try tensor(indices, name: name), shape: shape, name: name)
            let isHalfByte = [ElementType.int4, ElementType.uint4].contains(Int(values.data_type))
            return ONNXTensor(name: ExactName(name), contents: .success(dense), isHalfByte: isHalfByte)
        } catch let error as ONNXError {
            return ONNXTensor(name: ExactName(name), contents: .failure(error))
        }
    }

    func fail(_ reason: String, _ kind: ONNXError.Kind = .malformedFile) -> ONNXError { ONNXError(kind, path: path, reason) }

    /// A string of the file, which must be UTF-8.
    func text(_ pointer: UnsafePointer<CChar>?) throws -> String {
        guard let pointer else { return "" }
        guard let text = String(validatingCString: pointer) else {
            throw fail("the name \"\(String(cString: pointer))\" is not valid UTF-8")
        }
        return text
    }

    private func shape(_ dims: UnsafePointer<Int64>?, _ count: Int, name: String) throws -> [Int] {
        guard count <= 64 else { throw fail("tensor \"\(name)\" has \(count) dimensions") }
        let shape = UnsafeBufferPointer(start: dims, count: count).map { Int($0) }
        if shape.contains(where: { $0 < 0 }) { throw fail("tensor \"\(name)\" has a negative dimension in \(shape)") }
        return shape
    }

    private mutating func tensor(_ proto: Onnx__TensorProto, name: String) throws -> Tensor {
        let code = Int(proto.data_type)
        let isHalfByte = code == ElementType.int4 || code == ElementType.uint4
        guard let dtype = isHalfByte ? (code == ElementType.int4 ? DType.i8 : .u8) : ElementType.dtype(code) else {
            throw fail("tensor \"\(name)\" has the element type \(ElementType.name(code)), which is not supported", .unsupportedType)
        }
        let shape = try self.shape(proto.dims, proto.n_dims, name: name)
        guard let count = try? Shape.count(shape), count <= Int.max / 16 else {
            throw fail("tensor \"\(name)\" has more elements than memory in its shape \(shape)")
        }
        let byteCount = isHalfByte ? count / 2 + count % 2 : count * dtype.size

        if proto.data_location == 1 {
            let bytes = try externalBytes(proto, name: name, byteCount: byteCount)
            return try stored(bytes.storage, bytes.offset, dtype, shape, isHalfByte: isHalfByte)
        }
        if proto.has_raw_data_offset != 0 {
            guard let offset = Int(exactly: proto.raw_data_offset), let length = Int(exactly: proto.raw_data_length), length == byteCount else {
                throw fail("tensor \"\(name)\" of shape \(shape) needs \(byteCount) bytes, raw_data holds \(proto.raw_data_length)")
            }
            return try stored(storage, offset, dtype, shape, isHalfByte: isHalfByte)
        }
        return try typed(proto, dtype, shape, count: count, code: code, name: name)
    }

    /// A tensor whose bytes lie in a mapped file.
    private func stored(_ storage: Storage, _ offset: Int, _ dtype: DType, _ shape: [Int], isHalfByte: Bool) throws -> Tensor {
        do {
            if isHalfByte {
                let count = try Shape.count(shape)
                let packed = try Tensor(dtype: .u8, shape: [count / 2 + count % 2], storage: storage, offset: offset)
                return try unpacked(packed.integers(), dtype, shape, count: count)
            }
            let tensor = try Tensor(dtype: dtype, shape: shape, storage: storage, offset: offset)
            // Bytes other than 0 and 1 are true as well.
            if dtype == .bool, tensor.withUnsafeBytes({ $0.contains { $0 > 1 } }) {
                return try Tensor(integers: tensor.integers(), dtype: .bool, shape: shape)
            }
            return tensor
        } catch let error as TensorError {
            throw fail("\(error)")
        }
    }

    /// Two elements of four bits per byte, low bits first.
    private func unpacked(_ bytes: [Int64], _ dtype: DType, _ shape: [Int], count: Int) throws -> Tensor {
        let elements = (0..<count).map { index -> Int64 in
            let byte = bytes[index / 2]
            let bits = (index % 2 == 0 ? byte : byte >> 4) & 0xF
            return dtype == .i8 && bits > 7 ? bits - 16 : bits
        }
        return try Tensor(integers: elements, dtype: dtype, shape: shape)
    }

    private func typed(
        _ proto: Onnx__TensorProto, _ dtype: DType, _ shape: [Int], count: Int, code: Int, name: String
    ) throws -> Tensor {
        func elements<Element>(_ pointer: UnsafePointer<Element>?, _ found: Int, _ field: String, needed: Int? = nil) throws -> UnsafeBufferPointer<Element> {
            guard found == needed ?? count else {
                throw fail("tensor \"\(name)\" of shape \(shape) needs \(needed ?? count) elements, \(field) holds \(found)")
            }
            return UnsafeBufferPointer(start: pointer, count: found)
        }
        do {
            switch dtype {
            case .f32: return try Tensor(elements: Array(elements(proto.float_data, proto.n_float_data, "float_data")), dtype: dtype, shape: shape)
            case .f64: return try Tensor(elements: Array(elements(proto.double_data, proto.n_double_data, "double_data")), dtype: dtype, shape: shape)
            case .i64: return try Tensor(elements: Array(elements(proto.int64_data, proto.n_int64_data, "int64_data")), dtype: dtype, shape: shape)
            case .u64, .u32:
                let values = try elements(proto.uint64_data, proto.n_uint64_data, "uint64_data")
                return try Tensor(integers: values.map { Int64(bitPattern: $0) }, dtype: dtype, shape: shape)
            case .f16, .bf16:
                let values = try elements(proto.int32_data, proto.n_int32_data, "int32_data")
                return try Tensor(elements: values.map { UInt16(truncatingIfNeeded: $0) }, dtype: dtype, shape: shape)
            case _ where code == ElementType.int4 || code == ElementType.uint4:
                let values = try elements(proto.int32_data, proto.n_int32_data, "int32_data", needed: count / 2 + count % 2)
                return try unpacked(values.map { Int64($0) }, dtype, shape, count: count)
            case .i32, .i16, .i8, .u16, .u8, .bool:
                let values = try elements(proto.int32_data, proto.n_int32_data, "int32_data")
                return try Tensor(integers: values.map { Int64($0) }, dtype: dtype, shape: shape)
            case .q8_0, .q4_0, .q4_1, .q5_0, .q5_1, .q4_k, .q5_k, .q6_k:
                throw fail("tensor \"\(name)\": no ONNX type is stored as \(dtype.rawValue)")
            }
        } catch let error as TensorError {
            throw fail("tensor \"\(name)\": \(error)")
        }
    }

    private mutating func externalBytes(_ proto: Onnx__TensorProto, name: String, byteCount: Int) throws -> (storage: Storage, offset: Int) {
        var location: String?
        var offset = 0
        for entry in pointers(proto.external_data, proto.n_external_data) {
            let value = try text(entry.pointee.value)
            switch try text(entry.pointee.key) {
            case "location": location = value
            case "offset", "length":
                guard let number = Int(value), number >= 0 else {
                    throw fail("tensor \"\(name)\" has \"\(value)\" as an offset or length in its side file")
                }
                if try text(entry.pointee.key) == "offset" { offset = number } else if number != byteCount {
                    throw fail("tensor \"\(name)\" needs \(byteCount) bytes, its side file entry has the length \(number)")
                }
            default: break
            }
        }
        guard let location else { throw fail("tensor \"\(name)\" is stored in a side file but names none") }
        let storage = try external.storage(location, tensor: name)
        guard offset <= storage.bytes.count, byteCount <= storage.bytes.count - offset else {
            throw fail(
                "tensor \"\(name)\" lies at bytes \(offset) to \(offset.addingReportingOverflow(byteCount).partialValue) of \"\(location)\", which has only \(storage.bytes.count)")
        }
        return (storage, offset)
    }

    private func densified(_ values: Tensor, at indices: Tensor, shape: [Int], name: String) throws -> Tensor {
        guard let count = try? Shape.count(shape), count <= Self.maximumDenseBytes / values.dtype.size else {
            throw fail("the sparse tensor \"\(name)\" of shape \(shape) is too large to be stored in full", .unsupportedType)
        }
        let isLinear = indices.rank == 1
        guard values.rank == 1, indices.dtype == .i64, isLinear || (indices.rank == 2 && indices.shape[1] == shape.count),
            indices.shape[0] == values.count
        else { throw fail("the sparse tensor \"\(name)\" has indices of shape \(indices.shape) for \(values.shape) values") }
        let numbers = indices.integers().map { Int($0) }
        let strides = Shape.strides(shape)
        let size = values.dtype.size
        return try Tensor(dtype: values.dtype, shape: shape) { target in
            target.initializeMemory(as: UInt8.self, repeating: 0)
            try values.withUnsafeBytes { source in
                for item in 0..<values.count {
                    var position = isLinear ? numbers[item] : 0
                    if isLinear, position < 0 || position >= count { throw fail("the sparse tensor \"\(name)\" has an index \(position) outside \(shape)") }
                    for axis in shape.indices where !isLinear {
                        let index = numbers[item * shape.count + axis]
                        guard index >= 0, index < shape[axis] else { throw fail("the sparse tensor \"\(name)\" has an index \(index) outside \(shape)") }
                        position += index * strides[axis]
                    }
                    for byte in 0..<size { target[position * size + byte] = source[item * size + byte] }
                }
            }
        }
    }
}

/// The elements of a repeated message field.
func pointers<Message>(
    _ array: UnsafeMutablePointer<UnsafeMutablePointer<Message>?>?, _ count: Int
) -> [UnsafeMutablePointer<Message>] {
    UnsafeBufferPointer(start: array, count: count).compactMap { $0 }
}
