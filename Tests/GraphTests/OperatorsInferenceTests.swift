import GraphIR
import Tensors
import TestSupport
import Testing

@testable import Operators

/// Inference against evaluation on random operands: what types and values claim of a graph must be what running it gives, also where sizes
/// and elements are symbols.
@Suite struct OperatorsInferenceTests {
    private struct Generator {
        var random: SeededRandom

        mutating func shape(rank: Int? = nil) -> [Int] { (0..<(rank ?? random.int(0..<4))).map { _ in random.int(0..<4) } }

        mutating func tensor(_ dtype: DType, _ shape: [Int], _ range: Range<Int> = -4..<5) throws -> Tensor {
            let count = try Shape.count(shape)
            return try Tensor(integers: (0..<count).map { _ in Int64(random.int(range)) }, dtype: dtype, shape: shape)
        }

        mutating func integers(_ values: [Int]) throws -> Tensor { try Tensor(integers: values.map(Int64.init), shape: [values.count]) }

        /// A shape that broadcasts with the given one.
        mutating func partner(of shape: [Int]) -> [Int] {
            Array(shape.map { random.int(0..<3) == 0 ? 1 : $0 }.suffix(random.int(0..<shape.count + 1)))
        }

        mutating func axis(_ rank: Int) -> Int { random.int(0..<2 * rank) - rank }

        mutating func dtype() -> DType { random.element(of: DType.allCases.filter { $0 != .bool && !$0.isBlock }) }

        /// An operator with operands that are legal, mostly.
        mutating func node() throws -> (any GraphIR.Operator, [Tensor?]) {
            let dtype = dtype()
            let integer: DType = random.element(of: [.i64, .i32, .i8, .u8, .u64])
            let x = shape()
            let ranked = shape(rank: random.int(1..<4))
            switch random.int(0..<26) {
            case 0: return (Unary(random.element(of: Unary.Kind.allCases)), [try tensor(dtype, x)])
            case 1: return (Binary(random.element(of: Binary.Kind.allCases)), [try tensor(integer, x), try tensor(integer, partner(of: x))])
            case 2: return (Binary(random.element(of: Binary.Kind.allCases)), [try tensor(dtype, x), try tensor(dtype, partner(of: x))])
            case 3: return (Compare(random.element(of: Compare.Kind.allCases)), [try tensor(integer, x), try tensor(integer, partner(of: x))])
            case 4: return (Select(), [try tensor(.bool, partner(of: x)), try tensor(dtype, x), try tensor(dtype, partner(of: x))])
            case 5: return (Cast(to: random.element(of: DType.allCases)), [try tensor(dtype, x, -300..<300)])
            case 6:
                let (m, k, n) = (random.int(0..<4), random.int(0..<4), random.int(0..<4))
                return (MatMul(transposeB: true), [try tensor(dtype, x + [m, k]), try tensor(dtype, partner(of: x) + [n, k])])
            case 7:
                let (k, n) = (random.int(0..<4), random.int(0..<4))
                return (Linear(layout: .output_input), [try tensor(.f32, x + [k]), try tensor(.f32, [n, k]), try tensor(.f32, [n]), try tensor(.f32, x + [n])])
            case 8: return (Reduce(random.element(of: Reduce.Kind.allCases), axes: [axis(ranked.count)], keepDims: random.int(0..<2) == 0), [try tensor(dtype, ranked)])
            case 9: return (Reduce(.sum, axes: Array(0..<x.count), keepDims: false), [try tensor(dtype, x)])
            case 10: return (Softmax(axis: axis(ranked.count)), [try tensor(.f16, ranked)])
            case 11: return (LayerNorm(epsilon: 1), [try tensor(.f32, ranked), try tensor(.f32, [ranked[ranked.count - 1]]), nil, try tensor(.f32, ranked)])
            case 12: return (Gather(axis: axis(ranked.count)), [try tensor(integer, ranked), try tensor(.i64, x, -1..<1)])
            case 13: return (GatherElements(axis: axis(ranked.count)), [try tensor(dtype, ranked), try tensor(.i32, ranked, -1..<1)])
            case 14: return (GatherND(), [try tensor(dtype, ranked), try tensor(.i64, x + [1], -1..<1)])
            case 15:
                let target = random.int(0..<2) == 0 ? [-1] : ranked.reversed()
                return (Reshape(), [try tensor(integer, ranked), try integers(target)])
            case 16: return (ExpandDims(axes: [axis(x.count + 1)]), [try tensor(integer, x)])
            case 17:
                let axis = axis(ranked.count)
                var squeezable = ranked
                squeezable[axis < 0 ? axis + ranked.count : axis] = 1
                return (Squeeze(axes: [axis]), [try tensor(integer, squeezable)])
            case 18: return (Transpose(permutation: Array(0..<x.count).shuffled(using: &random)), [try tensor(dtype, x)])
            case 19:
                let axis = axis(ranked.count)
                var other = ranked
                other[axis < 0 ? axis + ranked.count : axis] = random.int(0..<4)
                return (Concat(axis: axis), [try tensor(integer, ranked), try tensor(integer, other)])
            case 20:
                let bounds = [-5, -2, -1, 0, 1, 2, 5, Int.max, Int.min]
                let steps: Tensor? = random.int(0..<2) == 0 ? nil : try integers([random.element(of: [-3, -1, 1, 2, Int.min])])
                return (Slice(axes: [axis(ranked.count)]), [
                    try tensor(integer, ranked), try integers([random.element(of: bounds)]), try integers([random.element(of: bounds)]), steps,
                ])
            case 21: return (Expand(), [try tensor(integer, partner(of: x)), try integers(x)])
            case 22: return (Tile(), [try tensor(dtype, x), try integers(x.map { _ in random.int(0..<3) })])
            case 23: return (Pad(mode: random.element(of: [.constant, .edge, .reflect, .wrap])), [
                try tensor(dtype, x), try integers((0..<2 * x.count).map { _ in random.int(-2..<4) }),
            ])
            case 24: return (Arange(), [try tensor(dtype, [], 0..<9), try tensor(dtype, [], 0..<20), try tensor(dtype, [], 1..<4)])
            default: return (random.int(0..<2) == 0 ? Fill() : ShapeOf(start: axis(3)), [try integers(ranked), try tensor(integer, [])])
            }
        }
    }

    /// Sizes and elements n of at least 2 may stand as the symbol sN.
    private static let symbols = Dictionary(uniqueKeysWithValues: (2..<400).map { ("s\($0)", $0) })

    @Test func inferenceAgreesWithEvaluation() throws {
        var generator = Generator(random: SeededRandom(seed: 5))
        var evaluated = 0
        var knownValues = 0
        for _ in 0..<6000 {
            let (op, tensors) = try generator.node()
            func symbolic(_ value: Int) -> Dim { value >= 2 && generator.random.int(0..<2) == 0 ? .symbol("s\(value)") : .fixed(value) }
            let facts: [Fact?] = tensors.map { tensor in
                guard let tensor else { return nil }
                let type = TensorType(tensor.dtype, tensor.shape.map { symbolic($0) })
                guard let value = SymbolicTensor(tensor), generator.random.int(0..<3) > 0 else { return Fact(type) }
                // Symbols stand for sizes, so the short types hold none.
                let isWide = [.i64, .i32, .u64].contains(tensor.dtype)
                let elements = value.elements.map { element in isWide ? element.fixedValue.map(symbolic) ?? element : element }
                return Fact(type, value: SymbolicTensor(shape: tensor.shape, elements: elements))
            }
            // Illegal draws (a division by zero, shapes that do not fit) are for the next test.
            guard let outputs = try? op.evaluate(Inputs(tensors)) else { continue }
            evaluated += 1
            let types: [TensorType]
            do {
                types = try op.inferTypes(Operands(facts))
            } catch let error as OperatorError where error.reason == .unsupported {
                // A rank that only the elements tell, and they were withheld.
                continue
            }
            #expect(types.count == outputs.count)
            for (type, output) in zip(types, outputs) {
                #expect(type.dtype == output.dtype && type.rank == output.rank, "\(op)")
                for (dim, size) in zip(type.dims, output.shape) {
                    // An invented symbol has no value.
                    guard let claimed = try dim.evaluate(Self.symbols) else { continue }
                    #expect(claimed == size, "\(op) claims \(type), gives \(output.shape) for \(tensors.map { $0?.shape })")
                }
            }
            for (value, output) in zip(try op.inferValues(Operands(facts)), outputs) {
                guard let value else { continue }
                knownValues += 1
                #expect(value.shape == output.shape, "\(op)")
                let claimed = try value.elements.map { try $0.evaluate(Self.symbols).map(Double.init) }
                let actual: [Double?] = output.doubles()
                #expect(claimed == actual, "\(op) claims \(value.elements), gives \(actual) of \(tensors.map { $0?.doubles() })")
            }
        }
        // The draws are mostly legal, and value rules are met often.
        #expect(evaluated > 4000)
        #expect(knownValues > 1000)
    }

    /// No operand may trap an evaluation, whatever its elements.
    @Test func evaluationNeverTraps() throws {
        var generator = Generator(random: SeededRandom(seed: 6))
        let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, 2, 1 << 20, 1 << 31, 1 << 32, 1 << 62, .max]
        var refused = 0
        for _ in 0..<4000 {
            let (op, tensors) = try generator.node()
            let damaged = try tensors.map { tensor -> Tensor? in
                guard let tensor, generator.random.int(0..<2) == 0 else { return tensor }
                let values = (0..<tensor.count).map { _ in generator.random.element(of: extremes) }
                return try Tensor(integers: values, dtype: tensor.dtype, shape: tensor.shape)
            }
            // A shape of 2^20 in every dim is legal and slow; only what the memory limit lets through in a small form is run.
            guard !isLarge(op, damaged) else { continue }
            do { _ = try op.evaluate(Inputs(damaged)) } catch { refused += 1 }
        }
        #expect(refused > 100)
    }

    private func isLarge(_ op: any GraphIR.Operator, _ tensors: [Tensor?]) -> Bool {
        guard let types = try? op.inferTypes(Inputs(tensors).operands) else { return false }
        return types.contains { type in
            guard let shape = type.shape, let count = try? Shape.count(shape) else { return false }
            return count > 1 << 16 && count < 1 << 40
        }
    }
}
