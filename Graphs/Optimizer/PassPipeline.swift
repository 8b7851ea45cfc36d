import GraphIR

/// One walk over the graph that keeps what it computes.
protocol Pass: Sendable {
    var name: String { get }

    /// - Returns: How many changes it made.
    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int
}

/// A pass left the graph invalid: a defect of the pass, or of the graph that it was given.
public struct OptimizationError: Error, Sendable, CustomStringConvertible {
    public let pass: String
    public let cause: any Error
    public var description: String { "after \(pass): \(cause)" }
}

/// An order of passes.
public struct PassPipeline: Sendable {
    let passes: [any Pass]

    /// Leaves the graph as it is.
    public static let none = PassPipeline(passes: [])

    /// Everything that makes a graph smaller and faster and keeps its outputs to rounding.
    public static let `default` = PassPipeline(
        passes: [
            // First, so that all patterns see one float type and no casts back and forth.
            HalfPrecisionWidening(),
            // Before shapes are settled: it gives inputs and their dims a meaning, or changes nothing.
            KeyValueCachePass(),
            // Shapes become known and exporters' spellings alike; all rules build on that.
            Repeated(passes: simplification),
            // Before anything folds or fuses the float form of an int8 weight.
            RewritePass(rule: DequantizeFusion()),
            // After dequantize: rows are gathered in the stored form.
            RewritePass(rule: GatherOfDequantizeFusion()),
            RewritePass(rule: GatherOfCastFusion()),
            // The integer spellings of dense layers become those of float ones over dequantised operands, for the fusions that follow.
            RewritePass(rule: MatMulIntegerFusion()),
            // After the shapes of heads are known, before linear takes the bias additions of q, k, v: it needs no more than the products.
            RewritePass(rule: AttentionFusion()),
            // Keys that were transposed for their product are transposed back now, which cancels.
            Repeated(passes: simplification),
            // It looks for heads repeated for an attention.
            RewritePass(rule: GroupedHeadFusion()),
            // Before linear and norms take anything: it needs products and sums as they stand.
            RewritePass(rule: RotaryFusion()),
            RewritePass(rule: RotaryHalvesFusion()),
            RewritePass(rule: RMSNormFusion()),
            RewritePass(rule: RMSNormScaleFusion()),
            RewritePass(rule: LayerNormFusion()),
            // Each takes one more step into the layer_norm that stands before it.
            RewritePass(rule: LayerNormScaleFusion()),
            RewritePass(rule: LayerNormBiasFusion()),
            // Before a sum becomes the norm's residual, and after the norm has all its parameters.
            RewritePass(rule: EmbeddingFusion()),
            RewritePass(rule: GeluFusion()),
            RewritePass(rule: GeluTanhFusion()),
            RewritePass(rule: SiluFusion()),
            // Transposes that attention did not take go into the products.
            RewritePass(rule: MatMulTransposeFusion()),
            // After gelu, whose pattern needs the sum that linear takes as its bias.
            RewritePass(rule: LinearFusion()),
            RewritePass(rule: LinearBiasFusion()),
            RewritePass(rule: LinearActivationFusion()),
            // A sum before a norm belongs to the norm; what is left goes to the linear before it.
            RewritePass(rule: LayerNormResidualFusion()),
            RewritePass(rule: LinearResidualFusion()),
            // After all that look at a linear's operands: the weight is no f32 then.
            RewritePass(rule: LinearOfCastFusion()),
            RewritePass(rule: QuantizedLinearFusion()),
            // After quantized_linear, which takes those whose input is quantised too.
            RewritePass(rule: BlockWeightFusion()),
            // After the linears have their biases and activations.
            LinearPacking(),
            // Fusions leave transposes that cancel and masks that are equal.
            Repeated(passes: simplification),
            // Last, on the fused graph: its attentions have one mask, and what is left between them is token by token.
            UnpaddedBatches(),
            Repeated(passes: simplification),
        ])

    static let simplification: [any Pass] = [
        // Types first: what folding learned makes more of them known.
        TypeInference(), ConstantFolding(), ShapeSimplification(), Canonicalise(),
        // After canonicalise, which takes away the broadcasts that change nothing.
        BroadcastSimplification(),
        // After spellings are alike.
        CommonSubexpression(),
        // Last: all of the above leave unused nodes behind.
        DeadCode(),
    ]

    /// Optimises a graph in place.
    ///
    /// - Throws: `OptimizationError` where the graph contradicts itself; the graph is then unchanged.
    @discardableResult
    public func run(_ graph: inout Graph) throws -> OptimizationReport {
        var report = OptimizationReport()
        var work = graph
        report.operatorsBefore = graph.operatorCounts
        for pass in passes { _ = try pass.runVerified(&work, &report) }
        if !passes.isEmpty { work = work.compacted() }
        report.operatorsAfter = work.operatorCounts
        report.fusionCounts = FusionCounts(work)
        graph = work
        return report
    }
}

extension Pass {
    /// Runs the pass; in debug builds the verifier looks at what it made.
    func runVerified(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        do {
            let count = try run(&graph, &report)
            if !(self is Repeated) { report.record(name, count: count) }
            #if DEBUG
            try graph.verify()
            #endif
            return count
        } catch let error as OptimizationError {
            throw error
        } catch {
            throw OptimizationError(pass: name, cause: error)
        }
    }
}

/// Passes that prepare each other, until nothing changes.
struct Repeated: Pass {
    let passes: [any Pass]
    var name: String { passes.map(\.name).joined(separator: ", ") }

    /// Real graphs settle in three or four rounds.
    private static let maximumRounds = 8

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        var total = 0
        for _ in 0..<Self.maximumRounds {
            let count = try passes.reduce(0) { try $0 + $1.runVerified(&graph, &report) }
            total += count
            if count == 0 { break }
        }
        return total
    }
}
