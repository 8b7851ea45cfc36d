import GraphIR
import Tensors

extension SymbolicTensor {
    /// Elementwise combination with broadcasting; nil as soon as one element is unknown or no dim can express it (it overflows, divides by
    /// zero): then only the data tell.
    static func combining(
        _ a: SymbolicTensor, _ b: SymbolicTensor, shape: [Int], _ body: (Dim, Dim) throws -> Dim?
    ) -> SymbolicTensor? {
        guard let count = try? Shape.count(shape), count <= maximumCount else { return nil }
        var elements: [Dim] = []
        let strides = Shape.strides(shape)
        let aStrides = Shape.broadcastStrides(a.shape, to: shape)
        let bStrides = Shape.broadcastStrides(b.shape, to: shape)
        for index in 0..<count {
            var x = 0
            var y = 0
            for axis in shape.indices {
                let coordinate = index / strides[axis] % max(shape[axis], 1)
                x += coordinate * aStrides[axis]
                y += coordinate * bStrides[axis]
            }
            guard let element = (try? body(a.elements[x], b.elements[y])) ?? nil else { return nil }
            elements.append(element)
        }
        return SymbolicTensor(shape: shape, elements: elements)
    }

    /// The same elements as those of a tensor of `dtype`; nil where that type wraps or rounds them. Symbols stand for sizes, which
    /// 32 bits hold (and f32 for all that exporters do with them) but shorter types do not.
    func held(by dtype: DType) -> SymbolicTensor? {
        let isHeld = elements.allSatisfy { element in
            guard let value = element.fixedValue else {
                switch dtype {
                case .i64, .i32, .f64, .f32: return true
                case .u64, .u32: return element.isKnownNonNegative
                default: return false
                }
            }
            switch dtype {
            case .f64: return value.magnitude <= 1 << 53
            case .f32: return value.magnitude <= 1 << 24
            case .f16: return value.magnitude <= 1 << 11
            case .bf16: return value.magnitude <= 1 << 8
            default:
                let range = dtype.integerRange
                return range.lowest <= value && value <= range.highest
            }
        }
        return isHeld ? self : nil
    }
}
