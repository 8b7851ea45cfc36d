import GraphIR
import Operators
import Tensors

/// onnxruntime's product with a weight of 2, 4 or 8 bits in blocks along the input width. Inputs: a, the packed weight
/// `[N, blocks, block_size * bits / 8]` (low bits first), scales `[N, blocks]`, zero points packed `[N, blocks]` or as numbers or absent (half of the
/// range), order of the inputs or absent, bias `[N]` or absent.
///
/// The weight stays in blocks where a block type holds exactly its numbers `(q - zero) * scale`: scales that are f16 numbers, groups of whole blocks.
/// Else it becomes a constant of these numbers in f32, and a warning says why.
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
    var levels = [Int16](repeating: 0, count: rows * width)
    packed.withUnsafeBytes { bytes in
        for row in 0..<rows {
            for column in 0..<width {
                let place = column % block
                let byte = bytes[(row * blocks + column / block) * blockBytes + place / perByte]
                levels[row * width + column] = Int16((byte >> UInt8(place % perByte * bits)) & mask)
            }
        }
    }
    let a = try n.input(0)
    let dtype = n.dtype(a)
    let x = try n.cast(a, to: .f32)
    var product: ValueID
    do {
        let zeros = zeros ?? Array(repeating: middle, count: rows * blocks)
        guard zeros.allSatisfy({ $0 == $0.rounded() && abs($0) <= 256 }) else { throw TensorError("its zero points are no whole numbers") }
        let distances = levels.indices.map { levels[$0] - Int16(zeros[$0 / width * blocks + $0 % width / block]) }
        let weight = n.builder.constant(try Tensor(levels: distances, scales: factors, group: block, shape: [rows, width]), name: nil)
        product = try n.apply(Linear(layout: .output_input), x, weight)
    } catch let reason as TensorError {
        n.warn("weights of MatMulNBits in \(bits) bits become f32: \(reason)")
        let numbers = levels.indices.map { index in
            let group = index / width * blocks + index % width / block
            return (Float(levels[index]) - (zeros?[group] ?? middle)) * factors[group]
        }
        product = try n.apply(MatMul(transposeB: true), x, n.builder.constant(Tensor(floats: numbers, shape: [rows, width]), name: nil))
    }
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
