import GraphIR
import Tensors
import Testing

@testable import Operators
@testable import Optimizer

/// Each rule on small graphs in text: what it makes of its pattern, and why it leaves alone what only looks like it.
@Suite struct OptimizerRuleTests {
    private func optimize(_ body: String, _ rules: any RewriteRule...) throws -> (lines: [String], report: OptimizationReport) {
        var graph = try Graph(parsing: "graph \"test\" {\n\(body)\n}\n")
        let report = try PassPipeline(passes: rules.map { RewritePass(rule: $0) } + [DeadCode()]).run(&graph)
        try graph.verify()
        // Names of new constants and inner values are no matter of the tests: only the lines of nodes and outputs.
        let lines = graph.text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("%") || $0.hasPrefix("output") }
        return (lines.map(String.init), report)
    }

    private func reasons(_ report: OptimizationReport) -> [String] { report.nearMisses.map(\.reason) }

    // MARK: layer_norm

    private func norm(axis: Int = -1, epsilon: String = "1e-12", square: String = "pow(%d, %two)", tail: String = "") -> String {
        """
        input %x : f32[b, s, 4]
        constant %two : f32[] = 2
        constant %epsilon : f32[] = \(epsilon)
        %mean = reduce_mean(%x) {axes = [\(axis)], keepDims = true} : f32[\(axis == -1 ? "b, s, 1" : "b, 1, 4")]
        %d = sub(%x, %mean) : f32[b, s, 4]
        %square = \(square) : f32[b, s, 4]
        %variance = reduce_mean(%square) {axes = [\(axis)], keepDims = true} : f32[\(axis == -1 ? "b, s, 1" : "b, 1, 4")]
        %sum = add(%variance, %epsilon) : f32[\(axis == -1 ? "b, s, 1" : "b, 1, 4")]
        \(tail.isEmpty ? "%root = sqrt(%sum) : f32[b, s, 1]\n%y = div(%d, %root) : f32[b, s, 4]\noutput \"y\" = %y" : tail)
        """
    }

    @Test func layerNorm() throws {
        let fused = ["%y = layer_norm(%x) {epsilon = 1e-12, normalizedRank = 1} : f32[b, s, 4]", "output \"y\" = %y"]
        #expect(try optimize(norm(), LayerNormFusion()).lines == fused)
        #expect(try optimize(norm(square: "mul(%d, %d)"), LayerNormFusion()).lines == fused)
        for tail in [
            "%r = rsqrt(%sum) : f32[b, s, 1]\n%y = mul(%r, %d) : f32[b, s, 4]\noutput \"y\" = %y",
            "%q = sqrt(%sum) : f32[b, s, 1]\n%r = reciprocal(%q) : f32[b, s, 1]\n%y = mul(%d, %r) : f32[b, s, 4]\noutput \"y\" = %y",
            "constant %half : f32[] = 0.5\n%q = pow(%sum, %half) : f32[b, s, 1]\n%y = div(%d, %q) : f32[b, s, 4]\noutput \"y\" = %y",
        ] {
            #expect(try optimize(norm(tail: tail), LayerNormFusion()).lines == fused)
        }
    }

    @Test func layerNormNearMisses() throws {
        let cube = try optimize(norm().replacing("constant %two : f32[] = 2", with: "constant %two : f32[] = 3"), LayerNormFusion())
        #expect(reasons(cube.report) == ["the constant is 3.0, expected 2.0"])
        let negative = try optimize(norm(epsilon: "-1"), LayerNormFusion())
        #expect(reasons(negative.report) == ["epsilon is no positive number"])
        let middle = try optimize(
            norm(axis: 1, tail: "%root = sqrt(%sum) : f32[b, 1, 4]\n%y = div(%d, %root) : f32[b, s, 4]\noutput \"y\" = %y"), LayerNormFusion())
        #expect(reasons(middle.report) == ["the mean is taken over axes [1] of rank 3, not over the last"])
        let output = try optimize(norm() + "\noutput \"variance\" = %variance", LayerNormFusion())
        #expect(reasons(output.report) == ["%variance is an output of the graph"])
        #expect(output.report.fusionCounts.layerNorm == 0)
        let extra = try optimize(norm() + "\n%z = neg(%d) : f32[b, s, 4]\noutput \"z\" = %z", LayerNormFusion())
        #expect(reasons(extra.report) == ["%d is also used by %z"])
    }

    @Test func layerNormParametersAndResidual() throws {
        let graph = """
            input %a : f32[b, s, 2]
            input %b : f32[b, s, 2]
            constant %scale : f32[1, 1, 2] = [1, 2]
            constant %bias : f32[2] = [3, 4]
            %x = add(%a, %b) : f32[b, s, 2]
            %n = layer_norm(%x) {epsilon = 1e-05, normalizedRank = 1} : f32[b, s, 2]
            %m = mul(%scale, %n) : f32[b, s, 2]
            %y = add(%m, %bias) : f32[b, s, 2]
            output "y" = %y
            """
        let (lines, report) = try optimize(graph, LayerNormScaleFusion(), LayerNormBiasFusion(), LayerNormResidualFusion())
        #expect(lines.suffix(2) == [
            "%y = layer_norm(%a, %reshape, %bias, %b) {epsilon = 1e-05, normalizedRank = 1} : f32[b, s, 2]", "output \"y\" = %y",
        ])
        #expect(report.applications.map(\.rule) == ["layer_norm_scale", "layer_norm_bias", "layer_norm_residual"])
        let wide = try optimize(
            graph.replacing("[1, 1, 2] = [1, 2]", with: "[s, 2]").replacing("constant %scale", with: "input %scale"), LayerNormScaleFusion())
        // Computed factors are no parameters, and no near miss.
        #expect(wide.report.applications.isEmpty && wide.report.nearMisses.isEmpty)
    }

    // MARK: gelu

    private func gelu(root: String = "1.4142135", product: String) -> String {
        """
        input %x : f32[n]
        constant %one : f32[] = 1
        constant %half : f32[] = 0.5
        constant %two : f32[] = 2
        constant %root : f32[] = \(root)
        %q = div(%x, %root) : f32[n]
        %e = erf(%q) : f32[n]
        %t = add(%one, %e) : f32[n]
        \(product)
        output "y" = %y
        """
    }

    @Test(arguments: [
        "%p = mul(%x, %t) : f32[n]\n%y = mul(%p, %half) : f32[n]",
        "%p = mul(%x, %half) : f32[n]\n%y = mul(%p, %t) : f32[n]",
        "%p = mul(%half, %t) : f32[n]\n%y = mul(%x, %p) : f32[n]",
        "%p = mul(%t, %x) : f32[n]\n%y = div(%p, %two) : f32[n]",
    ]) func geluSpellings(_ product: String) throws {
        #expect(try optimize(gelu(product: product), GeluFusion()).lines == ["%y = gelu(%x) : f32[n]", "output \"y\" = %y"])
    }

    @Test func geluNearMiss() throws {
        let product = "%p = mul(%x, %t) : f32[n]\n%y = mul(%p, %half) : f32[n]"
        let (lines, report) = try optimize(gelu(root: "1.41", product: product), GeluFusion())
        #expect(lines.count == 6)
        #expect(report.nearMisses.map(\.description) == ["gelu at %y: the constant is 1.409999966621399, expected 1.414213562373095"])
        let shared = try optimize(gelu(product: product) + "\noutput \"e\" = %e", GeluFusion())
        #expect(reasons(shared.report) == ["%e is an output of the graph"])
    }

    @Test func geluTanh() throws {
        let head = """
            input %x : f32[n]
            constant %one : f32[] = 1
            constant %half : f32[] = 0.5
            constant %three : f32[] = 3
            constant %slope : f32[] = 0.7978845834732056
            constant %cubic : f32[] = 0.044714998453855515
            """
        let tail = """
            %h = tanh(%a) : f32[n]
            %t = add(%h, %one) : f32[n]
            %p = mul(%x, %half) : f32[n]
            %y = mul(%p, %t) : f32[n]
            output "y" = %y
            """
        let spelled = """
            %q = pow(%x, %three) : f32[n]
            %r = mul(%q, %cubic) : f32[n]
            %s = add(%x, %r) : f32[n]
            %a = mul(%s, %slope) : f32[n]
            """
        let factored = """
            %v = mul(%x, %slope) : f32[n]
            %q = mul(%x, %cubic) : f32[n]
            %r = mul(%q, %x) : f32[n]
            %s = add(%one, %r) : f32[n]
            %a = mul(%v, %s) : f32[n]
            """
        for middle in [spelled, factored] {
            let (lines, _) = try optimize([head, middle, tail].joined(separator: "\n"), GeluTanhFusion())
            #expect(lines == ["%y = gelu_tanh(%x) : f32[n]", "output \"y\" = %y"])
        }
    }

    // MARK: linear

    @Test func linear() throws {
        let graph = """
            input %x : f32[b, 2]
            input %r : f32[b, 2]
            constant %w : f32[2, 2] = [1, 2, 3, 4]
            constant %bias : f32[1, 2] = [5, 6]
            %p = matmul(%x, %w) {transposeA = false, transposeB = true} : f32[b, 2]
            %s = add(%bias, %p) : f32[b, 2]
            %g = relu(%s) : f32[b, 2]
            %y = add(%r, %g) : f32[b, 2]
            output "y" = %y
            """
        let (lines, report) = try optimize(graph, LinearFusion(), LinearBiasFusion(), LinearActivationFusion(), LinearResidualFusion())
        #expect(lines.last == "output \"y\" = %y")
        #expect(lines.contains("%y = linear(%x, %w, %reshape, %r) {layout = output_input, activation = relu} : f32[b, 2]"))
        #expect(report.fusionCounts.linear == 1)
        // The sum before the activation is needed elsewhere.
        let shared = try optimize(graph + "\noutput \"s\" = %s", LinearFusion(), LinearBiasFusion(), LinearActivationFusion())
        #expect(reasons(shared.report) == ["%s is an output of the graph"])
        // A broadcast addend is neither bias nor residual.
        let broadcast = try optimize(
            graph.replacing("input %r : f32[b, 2]", with: "input %r : f32[b, 1]"), LinearFusion(), LinearBiasFusion(), LinearActivationFusion(),
            LinearResidualFusion())
        #expect(broadcast.report.count(of: "linear_residual") == 0)
    }

    @Test func biasBehindAResidual() throws {
        let graph = """
            input %x : f32[b, 2]
            input %r : f32[b, 2]
            constant %w : f32[2, 2] = [1, 2, 3, 4]
            constant %bias : f32[2] = [5, 6]
            %p = matmul(%x, %w) {transposeA = false, transposeB = false} : f32[b, 2]
            %s = add(%r, %p) : f32[b, 2]
            %y = add(%s, %bias) : f32[b, 2]
            output "y" = %y
            """
        let (lines, _) = try optimize(graph, LinearFusion(), LinearBiasFusion())
        #expect(lines.filter { $0.hasPrefix("%") } == [
            "%linear_1 = linear(%x, %w, %bias) {layout = input_output, activation = none} : f32[b, 2]", "%y = add(%linear_1, %r) : f32[b, 2]",
        ])
        // The sum without the bias is needed elsewhere, and a column is no bias.
        let shared = try optimize(graph + "\noutput \"s\" = %s", LinearFusion(), LinearBiasFusion())
        #expect(shared.report.count(of: "linear_bias") == 0 && reasons(shared.report) == ["%s is an output of the graph"])
        let column = try optimize(graph.replacing("%bias : f32[2] = [5, 6]", with: "%bias : f32[1] = [5]"), LinearFusion(), LinearBiasFusion())
        #expect(column.report.count(of: "linear_bias") == 0)
    }

    @Test func dynamicProductsAreNoLinear() throws {
        let (lines, report) = try optimize(
            """
            input %x : f32[b, 2]
            input %w : f32[2, 3]
            %y = matmul(%x, %w) {transposeA = false, transposeB = false} : f32[b, 3]
            output "y" = %y
            """, LinearFusion())
        #expect(lines.count == 2 && report.nearMisses.isEmpty)
    }

    // MARK: attention

    private func attention(
        inputs: String = "input %mask : f32[b, 1, 1, s]", scores: String = "%z = add(%f, %mask) : f32[b, 2, s, s]",
        weights: String = "%w = softmax(%z) {kind = softmax, axis = -1} : f32[b, 2, s, s]"
    ) -> String {
        """
        input %q : f32[b, 2, s, 4]
        input %k : f32[b, 2, s, 4]
        input %v : f32[b, 2, s, 4]
        \(inputs)
        constant %zero : f32[] = 0
        constant %factor : f32[] = 0.5
        constant %lowest : f32[] = -3.4028235e38
        constant %infinite : f32[] = -inf
        %t = transpose(%k) {permutation = [0, 1, 3, 2]} : f32[b, 2, 4, s]
        %p = matmul(%q, %t) {transposeA = false, transposeB = false} : f32[b, 2, s, s]
        %f = mul(%p, %factor) : f32[b, 2, s, s]
        \(scores)
        \(weights.replacing("{kind = softmax, axis = -1}", with: "{axis = -1}"))
        %y = matmul(%w, %v) {transposeA = false, transposeB = false} : f32[b, 2, s, 4]
        output "y" = %y
        """
    }

    private func fused(_ graph: String) throws -> (String, OptimizationReport) {
        let (lines, report) = try optimize(graph, AttentionFusion())
        return (lines.first { $0.hasPrefix("%y") } ?? "", report)
    }

    @Test func attentionSpellings() throws {
        let attributes = "{scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[b, 2, s, 4]"
        #expect(try fused(attention()).0 == "%y = scaled_dot_product_attention(%q, %transpose, %v, %mask) \(attributes)")
        // The factor as a divisor, no mask.
        let plain = attention(inputs: "", scores: "").replacing("%f = mul(%p, %factor)", with: "%f = div(%p, %factor)").replacing("softmax(%z)", with: "softmax(%f)")
        let unmasked = try fused(plain).0
        #expect(unmasked == "%y = scaled_dot_product_attention(%q, %transpose, %v) \(attributes.replacing("0.5", with: "2.0"))")
        // A bias and a mask are one sum.
        let biased = attention(
            inputs: "input %bias : f32[1, 2, s, s]\ninput %mask : f32[b, 1, 1, s]",
            scores: "%u = add(%bias, %f) : f32[b, 2, s, s]\n%z = add(%u, %mask) : f32[b, 2, s, s]")
        #expect(try fused(biased).0 == "%y = scaled_dot_product_attention(%q, %transpose, %v, %add) \(attributes)")
        // Masked scores replaced: by minus infinity the condition is the mask, by the lowest number it is added.
        let replaced = attention(inputs: "input %mask : bool[b, 1, 1, s]", scores: "%z = select(%mask, %f, %infinite) : f32[b, 2, s, s]")
        #expect(try fused(replaced).0 == "%y = scaled_dot_product_attention(%q, %transpose, %v, %mask) \(attributes)")
        let lowest = attention(inputs: "input %mask : bool[b, 1, 1, s]", scores: "%z = select(%mask, %lowest, %f) : f32[b, 2, s, s]")
        #expect(try fused(lowest).0 == "%y = scaled_dot_product_attention(%q, %transpose, %v, %select) \(attributes)")
        // Rows without a key give zeros.
        let guarded = attention(weights: """
            %x = softmax(%z) {axis = -1} : f32[b, 2, s, s]
            %n = is_nan(%x) : bool[b, 2, s, s]
            %w = select(%n, %zero, %x) : f32[b, 2, s, s]
            """)
        #expect(try fused(guarded).0.contains("emptyRowsAreZero = true"))
        // q and k scaled before their product.
        let before = attention()
            .replacing("%p = matmul(%q, %t)", with: "%g = mul(%q, %factor) : f32[b, 2, s, 4]\n%h = mul(%t, %factor) : f32[b, 2, 4, s]\n%p = matmul(%g, %h)")
            .replacing("%f = mul(%p, %factor) : f32[b, 2, s, s]\n", with: "").replacing("add(%f", with: "add(%p")
        #expect(try fused(before).0 == "%y = scaled_dot_product_attention(%q, %transpose, %v, %mask) \(attributes.replacing("0.5", with: "0.25"))")
    }

    @Test func attentionNearMisses() throws {
        func reason(_ graph: String) throws -> [String] { reasons(try fused(graph).1) }
        #expect(try reason(attention() + "\noutput \"weights\" = %w") == ["%w is an output of the graph"])
        #expect(try reason(attention() + "\n%extra = neg(%z) : f32[b, 2, s, s]\noutput \"extra\" = %extra") == ["%z is also used by %extra"])
        // A fill that a score could exceed.
        let finite = attention(inputs: "input %mask : bool[b, 1, 1, s]", scores: "%z = select(%mask, %f, %zero) : f32[b, 2, s, s]")
        #expect(try reason(finite) == ["masked scores become 0.0, not minus infinity or the lowest number"])
        #expect(try reason(attention().replacing("axis = -1", with: "axis = 2")) == ["the softmax does not run over the keys"])
        // A mask for more sequences than the scores have.
        let wider = attention(
            inputs: "input %mask : f32[c, 1, 1, s]", scores: "%z = add(%f, %mask) : f32[c, 2, s, s]",
            weights: "%w = softmax(%z) {kind = softmax, axis = -1} : f32[c, 2, s, s]"
        ).replacing("f32[b,", with: "f32[1,").replacing("transposeB = false} : f32[1, 2, s, 4]", with: "transposeB = false} : f32[c, 2, s, 4]")
        #expect(try reason(wider) == ["the mask is f32[c, 1, 1, s], which does not fit the scores [1, 2, s, s]"])
        let wrongWeights = attention(weights: "%w = log_softmax(%z) {kind = softmax, axis = -1} : f32[b, 2, s, s]")
        #expect(try fused(wrongWeights).1.count(of: "attention") == 0)
        #expect(try fused(wrongWeights).0.hasPrefix("%y = matmul"))
    }

    // MARK: stored weights

    @Test func int8WeightsStayStored() throws {
        let graph = """
            input %ids : i64[b, s]
            constant %q : i8[2, 2] = [1, -2, 3, 4]
            constant %scale : f32[2, 1] = [0.5, 0.25]
            %c = cast(%q) {to = f32} : f32[2, 2]
            %w = mul(%c, %scale) : f32[2, 2]
            %y = gather(%w, %ids) {axis = 0} : f32[b, s, 2]
            output "y" = %y
            """
        let dequantized = try optimize(graph, DequantizeFusion())
        #expect(dequantized.lines.first == "%w = dequantize(%q, %scale_1) {axis = 0} : f32[2, 2]")
        // A scale per row is looked up like the rows.
        let rows = try optimize(graph, DequantizeFusion(), GatherOfDequantizeFusion())
        #expect(rows.lines == [
            "%gather = gather(%q, %ids) {axis = 0} : i8[b, s, 2]", "%cast = cast(%gather) {to = f32} : f32[b, s, 2]",
            "%gather_1 = gather(%scale_1, %ids) {axis = 0} : f32[b, s]", "%expand_dims = expand_dims(%gather_1) {axes = [-1]} : f32[b, s, 1]",
            "%y = mul(%cast, %expand_dims) : f32[b, s, 2]", "output \"y\" = %y",
        ])
        // A scale per column moves with its axis.
        let columns = try optimize(graph.replacing("[2, 1] = [0.5", with: "[2] = [0.5"), DequantizeFusion(), GatherOfDequantizeFusion())
        #expect(columns.lines.suffix(2) == ["%y = dequantize(%gather, %scale_1) {axis = 2} : f32[b, s, 2]", "output \"y\" = %y"])
        let zero = graph.replacing("%w = mul(%c, ", with: "constant %zero : f32[] = 200\n%s = sub(%c, %zero) : f32[2, 2]\n%w = mul(%s, ")
        #expect(reasons(try optimize(zero, DequantizeFusion()).report) == ["the zero point is no i8 of the scale's shape"])
    }

    // MARK: integer products

    /// `number` and `factor` make y.
    private func integer(_ number: String = "%product", factor: String = "%xScale, %scale", output: String = "y") -> String {
        """
        input %x : f32[b, s, 4]
        constant %w : u8[4, 2] = [0, 128, 130, 255, 1, 2, 3, 4]
        constant %scale : f32[1] = [0.5]
        constant %zero : u8[] = 100
        constant %bias : f32[2] = [1, 2]
        %q, %xScale, %xZero = dynamic_quantize(%x) : u8[b, s, 4], f32[], u8[]
        %product = matmul_integer(%q, %w, %xZero, %zero) : i32[b, s, 2]
        %number = cast(\(number)) {to = f32} : f32[b, s, 2]
        %factor = mul(\(factor)) : f32[1]
        %scaled = mul(%number, %factor) : f32[b, s, 2]
        %y = add(%scaled, %bias) : f32[b, s, 2]
        output "y" = %\(output)
        """
    }

    @Test func dynamicQuantizationBecomesAQuantizedLinear() throws {
        let rules: [any RewriteRule] = [MatMulIntegerFusion(), LinearBiasFusion(), LinearActivationFusion(), QuantizedLinearFusion()]
        func fused(_ body: String) throws -> (lines: [String], graph: Graph) {
            var graph = try Graph(parsing: "graph \"test\" {\n\(body)\n}\n")
            try PassPipeline(passes: rules.map { RewritePass(rule: $0) } + [DeadCode()]).run(&graph)
            return (graph.text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.hasPrefix("%") }, graph)
        }
        let (lines, graph) = try fused(integer())
        #expect(lines == [
            "%q, %xScale, %xZero = dynamic_quantize(%x) : u8[b, s, 4], f32[], u8[]",
            "%y = quantized_linear(%q, %xScale, %xZero, %w_1, %scale_1, %zero_1, %bias) {activation = none} : f32[b, s, 2]",
        ])
        // Bytes less 128, and every output's weights in a row.
        let constants = try (3...5).map { index in try #require(graph.nodes[1].inputs[index].flatMap { graph.constant($0) }) }
        #expect(constants[0].integers() == [-128, 2, -127, -125, 0, 127, -126, -124] && constants[0].shape == [2, 4])
        #expect(constants[1].floats() == [0.5, 0.5] && constants[2].integers() == [-28, -28])
        let activated = integer().replacing("output \"y\" = %y", with: "%z = relu(%y) : f32[b, s, 2]\noutput \"z\" = %z")
        #expect(try fused(activated).lines.last?.contains("{activation = relu}") == true)
    }

    @Test func productsOfIntegersThatStay() throws {
        func reason(_ body: String) throws -> [String] { reasons(try optimize(body, MatMulIntegerFusion()).report) }
        #expect(try reason(integer() + "\noutput \"product\" = %product") == ["%product is an output of the graph"])
        #expect(try reason(integer() + "\n%extra = neg(%number) : f32[b, s, 2]\noutput \"extra\" = %extra") == ["%number is also used by %extra"])
        // A scale for each row of x is no scale of the whole.
        let rows = integer().replacing("%factor = mul(%xScale, %scale) : f32[1]", with: "input %rowScale : f32[s, 1]\n%factor = mul(%rowScale, %scale) : f32[s, 1]")
        #expect(try reason(rows) == ["%rowScale is f32[s, 1], not one number for all of x"])
    }

    private func quantized(axis: Int = 1, weight: String = "i8", scales: String = "f32[2] = [0.5, 0.25]", x: String = "0.1") -> String {
        """
        input %x : f32[b, 3]
        constant %xs : f32[] = \(x)
        constant %xz : u8[] = 7
        constant %w : \(weight)[3, 2] = [1, 2, 3, 4, 5, 6]
        constant %ws : \(scales)
        %q = quantize(%x, %xs, %xz) {to = u8, axis = 1} : u8[b, 3]
        %d = dequantize(%q, %xs, %xz) {axis = 1} : f32[b, 3]
        %dw = dequantize(%w, %ws) {axis = \(axis)} : f32[3, 2]
        %y = linear(%d, %dw) {layout = input_output, activation = gelu} : f32[b, 2]
        output "y" = %y
        """
    }

    @Test func dequantizedOperandsBecomeAQuantizedLinear() throws {
        let fused = try optimize(quantized(), QuantizedLinearFusion())
        #expect(fused.lines == [
            "%q = quantize(%x, %xs, %xz) {to = u8, axis = 1} : u8[b, 3]",
            "%y = quantized_linear(%q, %xs, %xz, %w_1, %ws_1) {activation = gelu} : f32[b, 2]", "output \"y\" = %y",
        ])
        #expect(fused.report.fusionCounts.linear == 1 && fused.report.fusionCounts.gelu == 1)
        // Others may use the dequantised input.
        let shared = try optimize(quantized() + "\noutput \"d\" = %d", QuantizedLinearFusion())
        #expect(shared.report.count(of: "quantized_linear") == 1 && shared.lines.contains { $0.hasPrefix("%d = dequantize") })
        let rows = try optimize(quantized(axis: 0, scales: "f32[3] = [1, 2, 3]"), QuantizedLinearFusion())
        #expect(reasons(rows.report) == ["%ws runs along the inputs of the weight"])
        let perColumn = quantized().replacing("%xs : f32[] = 0.1", with: "%xs : f32[3] = [1, 2, 3]").replacing("%xz : u8[] = 7", with: "%xz : u8[3] = [7, 7, 7]")
        #expect(reasons(try optimize(perColumn, QuantizedLinearFusion()).report) == ["%xs is not one number for all of x"])
        // Where only the weight is stored in 8 bits, x stays what it is.
        let weightOnly = quantized().replacing("linear(%d,", with: "linear(%x,")
        #expect(try optimize(weightOnly, QuantizedLinearFusion()).report.count(of: "quantized_linear") == 0)
    }

    // MARK: block_weight

    private func weightOnly(weight: String = "i8", scale: String = "f32[2] = [0.1, 0.2]", zero: String = "", axis: Int = 0, width: Int = 32) -> String {
        """
        input %x : f32[b, \(width)]
        constant %w : \(weight)[2, \(width)] = [\((0..<2 * width).map { "\($0)" }.joined(separator: ", "))]
        constant %s : \(scale)
        \(zero.isEmpty ? "" : "constant %z : \(zero)")
        constant %bias : f32[2] = [1, 2]
        %dw = dequantize(%w, %s\(zero.isEmpty ? "" : ", %z")) {axis = \(axis)} : f32[2, \(width)]
        %y = linear(%x, %dw, %bias) {layout = output_input, activation = relu} : f32[b, 2]
        output "y" = %y
        """
    }

    @Test func dequantizedWeightsBecomeBlocks() throws {
        let fused = ["%y = linear(%x, %w_1, %bias, _, %s_1) {layout = output_input, activation = relu} : f32[b, 2]", "output \"y\" = %y"]
        for body in [weightOnly(), weightOnly(scale: "f32[] = 0.1"), weightOnly(weight: "u8", zero: "u8[2] = [20, 128]"), weightOnly(zero: "i8[] = -3")] {
            #expect(try optimize(body, BlockWeightFusion()).lines == fused)
        }
        // The same numbers: scales need not be 16-bit floats.
        var graph = try Graph(parsing: "graph \"test\" {\n\(weightOnly(zero: "i8[2] = [-3, 5]"))\n}\n")
        try PassPipeline(passes: [RewritePass(rule: BlockWeightFusion())]).run(&graph)
        let node = try #require(graph.nodes.last)
        let (weight, scale) = (try #require(node.inputs[1].flatMap { graph.constant($0) }), try #require(node.inputs[4].flatMap { graph.constant($0) }))
        #expect(weight.dtype == .q8_0 && weight.floats() == (0..<64).map { Float($0 + ($0 < 32 ? 3 : -5)) } && scale.floats() == [0.1, 0.2])
    }

    @Test func dequantizedWeightsThatStay() throws {
        func reason(_ body: String) throws -> [String] { reasons(try optimize(body, BlockWeightFusion()).report) }
        #expect(try reason(weightOnly(width: 16)) == ["its rows of 16 are no whole number of blocks of 32"])
        #expect(try reason(weightOnly(scale: "f32[32] = [\(Array(repeating: "1", count: 32).joined(separator: ", "))]", axis: 1)) == ["the scale runs along the inputs of the weight"])
        #expect(try reason(weightOnly(weight: "u8", zero: "u8[2] = [0, 200]")) == ["its levels do not fit in 8 bits once their zero points are taken away"])
        let computed = weightOnly().replacing("constant %s : f32[2] = [0.1, 0.2]", with: "input %s : f32[2]")
        #expect(try reason(computed) == ["%s is not the constant scale"])
        // Others may use the dequantised weight; it stays for them.
        let shared = try optimize(weightOnly() + "\noutput \"dw\" = %dw", BlockWeightFusion())
        #expect(shared.report.count(of: "block_weight") == 1 && shared.lines.contains { $0.hasPrefix("%dw = dequantize") })
    }

    // MARK: rms_norm

    private func rms(square: String = "pow(%x, %two)", tail: String) -> String {
        """
        input %x : f32[b, s, 4]
        constant %two : f32[] = 2
        constant %epsilon : f32[] = 1e-06
        constant %scale : f32[4] = [1, 2, 3, 4]
        %square = \(square) : f32[b, s, 4]
        %mean = reduce_mean(%square) {axes = [-1], keepDims = true} : f32[b, s, 1]
        %sum = add(%mean, %epsilon) : f32[b, s, 1]
        \(tail)
        """
    }

    @Test func rmsNorm() throws {
        let fused = ["%y = rms_norm(%x, %scale) {epsilon = 1e-06} : f32[b, s, 4]", "output \"y\" = %y"]
        for tail in [
            "%r = rsqrt(%sum) : f32[b, s, 1]\n%n = mul(%x, %r) : f32[b, s, 4]\n%y = mul(%scale, %n) : f32[b, s, 4]\noutput \"y\" = %y",
            "%q = sqrt(%sum) : f32[b, s, 1]\n%r = reciprocal(%q) : f32[b, s, 1]\n%n = mul(%x, %r) : f32[b, s, 4]\n%y = mul(%n, %scale) : f32[b, s, 4]\noutput \"y\" = %y",
            "%q = sqrt(%sum) : f32[b, s, 1]\n%n = div(%x, %q) : f32[b, s, 4]\n%y = mul(%n, %scale) : f32[b, s, 4]\noutput \"y\" = %y",
        ] {
            #expect(try optimize(rms(tail: tail), RMSNormFusion(), RMSNormScaleFusion()).lines == fused)
        }
    }

    /// A layer_norm's core has the same shape, around x - mean.
    @Test func rmsNormLeavesLayerNormAlone() throws {
        let (lines, report) = try optimize(norm(), RMSNormFusion(), LayerNormFusion())
        #expect(lines == ["%y = layer_norm(%x) {epsilon = 1e-12, normalizedRank = 1} : f32[b, s, 4]", "output \"y\" = %y"])
        #expect(report.count(of: "rms_norm") == 0)
    }

    // MARK: grouped heads

    private func grouped(inserted: String, sizes: String) -> String {
        """
        input %q : f32[b, 4, s, 8]
        input %k : f32[b, 2, s, 8]
        input %v : f32[b, 2, s, 8]
        %merged = dims() {elements = [b, 4, s, 8], isScalar = false} : i64[4]
        %sizes = dims() {elements = [b, 2, 2, s, 8], isScalar = false} : i64[5]
        %k1 = expand_dims(%k) {axes = [\(inserted)]} : f32[\(sizes)]
        %k2 = expand(%k1, %sizes) : f32[b, 2, 2, s, 8]
        %k3 = reshape(%k2, %merged) {zeroCopies = false} : f32[b, 4, s, 8]
        %v1 = expand_dims(%v) {axes = [\(inserted)]} : f32[\(sizes)]
        %v2 = expand(%v1, %sizes) : f32[b, 2, 2, s, 8]
        %v3 = reshape(%v2, %merged) {zeroCopies = false} : f32[b, 4, s, 8]
        %y = scaled_dot_product_attention(%q, %k3, %v3) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[b, 4, s, 8]
        output "y" = %y
        """
    }

    @Test func groupedHeads() throws {
        let copies = try optimize(grouped(inserted: "2", sizes: "b, 2, 1, s, 8"), GroupedHeadFusion())
        #expect(copies.lines.contains { $0.hasPrefix("%y = scaled_dot_product_attention(%q, %k, %v)") }, "\(copies.lines)")
        // Heads 0 1 0 1 are another order than 0 0 1 1.
        let tiled = try optimize(grouped(inserted: "1", sizes: "b, 1, 2, s, 8"), GroupedHeadFusion())
        #expect(reasons(tiled.report) == ["the heads of k are not repeated one by one"])
    }
}
