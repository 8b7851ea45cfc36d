import CKernels
import GraphIR
import Operators
import Tensors

/// `(x - zero) * scale` of bytes with one scale, or one per place along an axis.
struct DequantizeKernel: Kernel {
    let name = "dequantize"
    private let isUnsigned: Bool
    private let outer: Int
    private let channels: Int
    private let inner: Int

    init?(_ op: Dequantize, _ request: KernelRequest) {
        guard let x = request.operand(0), x.dtype == .i8 || x.dtype == .u8, let scale = request.operand(1), scale.dtype == .f32,
            request.outputs[0].dtype == .f32
        else { return nil }
        if let zero = request.operand(2), zero.dtype != x.dtype || zero.count != scale.count { return nil }
        isUnsigned = x.dtype == .u8
        if scale.count == 1 {
            (outer, channels, inner) = (1, 1, x.count)
        } else {
            guard let axis = try? Shape.normalize(axis: op.axis, rank: x.rank), scale.shape == [x.shape[axis]] else { return nil }
            outer = x.shape[..<axis].reduce(1, *)
            channels = x.shape[axis]
            inner = x.shape[(axis + 1)...].reduce(1, *)
        }
    }

    func run(_ memory: KernelMemory) throws {
        let scale = try memory.input(1, as: Float.self)
        let output = memory.output(as: Float.self)
        if isUnsigned {
            let x = try memory.input(0, as: UInt8.self)
            let zero = memory.optional(2, as: UInt8.self)
            walk(x, zero, scale, output, memory.threads) { ck_dequantize_u8($0, $1, $2, $3, $4) }
        } else {
            let x = try memory.input(0, as: Int8.self)
            let zero = memory.optional(2, as: Int8.self)
            walk(x, zero, scale, output, memory.threads) { ck_dequantize_s8($0, $1, $2, $3, $4) }
        }
    }

    private func walk<Byte: FixedWidthInteger>(
        _ x: UnsafePointer<Byte>, _ zero: UnsafePointer<Byte>?, _ scale: UnsafePointer<Float>, _ output: UnsafeMutablePointer<Float>,
        _ threads: Int, _ run: (Int, UnsafePointer<Byte>, Float, Int32, UnsafeMutablePointer<Float>) -> Void
    ) {
        if inner == 1, channels > 1 {
            // Every element of a row has a scale of its own.
            let block = max(1, 16_384 / channels)
            return WorkerPool.parallelFor(threads: threads, count: (outer + block - 1) / block) { piece, _ in
                for row in piece * block..<min((piece + 1) * block, outer) {
                    let (from, to) = (x + row * channels, output + row * channels)
                    for channel in 0..<channels {
                        to[channel] = Float(Int32(from[channel]) - Int32(zero?[channel] ?? 0)) * scale[channel]
                    }
                }
            }
        }
        WorkerPool.parallelFor(threads: threads, count: outer * channels) { row, _ in
            let channel = row % channels
            run(inner, x + row * inner, scale[channel], Int32(zero?[channel] ?? 0), output + row * inner)
        }
    }
}

/// `saturate(round(x / scale) + zero)` with one scale.
struct QuantizeKernel: Kernel {
    let name = "quantize"
    private let isUnsigned: Bool
    private let loop: BroadcastLoop

    init?(_ op: Quantize, _ request: KernelRequest) {
        guard request.operand(0)?.dtype == .f32, request.operand(1)?.dtype == .f32, request.operand(1)?.count == 1,
            op.to == .u8 || op.to == .i8, let shape = request.operand(0)?.shape,
            let loop = BroadcastLoop([shape], to: request.outputs[0].shape)
        else { return nil }
        if let zero = request.operand(2), zero.count != 1 || zero.dtype != op.to { return nil }
        isUnsigned = op.to == .u8
        self.loop = loop
    }

    func run(_ memory: KernelMemory) throws {
        let x = try memory.input(0, as: Float.self)
        let scale = try memory.input(1, as: Float.self).pointee
        if isUnsigned {
            let zero = Int32(memory.optional(2, as: UInt8.self)?.pointee ?? 0)
            let output = memory.output(as: UInt8.self)
            loop.forEachRun(threads: memory.threads) { start, offsets, count in
                ck_quantize_u8(count, x + offsets.0, scale, zero, output + start)
            }
        } else {
            let zero = Int32(memory.optional(2, as: Int8.self)?.pointee ?? 0)
            let output = memory.output(as: Int8.self)
            loop.forEachRun(threads: memory.threads) { start, offsets, count in
                ck_quantize_s8(count, x + offsets.0, scale, zero, output + start)
            }
        }
    }
}

/// Quantises a tensor by its own range.
struct DynamicQuantizeKernel: Kernel {
    let name = "dynamic_quantize"
    private let count: Int

    init?(_ request: KernelRequest) {
        guard let x = request.operand(0), x.dtype == .f32, request.outputs.count == 3 else { return nil }
        count = x.count
    }

    func run(_ memory: KernelMemory) throws {
        let result = ck_dynamic_quantize_u8(count, try memory.input(0), memory.output(0))
        // All zero: any scale will do, and 1 divides.
        memory.output(1, as: Float.self).pointee = result.scale == 0 ? 1 : result.scale
        memory.output(2, as: UInt8.self).pointee = UInt8(truncatingIfNeeded: result.zero)
    }
}

/// Products of bytes with a constant right matrix, in exact i32.
struct MatMulIntegerKernel: Kernel {
    private let m: Int
    private let n: Int
    private let k: Int
    private let aType: DType
    private let bType: DType
    private let aZeroCount: Int
    private let bZeroCount: Int
    private let packed: Storage

    init?(_ request: KernelRequest) {
        guard let a = request.operand(0), let b = request.operand(1), a.rank >= 2, b.rank == 2, let id = request.weight(1),
            let weight = request.constant(1), let k = a.shape.last, k == b.shape[0]
        else { return nil }
        self.k = k
        n = b.shape[1]
        m = a.shape.dropLast().reduce(1, *)
        aType = a.dtype
        bType = b.dtype
        aZeroCount = request.operand(2)?.count ?? 0
        bZeroCount = request.operand(3)?.count ?? 0
        // A zero point for each row of a batch would repeat from matrix to matrix.
        guard aZeroCount <= 1, bZeroCount <= 1 || bZeroCount == n, m > 0, let panels = request.store.packedInt8(id, weight, k: k, n: n)
        else { return nil }
        packed = panels
    }

    var name: String { "int8 gemm [\(m), \(k)] x [\(k), \(n)]" }

    func scratchBytes(threads: Int) -> Int { (1 + max(bZeroCount, 1)) * 4 }

    func run(_ memory: KernelMemory) throws {
        let zeros = memory.scratch.assumingMemoryBound(to: Int32.self)
        func load(_ operand: Int, _ type: DType, _ count: Int, _ target: UnsafeMutablePointer<Int32>) throws {
            for index in 0..<count {
                target[index] = type == .u8
                    ? Int32(try memory.input(operand, as: UInt8.self)[index]) : Int32(try memory.input(operand, as: Int8.self)[index])
            }
        }
        try load(2, aType, aZeroCount, zeros)
        try load(3, bType, bZeroCount, zeros + 1)
        guard let panels = packed.bytes.baseAddress?.assumingMemoryBound(to: Int8.self) else { return }
        let rows = ck_int8_rows(
            data: UnsafeRawPointer(try memory.input(0, as: UInt8.self)), ld: k, type: aType == .u8 ? ck_u8 : ck_s8,
            zero: aZeroCount == 0 ? nil : UnsafePointer(zeros), zero_step: 0)
        let columns = ck_int8_columns(
            packed: panels, type: bType == .u8 ? ck_u8 : ck_s8, zero: bZeroCount == 0 ? nil : UnsafePointer(zeros + 1),
            zero_step: bZeroCount > 1 ? 1 : 0)
        let output = memory.output(as: Int32.self)
        let block = 96
        let columnBlock = 128
        let columnTiles = (n + columnBlock - 1) / columnBlock
        WorkerPool.parallelFor(threads: memory.threads, count: (m + block - 1) / block * columnTiles) { piece, _ in
            let (row, column) = (piece / columnTiles * block, piece % columnTiles * columnBlock)
            withUnsafePointer(to: rows) { rows in
                withUnsafePointer(to: columns) { columns in
                    ck_gemm_int8(row, min(row + block, m), column, min(column + columnBlock, n), n, k, rows, columns, output, n)
                }
            }
        }
    }
}
