import CKernels
import Foundation
import Testing

/// A function, the formula in double precision, the range it is tested over and its bound: in ULP, or absolute per
/// max(1, |x|).
struct UnaryCase: Sendable, CustomStringConvertible {
    enum Bound { case ulp(Double), scaled(Double) }
    let description: String
    let function: ck_unary
    let range: ClosedRange<Float>
    let bound: Bound
    let formula: @Sendable (Double) -> Double
}

private func gelu(_ x: Double) -> Double { x / 2 * erfc(-x / 2.0.squareRoot()) }
private func geluTanh(_ x: Double) -> Double {
    // 1 + tanh(u) = 2 / (1 + e^-2u), which keeps its digits for u << 0.
    let u = (2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)
    return x / (1 + exp(-2 * u))
}
private func sigmoid(_ x: Double) -> Double { 1 / (1 + exp(-x)) }

private let unaryCases: [UnaryCase] = [
    .init(description: "identity", function: ck_identity, range: -10...10, bound: .ulp(0)) { $0 },
    .init(description: "relu", function: ck_relu, range: -10...10, bound: .ulp(0)) { max($0, 0) },
    .init(description: "gelu", function: ck_gelu, range: -12...12, bound: .scaled(2e-7), formula: gelu),
    .init(description: "gelu_tanh", function: ck_gelu_tanh, range: -12...12, bound: .scaled(2e-7), formula: geluTanh),
    .init(description: "tanh", function: ck_tanh, range: -12...12, bound: .ulp(2), formula: tanh),
    .init(description: "tanh near 0", function: ck_tanh, range: -0.01...0.01, bound: .ulp(2), formula: tanh),
    .init(description: "sigmoid", function: ck_sigmoid, range: -87...87, bound: .ulp(3), formula: sigmoid),
    .init(description: "sigmoid, far", function: ck_sigmoid, range: -200 ... -87, bound: .scaled(1e-37), formula: sigmoid),
    .init(description: "silu", function: ck_silu, range: -87...87, bound: .ulp(4)) { $0 * sigmoid($0) },
    .init(description: "silu, far", function: ck_silu, range: -200 ... -87, bound: .scaled(1e-35)) { $0 * sigmoid($0) },
    .init(description: "exp", function: ck_exp, range: -110...90, bound: .ulp(2), formula: exp),
    .init(description: "exp near 0", function: ck_exp, range: -1...1, bound: .ulp(2), formula: exp),
    .init(description: "log near 1", function: ck_log, range: 0.5...2, bound: .ulp(2), formula: log),
    .init(description: "log", function: ck_log, range: 0...3.4e38, bound: .ulp(2), formula: log),
    .init(description: "erf", function: ck_erf, range: -5...5, bound: .ulp(2), formula: erf),
    .init(description: "erf near 0", function: ck_erf, range: -0.01...0.01, bound: .ulp(2), formula: erf),
    .init(description: "sqrt", function: ck_sqrt, range: 0...1e30, bound: .ulp(0.5)) { $0.squareRoot() },
    .init(description: "rsqrt", function: ck_rsqrt, range: 1e-30...1e30, bound: .ulp(2)) { 1 / $0.squareRoot() },
    .init(description: "reciprocal", function: ck_reciprocal, range: -1e30...1e30, bound: .ulp(0.5)) { 1 / $0 },
    .init(description: "negate", function: ck_negate, range: -10...10, bound: .ulp(0)) { -$0 },
    .init(description: "absolute", function: ck_absolute, range: -10...10, bound: .ulp(0)) { abs($0) },
    .init(description: "square", function: ck_square, range: -1e15...1e15, bound: .ulp(0.5)) { $0 * $0 },
]

private func apply(_ f: ck_unary, _ x: [Float]) -> [Float] {
    var y = [Float](repeating: .nan, count: x.count)
    ck_unary_f32(f, x.count, x, &y)
    return y
}

extension KernelTests {
    @Suite struct Unary {
        @Test(arguments: unaryCases) func staysWithinItsBound(_ item: UnaryCase) {
            var numbers = Numbers(1)
            let x = numbers.floats(30_003, item.range)
            forEachISA { isa in
                let y = apply(item.function, x)
                var worst = 0.0
                var at: Float = 0
                for (value, result) in zip(x, y) {
                    let truth = item.formula(Double(value))
                    let error: Double
                    switch item.bound {
                    case .ulp: error = ulps(result, truth)
                    case .scaled: error = abs(Double(result) - truth) / max(1, abs(Double(value)))
                    }
                    if !(error <= worst) { (worst, at) = (error, value) }
                }
                switch item.bound {
                case .ulp(let bound), .scaled(let bound):
                    #expect(worst <= bound, "\(isa) \(item): \(worst) at \(at)")
                }
            }
        }

        /// Every exponent, subnormals included: random bit patterns.
        @Test func logarithmOfEveryMagnitude() {
            var numbers = Numbers(2)
            let x = (0..<30_000).map { _ in Float(bitPattern: UInt32.random(in: 1..<0x7f80_0000, using: &numbers)) }
            forEachISA { isa in
                let worst = zip(x, apply(ck_log, x)).map { ulps($1, log(Double($0))) }.max() ?? .infinity
                #expect(worst <= 2, "\(isa): \(worst)")
            }
        }

        @Test func exponentialThroughTheSubnormals() {
            let x = stride(from: Float(-104.5), to: -86, by: 0.001).map { $0 }
            forEachISA { isa in
                let worst = zip(x, apply(ck_exp, x)).map { ulps($1, exp(Double($0))) }.max() ?? .infinity
                #expect(worst <= 2, "\(isa): \(worst)")
            }
        }

        @Test func specialValues() {
            let inf = Float.infinity
            // function, input, output
            let table: [(ck_unary, Float, Float)] = [
                (ck_relu, .nan, .nan), (ck_relu, inf, inf), (ck_relu, -inf, 0), (ck_relu, 0, 0),
                (ck_exp, -inf, 0), (ck_exp, inf, inf), (ck_exp, .nan, .nan), (ck_exp, 0, 1), (ck_exp, -0.0, 1),
                (ck_exp, 1000, inf), (ck_exp, -1000, 0),
                (ck_log, 0, -inf), (ck_log, -0.0, -inf), (ck_log, -1, .nan), (ck_log, inf, inf), (ck_log, .nan, .nan),
                (ck_log, -inf, .nan), (ck_log, 1, 0),
                (ck_tanh, inf, 1), (ck_tanh, -inf, -1), (ck_tanh, .nan, .nan), (ck_tanh, -0.0, -0.0), (ck_tanh, 0, 0),
                (ck_erf, inf, 1), (ck_erf, -inf, -1), (ck_erf, .nan, .nan), (ck_erf, 0, 0), (ck_erf, -0.0, -0.0),
                (ck_sigmoid, inf, 1), (ck_sigmoid, -inf, 0), (ck_sigmoid, .nan, .nan), (ck_sigmoid, 0, 0.5),
                (ck_silu, inf, inf), (ck_silu, .nan, .nan), (ck_silu, -inf, .nan), (ck_silu, 0, 0),
                (ck_gelu, inf, inf), (ck_gelu, .nan, .nan), (ck_gelu, 0, 0), (ck_gelu, 100, 100),
                (ck_gelu_tanh, inf, inf), (ck_gelu_tanh, .nan, .nan), (ck_gelu_tanh, 100, 100),
                (ck_sqrt, -1, .nan), (ck_sqrt, inf, inf), (ck_sqrt, -0.0, -0.0), (ck_sqrt, .nan, .nan),
                (ck_rsqrt, 0, inf), (ck_rsqrt, inf, 0), (ck_reciprocal, 0, inf), (ck_reciprocal, -0.0, -inf),
                (ck_negate, 0, -0.0), (ck_absolute, -inf, inf), (ck_absolute, .nan, .nan), (ck_identity, -0.0, -0.0),
            ]
            forEachISA { isa in
                for (function, input, output) in table {
                    let y = apply(function, [Float](repeating: input, count: 19))
                    #expect(y.allSatisfy { same($0, output) }, "\(isa) f\(function.rawValue)(\(input)) = \(y[0]), \(y[18])")
                }
            }
        }

        /// The elements of a vector's tail, and in place, give what a whole vector gives.
        @Test func everyLengthAndInPlace() {
            var numbers = Numbers(3)
            let x = numbers.floats(1000, 0.1...3)
            forEachISA { isa in
                for item in unaryCases {
                    let whole = apply(item.function, x)
                    for n in lengths {
                        var y = x
                        y.withUnsafeMutableBufferPointer { ck_unary_f32(item.function, n, $0.baseAddress, $0.baseAddress) }
                        #expect(y[..<n].elementsEqual(whole[..<n]) && y[n...].elementsEqual(x[n...]), "\(isa) \(item) n=\(n)")
                    }
                }
            }
        }
    }

    @Suite struct Binary {
        static let operations: [(ck_binary, @Sendable (Float, Float) -> Float)] = [
            (ck_add, { $0 + $1 }), (ck_subtract, { $0 - $1 }), (ck_multiply, { $0 * $1 }), (ck_divide, { $0 / $1 }),
            (ck_minimum, { $0.isNaN || $1.isNaN ? .nan : min($0, $1) }),
            (ck_maximum, { $0.isNaN || $1.isNaN ? .nan : max($0, $1) }),
        ]

        @Test func everyFormAndLength() {
            var numbers = Numbers(4)
            var a = numbers.floats(1000), b = numbers.floats(1000)
            (a[3], b[5], a[7], b[8]) = (.nan, .nan, .infinity, -.infinity)
            forEachISA { isa in
                for (operation, formula) in Self.operations {
                    for n in lengths {
                        for (aStep, bStep) in [(1, 1), (1, 0), (0, 1), (0, 0)] {
                            var y = [Float](repeating: 77, count: n + 1)
                            ck_binary_f32(operation, n, a, aStep, b, bStep, &y)
                            for i in 0..<n {
                                let truth = formula(a[i * aStep], b[i * bStep])
                                #expect(
                                    truth.isNaN ? y[i].isNaN : y[i] == truth,
                                    "\(isa) op\(operation.rawValue) n=\(n) steps \(aStep),\(bStep) i=\(i)")
                            }
                            #expect(y[n] == 77)
                        }
                    }
                }
            }
        }

        @Test func inPlaceWithANumberFromTheSameVector() {
            forEachISA { isa in
                var y = (0..<33).map { Float($0 + 2) }
                y.withUnsafeMutableBufferPointer { ck_binary_f32(ck_multiply, 33, $0.baseAddress, 1, $0.baseAddress, 0, $0.baseAddress) }
                #expect(y == (0..<33).map { Float($0 + 2) * 2 }, "\(isa)")
            }
        }

        @Test func axpyOfEveryLength() {
            var numbers = Numbers(5)
            let x = numbers.floats(1000), start = numbers.floats(1001)
            forEachISA { isa in
                for n in lengths {
                    var y = start
                    ck_axpy_f32(n, 0.75, x, &y)
                    for i in 0..<n {
                        #expect(abs(Double(y[i]) - (Double(start[i]) + 0.75 * Double(x[i]))) <= 1.2e-7, "\(isa) n=\(n)")
                    }
                    #expect(y[n...].elementsEqual(start[n...]))
                }
            }
        }
    }

    @Suite struct Reductions {
        @Test func everyLength() {
            var numbers = Numbers(6)
            let a = numbers.floats(5000), b = numbers.floats(5000)
            forEachISA { isa in
                for n in lengths + [5000] {
                    let bound = 1e-7 * (8 + Double(n) / 64)
                    let sum = a[..<n].reduce(0.0) { $0 + Double($1) }
                    let size = a[..<n].reduce(0.0) { $0 + abs(Double($1)) }
                    #expect(abs(Double(ck_sum_f32(n, a)) - sum) <= bound * size, "\(isa) sum n=\(n)")
                    let products = zip(a, b).prefix(n).map { Double($0) * Double($1) }
                    let dot = products.reduce(0, +), dotSize = products.reduce(0) { $0 + abs($1) }
                    #expect(abs(Double(ck_dot_f32(n, a, b)) - dot) <= bound * dotSize, "\(isa) dot n=\(n)")
                    let norm = a[..<n].reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot()
                    #expect(abs(Double(ck_norm2_f32(n, a)) - norm) <= bound * norm, "\(isa) norm n=\(n)")
                    #expect(ck_max_f32(n, a) == a[..<n].max() ?? -.infinity, "\(isa) max n=\(n)")
                    #expect(ck_min_f32(n, a) == a[..<n].min() ?? .infinity, "\(isa) min n=\(n)")
                }
            }
        }

        @Test func aNaNAnywhereIsKept() {
            forEachISA { isa in
                for n in [1, 3, 8, 17, 40] {
                    for i in 0..<n {
                        var x = (0..<n).map(Float.init)
                        x[i] = .nan
                        #expect(ck_max_f32(n, x).isNaN && ck_min_f32(n, x).isNaN && ck_sum_f32(n, x).isNaN, "\(isa) \(i) of \(n)")
                    }
                }
                #expect(ck_max_f32(20, [Float](repeating: -.infinity, count: 20)) == -.infinity)
            }
        }
    }
}
