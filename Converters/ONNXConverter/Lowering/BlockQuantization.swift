import GraphIR
import Operators
import Tensors

/// onnxruntime's product with a weight of 2, 4 or 8 bits in blocks along the input width. Inputs: a, the packed weight
/// `[N, blocks, block_size * bits / 8]` (low bits first), scales `[N, blocks]`, zero points packed `[N, blocks]` or as numbers or absent (half of the
/// range), order of the inputs or absent, bias `[N]` or absent.
///
/// The weight becomes a constant of the exact numbers `(q - zero) * scale` in f32: no type of the graph holds blocks with f32 scales.
func matMulNBits(_ n: inout NodeLowering) throws {
    n.ignore("accuracy_level")
    let (rows, width) = (try n.requiredInt("N"), try n.requiredInt("K"))
    let (bits, block) = (try n.int("bits", default: 4), try n.requiredInt("block_size"))
    guard [2, 4, 8].contains(bits) else { throw n.unsupported("bits = \(bits)") }
    guard rows > 0, width > 0, block >= 16, block <= 1 << 20, block.nonzeroBitCount == 1, rows <= 1 << 31, width <= 1 << 31 else {
        throw n.error(.malformedFile, "has N = \(rows), K = \(width) and block_size = \(block)")
    }
    if n.optionalInput(4) != nil { throw n.unsupported("the input g_idx") }
    func constant(_ index: Int) throws -> Tensor {
        guard let tensor = try n.builder.fact(n.input(index)).constant else { throw n.unsupported("input \(index) that is computed when the model runs") }
        return tensor
    }
    let blocks = (width + block - 1) / block
    let (packed, scales) = (try constant(1), try constant(2))
    let blockBytes = block * bits / 8
    guard packed.dtype == .u8, packed.count == rows * blocks * blockBytes else {
        throw n.error(.shapeMismatch, "its weight of shape \(packed.shape) is not [\(rows), \(blocks), \(blockBytes)]")
    }
    guard scales.dtype.isFloat, scales.count == rows * blocks else {
        throw n.error(.shapeMismatch, "its scales of shape \(scales.shape) are not [\(rows), \(blocks)]")
    }
    let zeros = try n.optionalInput(3) == nil ? nil : zeroPoints(n, constant(3), rows: rows, blocks: blocks, bits: bits)
    let middle = Float(1 << (bits - 1))
    let factors = scales.floats()
    let perByte = 8 / bits
    let mask = UInt8(truncatingIfNeeded: (1 << bits) - 1)
    let weight = try Tensor(dtype: .f32, shape: [rows, width]) { target in
        let out = target.bindMemory(to: Float.self)
        packed.withUnsafeBytes { bytes in
            for row in 0..<rows {
                for column in 0..<width {
                    let group = row * blocks + column / block
                    let place = column % block
                    let byte = bytes[group * blockBytes + place / perByte]
                    let number = Float((byte >> UInt8(place % perByte * bits)) & mask)
                    out[row * width + column] = (number - (zeros?[group] ?? middle)) * factors[group]
                }
            }
        }
    }
    let a = try n.input(0)
    let dtype = n.dtype(a)
    var product = try n.apply(MatMul(transposeB: true), n.cast(a, to: .f32), n.builder.constant(weight, name: nil))
    if let bias = n.optionalInput(5) { product = try n.binary(.add, product, n.cast(bias, to: .f32)) }
    n.define(try n.cast(product, to: dtype))
}

/// One number per block: given as numbers, or packed like the weight, each row in bytes of its own.
private func zeroPoints(_ n: NodeLowering, _ tensor: Tensor, rows: Int, blocks: Int, bits: Int) throws -> [Float] {
    if tensor.dtype.isFloat {
        guard tensor.count == rows * blocks else { throw n.error(.shapeMismatch, "its zero points of shape \(tensor.shape) are not [\(rows), \(blocks)]") }
        return tensor.floats()
    }
    let rowBytes = (blocks * bits + 7) / 8
    guard tensor.dtype == .u8, tensor.count == rows * rowBytes else {
        throw n.error(.shapeMismatch, "its zero points of shape \(tensor.shape) are not [\(rows), \(rowBytes)]")
    }
    let bytes = tensor.integers()
    return (0..<rows * blocks).map { index in
        let bit = index % blocks * bits
        return Float((bytes[index / blocks * rowBytes + bit / 8] >> Int64(bit % 8)) & ((1 << Int64(bits)) - 1))
    }
}
