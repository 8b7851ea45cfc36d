import CKernels
import GraphIR
import Tensors

/// Packed forms of an executor's constant matrices, made when a plan first wants them.
final class WeightStore: Sendable {
    private struct Key: Hashable {
        let id: ValueID
        let isTransposed: Bool
    }

    private let packed = Locked<[Key: Storage]>([:])
    private let wide = Locked<[ValueID: Tensor]>([:])
    private let packedInt8 = Locked<[Key: Storage]>([:])
    private let packedInt8Linear = Locked<[ValueID: Storage]>([:])

    /// The f32 form of an f16 or bf16 tensor; kept where it has a name. nil where it does not fit in memory.
    func widened(_ id: ValueID?, _ tensor: Tensor) -> Tensor? {
        guard let id else { return try? tensor.converted(to: .f32) }
        return wide.withLock { known in
            if let kept = known[id] { return kept }
            let result = try? tensor.converted(to: .f32)
            known[id] = result
            return result
        }
    }

    /// `weight`, f32 `[k, n]` (or `[n, k]` when transposed), packed for `ck_gemm_packed`.
    func packed(_ id: ValueID, _ weight: Tensor, k: Int, n: Int, isTransposed: Bool) -> Storage? {
        let size = ck_packed_size(k, n)
        guard k > 0, n > 0, size > 0, let data = weight.unsafePointer, weight.count == k * n else { return nil }
        return packed.withLock { known in
            let key = Key(id: id, isTransposed: isTransposed)
            if let storage = known[key] { return storage }
            let storage = Storage(byteCount: size * 4) { target in
                guard let out = target.baseAddress else { return }
                ck_pack_b(
                    isTransposed, k, n, data.assumingMemoryBound(to: Float.self), isTransposed ? k : n, out.assumingMemoryBound(to: Float.self))
            }
            withExtendedLifetime(weight) {}
            known[key] = storage
            return storage
        }
    }

    /// `weight`, i8 or u8 `[k, n]`, packed for `ck_gemm_int8`.
    func packedInt8(_ id: ValueID, _ weight: Tensor, k: Int, n: Int) -> Storage? {
        let size = ck_packed_size_int8(k, n)
        guard k > 0, n > 0, size > 0, let data = weight.unsafePointer, weight.count == k * n else { return nil }
        return packedInt8.withLock { known in
            let key = Key(id: id, isTransposed: false)
            if let storage = known[key] { return storage }
            let storage = Storage(byteCount: size) { target in
                guard let out = target.baseAddress else { return }
                ck_pack_b_int8(weight.dtype == .u8 ? ck_u8 : ck_s8, false, k, n, data, n, out.assumingMemoryBound(to: Int8.self))
            }
            withExtendedLifetime(weight) {}
            known[key] = storage
            return storage
        }
    }

    /// `weight`, i8 `[n, k]`, packed for `ck_int8_linear`.
    func packedInt8Linear(_ id: ValueID, _ weight: Tensor, k: Int, n: Int) -> Storage? {
        let size = ck_int8_linear_size(k, n)
        guard k > 0, n > 0, size > 0, let data = weight.unsafePointer, weight.count == k * n else { return nil }
        return packedInt8Linear.withLock { known in
            if let storage = known[id] { return storage }
            let storage = Storage(byteCount: size) { target in
                guard let out = target.baseAddress else { return }
                ck_pack_int8_linear(k, n, data.assumingMemoryBound(to: Int8.self), out.assumingMemoryBound(to: Int8.self))
            }
            withExtendedLifetime(weight) {}
            known[id] = storage
            return storage
        }
    }
}
