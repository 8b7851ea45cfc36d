import Testing

/// One small graph for each rule of the optimizer, in text, and what the rule makes of it.
struct RuleExample: Sendable, CustomTestStringConvertible {
    /// As the report shows it.
    let rule: String
    let body: String
    /// The nodes afterwards.
    let fused: [String]
    /// Values of the pattern that others may use: the rule reads past them, and they stay where somebody does.
    var shared: Set<String> = []
    /// Near misses: a text of the body, what stands there instead, and the reason that is reported; nil where it is no near miss but another thing.
    var misses: [(text: String, instead: String, reason: String?)] = []
    var testDescription: String { rule }

    static let all: [RuleExample] = [
        RuleExample(
            rule: "gelu",
            body: """
                input %x : f32[n]
                constant %one : f32[] = 1
                constant %half : f32[] = 0.5
                constant %root : f32[] = 1.4142135
                %q = div(%x, %root) : f32[n]
                %e = erf(%q) : f32[n]
                %t = add(%e, %one) : f32[n]
                %p = mul(%x, %t) : f32[n]
                %y = mul(%p, %half) : f32[n]
                output "y" = %y
                """,
            fused: ["%y = gelu(%x) : f32[n]"],
            misses: [
                ("%half : f32[] = 0.5", "%half : f32[] = 0.6", "the constant is 0.6000000238418579, expected 0.5"),
                ("%one : f32[] = 1", "%one : f32[] = 2", "the constant is 2.0, expected 1.0"),
                ("%e = erf(%q)", "%e = tanh(%q)", nil),
                ("%p = mul(%x, %t)", "%p = mul(%q, %t)", nil),
            ]),
        RuleExample(
            rule: "gelu_tanh",
            body: """
                input %x : f32[n]
                constant %one : f32[] = 1
                constant %half : f32[] = 0.5
                constant %three : f32[] = 3
                constant %slope : f32[] = 0.7978845834732056
                constant %cubic : f32[] = 0.044714998453855515
                %q = pow(%x, %three) : f32[n]
                %r = mul(%q, %cubic) : f32[n]
                %s = add(%x, %r) : f32[n]
                %a = mul(%s, %slope) : f32[n]
                %h = tanh(%a) : f32[n]
                %t = add(%h, %one) : f32[n]
                %p = mul(%x, %half) : f32[n]
                %y = mul(%p, %t) : f32[n]
                output "y" = %y
                """,
            fused: ["%y = gelu_tanh(%x) : f32[n]"],
            misses: [
                ("0.044714998453855515", "0.05", "the constant is 0.05000000074505806, expected 0.044715"),
                ("0.7978845834732056", "0.8", "the constant is 0.800000011920929, expected 0.7978845608028654"),
                ("%three : f32[] = 3", "%three : f32[] = 5", "the constant is 5.0, expected 3.0"),
            ]),
        RuleExample(
            rule: "silu",
            body: """
                input %x : f32[n]
                input %z : f32[n]
                %g = sigmoid(%x) : f32[n]
                %y = mul(%x, %g) : f32[n]
                output "y" = %y
                """,
            fused: ["%y = silu(%x) : f32[n]"],
            misses: [("%y = mul(%x, %g)", "%y = mul(%z, %g)", nil), ("%g = sigmoid(%x)", "%g = tanh(%x)", nil)]),
        RuleExample(
            rule: "layer_norm",
            body: """
                input %x : f32[b, s, 4]
                constant %two : f32[] = 2
                constant %epsilon : f32[] = 1e-05
                %mean = reduce_mean(%x) {axes = [-1], keepDims = true} : f32[b, s, 1]
                %d = sub(%x, %mean) : f32[b, s, 4]
                %square = pow(%d, %two) : f32[b, s, 4]
                %variance = reduce_mean(%square) {axes = [-1], keepDims = true} : f32[b, s, 1]
                %sum = add(%variance, %epsilon) : f32[b, s, 1]
                %root = sqrt(%sum) : f32[b, s, 1]
                %y = div(%d, %root) : f32[b, s, 4]
                output "y" = %y
                """,
            fused: ["%y = layer_norm(%x) {epsilon = 1e-05, normalizedRank = 1} : f32[b, s, 4]"],
            misses: [
                ("%two : f32[] = 2", "%two : f32[] = 4", "the constant is 4.0, expected 2.0"),
                ("%epsilon : f32[] = 1e-05", "%epsilon : f32[] = -1", "epsilon is no positive number"),
                ("reduce_mean(%square)", "reduce_max(%square)", nil),
            ]),
        RuleExample(
            rule: "layer_norm_scale",
            body: """
                input %x : f32[b, 4]
                constant %scale : f32[1, 4] = [1, 2, 3, 4]
                %n = layer_norm(%x) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]
                %y = mul(%n, %scale) : f32[b, 4]
                output "y" = %y
                """,
            fused: [
                "%reshape = reshape(%scale, %shape) {zeroCopies = false} : f32[4]",
                "%y = layer_norm(%x, %reshape) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]",
            ],
            misses: [
                ("constant %scale : f32[1, 4] = [1, 2, 3, 4]", "input %scale : f32[1, 4]", nil),
                ("%y = mul(%n, %scale)", "%y = sub(%n, %scale)", nil),
            ]),
        RuleExample(
            rule: "layer_norm_bias",
            body: """
                input %x : f32[b, 4]
                constant %scale : f32[4] = [1, 2, 3, 4]
                constant %bias : f32[4] = [4, 3, 2, 1]
                %n = layer_norm(%x, %scale) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]
                %y = add(%bias, %n) : f32[b, 4]
                output "y" = %y
                """,
            fused: ["%y = layer_norm(%x, %scale, %bias) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]"],
            misses: [
                ("constant %bias : f32[4] = [4, 3, 2, 1]", "input %bias : f32[4]", nil),
                ("layer_norm(%x, %scale)", "layer_norm(%x, %scale, %bias)", nil),
            ]),
        RuleExample(
            rule: "layer_norm_residual",
            body: """
                input %a : f32[b, 4]
                input %r : f32[b, 4]
                constant %scale : f32[4] = [1, 2, 3, 4]
                %x = add(%a, %r) : f32[b, 4]
                %y = layer_norm(%x, %scale) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]
                output "y" = %y
                """,
            fused: ["%y = layer_norm(%a, %scale, _, %r) {epsilon = 1e-05, normalizedRank = 1} : f32[b, 4]"],
            misses: [("input %r : f32[b, 4]", "input %r : f32[4]", nil), ("%x = add(%a, %r)", "%x = sub(%a, %r)", nil)]),
        RuleExample(
            rule: "rms_norm",
            body: """
                input %x : f32[b, s, 4]
                constant %two : f32[] = 2
                constant %epsilon : f32[] = 1e-06
                %square = pow(%x, %two) : f32[b, s, 4]
                %mean = reduce_mean(%square) {axes = [-1], keepDims = true} : f32[b, s, 1]
                %sum = add(%mean, %epsilon) : f32[b, s, 1]
                %r = rsqrt(%sum) : f32[b, s, 1]
                %y = mul(%x, %r) : f32[b, s, 4]
                output "y" = %y
                """,
            fused: ["%y = rms_norm(%x) {epsilon = 1e-06} : f32[b, s, 4]"],
            misses: [
                ("%two : f32[] = 2", "%two : f32[] = 3", "the constant is 3.0, expected 2.0"),
                ("%epsilon : f32[] = 1e-06", "%epsilon : f32[] = -1e-06", "epsilon is no positive number"),
                ("%y = mul(%x, %r)", "%y = mul(%square, %r)", nil),
                ("reduce_mean(%square)", "reduce_sum(%square)", nil),
            ]),
        RuleExample(
            rule: "rms_norm_scale",
            body: """
                input %x : f32[b, 4]
                constant %scale : f32[4] = [1, 2, 3, 4]
                %n = rms_norm(%x) {epsilon = 1e-06} : f32[b, 4]
                %y = mul(%scale, %n) : f32[b, 4]
                output "y" = %y
                """,
            fused: ["%y = rms_norm(%x, %scale) {epsilon = 1e-06} : f32[b, 4]"],
            misses: [
                ("constant %scale : f32[4] = [1, 2, 3, 4]", "input %scale : f32[4]", nil),
                ("constant %scale : f32[4] = [1, 2, 3, 4]", "constant %scale : f32[1] = [3]", "the factor is f32[1], not a scale of f32[b, 4]"),
            ]),
        RuleExample(
            rule: "attention",
            body: """
                input %q : f32[b, 2, s, 4]
                input %k : f32[b, 2, s, 4]
                input %v : f32[b, 2, s, 4]
                input %mask : f32[b, 1, 1, s]
                constant %factor : f32[] = 0.5
                %t = transpose(%k) {permutation = [0, 1, 3, 2]} : f32[b, 2, 4, s]
                %p = matmul(%q, %t) {transposeA = false, transposeB = false} : f32[b, 2, s, s]
                %f = mul(%p, %factor) : f32[b, 2, s, s]
                %z = add(%f, %mask) : f32[b, 2, s, s]
                %w = softmax(%z) {axis = -1} : f32[b, 2, s, s]
                %y = matmul(%w, %v) {transposeA = false, transposeB = false} : f32[b, 2, s, 4]
                output "y" = %y
                """,
            fused: [
                "%t = transpose(%k) {permutation = [0, 1, 3, 2]} : f32[b, 2, 4, s]",
                "%transpose = transpose(%t) {permutation = [0, 1, 3, 2]} : f32[b, 2, s, 4]",
                "%y = scaled_dot_product_attention(%q, %transpose, %v, %mask) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[b, 2, s, 4]",
            ],
            misses: [
                ("%factor : f32[] = 0.5", "%factor : f32[] = 0", "the factor of the scores is no single number"),
                ("%w = softmax(%z) {axis = -1}", "%w = softmax(%z) {axis = 2}", "the softmax does not run over the keys"),
                ("%z = add(%f, %mask)", "%z = mul(%f, %mask)", nil),
            ]),
        RuleExample(
            rule: "grouped_heads",
            body: """
                input %q : f32[b, 4, s, 8]
                input %k : f32[b, 2, s, 8]
                input %v : f32[b, 2, s, 8]
                %merged = dims() {elements = [b, 4, s, 8], isScalar = false} : i64[4]
                %sizes = dims() {elements = [b, 2, 2, s, 8], isScalar = false} : i64[5]
                %k1 = expand_dims(%k) {axes = [2]} : f32[b, 2, 1, s, 8]
                %k2 = expand(%k1, %sizes) : f32[b, 2, 2, s, 8]
                %k3 = reshape(%k2, %merged) {zeroCopies = false} : f32[b, 4, s, 8]
                %v1 = expand_dims(%v) {axes = [2]} : f32[b, 2, 1, s, 8]
                %v2 = expand(%v1, %sizes) : f32[b, 2, 2, s, 8]
                %v3 = reshape(%v2, %merged) {zeroCopies = false} : f32[b, 4, s, 8]
                %y = scaled_dot_product_attention(%q, %k3, %v3) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[b, 4, s, 8]
                output "y" = %y
                """,
            fused: ["%y = scaled_dot_product_attention(%q, %k, %v) {scale = 0.5, isCausal = false, emptyRowsAreZero = false} : f32[b, 4, s, 8]"],
            shared: ["k1", "k2", "k3", "v1", "v2", "v3", "merged", "sizes"],
            misses: [
                (
                    "%v1 = expand_dims(%v) {axes = [2]} : f32[b, 2, 1, s, 8]", "%v1 = expand_dims(%v) {axes = [1]} : f32[b, 1, 2, s, 8]",
                    "the heads of v are not repeated one by one"
                )
            ]),
        RuleExample(
            rule: "rotary_embedding",
            body: rotary + """
                %h1 = slice(%x, %zero, %two) {axes = [3]} : f32[1, 2, s, 2]
                %h2 = slice(%x, %two, %end) {axes = [3]} : f32[1, 2, s, 2]
                %minus = neg(%h2) : f32[1, 2, s, 2]
                %turned = concat(%minus, %h1) {axis = 3} : f32[1, 2, s, 4]
                %a = mul(%x, %cosines) : f32[1, 2, s, 4]
                %c = mul(%turned, %sines) : f32[1, 2, s, 4]
                %y = add(%a, %c) : f32[1, 2, s, 4]
                output "y" = %y
                """,
            fused: [
                "%transpose = transpose(%x) {permutation = [0, 2, 1, 3]} : f32[1, s, 2, 4]",
                "%rotary_embedding = rotary_embedding(%transpose, %positions, %frequencies_1) {isInterleaved = false, factor = 1.0} : f32[1, s, 2, 4]",
                "%y = transpose(%rotary_embedding) {permutation = [0, 2, 1, 3]} : f32[1, 2, s, 4]",
            ],
            shared: rotaryAngles,
            misses: [
                ("%h1 = slice(%x, %zero, %two)", "%h1 = slice(%x, %one, %three)", "half 1 is not cut out of the width"),
                ("%turned = concat(%minus, %h1)", "%turned = concat(%h1, %minus)", nil),
                ("%a = mul(%x, %cosines)", "%a = mul(%x, %sines)", "the cosine at position 0 is no positive number"),
                (
                    "%both = concat(%angle, %angle)", "%more = mul(%angle, %angle) : f32[1, s, 2]\n%both = concat(%more, %more)",
                    "no constant has the frequencies of the angles"
                ),
            ]),
        RuleExample(
            rule: "rotary_embedding_halves",
            body: """
                input %x : f32[1, s, 2, 4]
                input %positions : i64[1, s]
                constant %frequencies : f32[2] = [1, 0.01]
                constant %zero : i64[1] = [0]
                constant %one : i64[1] = [1]
                constant %two : i64[1] = [2]
                constant %three : i64[1] = [3]
                constant %end : i64[1] = [9223372036854775807]
                %number = cast(%positions) {to = f32} : f32[1, s]
                %column = expand_dims(%number) {axes = [-1]} : f32[1, s, 1]
                %angle = mul(%column, %frequencies) : f32[1, s, 2]
                %cosine = cos(%angle) : f32[1, s, 2]
                %sine = sin(%angle) : f32[1, s, 2]
                %cosines = expand_dims(%cosine) {axes = [2]} : f32[1, s, 1, 2]
                %sines = expand_dims(%sine) {axes = [2]} : f32[1, s, 1, 2]
                %h1 = slice(%x, %zero, %two) {axes = [3]} : f32[1, s, 2, 2]
                %h2 = slice(%x, %two, %end) {axes = [3]} : f32[1, s, 2, 2]
                %a = mul(%cosines, %h1) : f32[1, s, 2, 2]
                %b = mul(%sines, %h2) : f32[1, s, 2, 2]
                %c = mul(%sines, %h1) : f32[1, s, 2, 2]
                %d = mul(%cosines, %h2) : f32[1, s, 2, 2]
                %real = sub(%a, %b) : f32[1, s, 2, 2]
                %imaginary = add(%c, %d) : f32[1, s, 2, 2]
                %y = concat(%real, %imaginary) {axis = 3} : f32[1, s, 2, 4]
                output "y" = %y
                """,
            fused: ["%y = rotary_embedding(%x, %positions, %frequencies_1) {isInterleaved = false, factor = 1.0} : f32[1, s, 2, 4]"],
            shared: rotaryAngles.union(["h1", "h2"]),
            misses: [
                ("%h2 = slice(%x, %two, %end)", "%h2 = slice(%x, %one, %three)", "half 2 is not cut out of the width"),
                ("%real = sub(%a, %b)", "%real = add(%a, %b)", nil),
                ("%cosine = cos(%angle)", "%cosine = sin(%angle)", "the cosine at position 0 is no positive number"),
            ]),
        RuleExample(
            rule: "matmul_transpose",
            body: """
                input %a : f32[b, s, 4]
                input %c : f32[b, t, 4]
                %d = transpose(%c) {permutation = [0, 2, 1]} : f32[b, 4, t]
                %y = matmul(%a, %d) {transposeA = false, transposeB = false} : f32[b, s, t]
                output "y" = %y
                """,
            fused: ["%y = matmul(%a, %c) {transposeA = false, transposeB = true} : f32[b, s, t]"],
            shared: ["d"],
            misses: [
                (
                    "input %c : f32[b, t, 4]\n%d = transpose(%c) {permutation = [0, 2, 1]}",
                    "input %c : f32[4, t, b]\n%d = transpose(%c) {permutation = [2, 0, 1]}", nil
                )
            ]),
        RuleExample(
            rule: "linear",
            body: """
                input %x : f32[b, 2]
                constant %w : f32[2, 3] = [1, 2, 3, 4, 5, 6]
                %y = matmul(%x, %w) {transposeA = false, transposeB = false} : f32[b, 3]
                output "y" = %y
                """,
            fused: ["%y = linear(%x, %w) {layout = input_output, activation = none} : f32[b, 3]"],
            misses: [("constant %w : f32[2, 3] = [1, 2, 3, 4, 5, 6]", "input %w : f32[2, 3]", nil)]),
        RuleExample(
            rule: "linear_bias",
            body: linear("%y = add(%l, %bias) : f32[b, 2]"),
            fused: ["%y = linear(%x, %w, %bias) {layout = input_output, activation = none} : f32[b, 2]"],
            misses: [
                ("constant %bias : f32[2] = [5, 6]", "input %bias : f32[2]", nil), ("activation = none", "activation = relu", nil),
                ("%y = add(%l, %bias)", "%y = sub(%l, %bias)", nil),
            ]),
        RuleExample(
            rule: "linear_activation",
            body: linear("%y = tanh(%l) : f32[b, 2]"),
            fused: ["%y = linear(%x, %w) {layout = input_output, activation = tanh} : f32[b, 2]"],
            misses: [("%y = tanh(%l)", "%y = exp(%l)", nil), ("activation = none", "activation = relu", nil)]),
        RuleExample(
            rule: "linear_residual",
            body: linear("%y = add(%r, %l) : f32[b, 2]"),
            fused: ["%y = linear(%x, %w, _, %r) {layout = input_output, activation = none} : f32[b, 2]"],
            misses: [("%y = add(%r, %l)", "%y = mul(%r, %l)", nil), ("input %r : f32[b, 2]", "input %r : f32[2]", nil)]),
        RuleExample(
            rule: "linear_cast",
            body: """
                input %x : f32[b, 2]
                constant %h : f16[3, 2] = [1, 2, 3, 4, 5, 6]
                %w = cast(%h) {to = f32} : f32[3, 2]
                %y = linear(%x, %w) {layout = output_input, activation = gelu} : f32[b, 3]
                output "y" = %y
                """,
            fused: ["%y = linear(%x, %h) {layout = output_input, activation = gelu} : f32[b, 3]"],
            shared: ["w"],
            misses: [("constant %h : f16[3, 2] = [1, 2, 3, 4, 5, 6]", "input %h : f16[3, 2]", nil), ("%h : f16", "%h : i8", nil)]),
        RuleExample(
            rule: "dequantize",
            body: """
                input %x : f32[b, 2]
                constant %q : i8[3, 2] = [1, -2, 3, -4, 5, -6]
                constant %scale : f32[3, 1] = [0.5, 0.25, 0.125]
                %c = cast(%q) {to = f32} : f32[3, 2]
                %w = mul(%c, %scale) : f32[3, 2]
                %y = linear(%x, %w) {layout = output_input, activation = none} : f32[b, 3]
                output "y" = %y
                """,
            fused: [
                "%w = dequantize(%q, %scale_1) {axis = 0} : f32[3, 2]", "%y = linear(%x, %w) {layout = output_input, activation = none} : f32[b, 3]",
            ],
            shared: ["c"],
            misses: [
                (
                    "%scale : f32[3, 1] = [0.5, 0.25, 0.125]", "%scale : f32[3, 2] = [1, 2, 3, 4, 5, 6]",
                    "the scale is f32[3, 2]: neither one number nor along one axis of i8[3, 2]"
                ),
                ("%q : i8", "%q : i32", nil),
            ]),
        RuleExample(
            rule: "gather_dequantize",
            body: """
                input %ids : i64[b]
                constant %q : u8[2, 3] = [1, 2, 3, 4, 5, 6]
                constant %scale : f32[3] = [0.5, 0.25, 2]
                constant %zero : u8[3] = [1, 2, 3]
                %w = dequantize(%q, %scale, %zero) {axis = 1} : f32[2, 3]
                %y = gather(%w, %ids) {axis = 0} : f32[b, 3]
                output "y" = %y
                """,
            fused: ["%gather = gather(%q, %ids) {axis = 0} : u8[b, 3]", "%y = dequantize(%gather, %scale, %zero) {axis = 1} : f32[b, 3]"],
            shared: ["w"],
            misses: [
                (
                    "constant %zero : u8[3] = [1, 2, 3]\n%w = dequantize(%q, %scale, %zero) {axis = 1}",
                    "constant %two : f32[2] = [1, 2]\nconstant %zero : u8[2] = [1, 2]\n%w = dequantize(%q, %two, %zero) {axis = 0}",
                    "the table has a zero point per row"
                ),
                ("%y = gather(%w, %ids) {axis = 0} : f32[b, 3]", "%y = gather(%w, %ids) {axis = 1} : f32[2, b]", nil),
            ]),
        RuleExample(
            rule: "gather_cast",
            body: """
                input %ids : i64[b]
                constant %h : f16[2, 3] = [1, 2, 3, 4, 5, 6]
                %w = cast(%h) {to = f32} : f32[2, 3]
                %y = gather(%w, %ids) {axis = 0} : f32[b, 3]
                output "y" = %y
                """,
            fused: ["%gather = gather(%h, %ids) {axis = 0} : f16[b, 3]", "%y = cast(%gather) {to = f32} : f32[b, 3]"],
            shared: ["w"],
            misses: [("constant %h : f16[2, 3] = [1, 2, 3, 4, 5, 6]", "input %h : f16[2, 3]", nil), ("%h : f16", "%h : f64", nil)]),
        RuleExample(
            rule: "matmul_integer",
            body: """
                input %x : f32[b, 4]
                constant %w : u8[4, 2] = [0, 128, 130, 255, 1, 2, 3, 4]
                constant %scale : f32[1] = [0.5]
                constant %zero : u8[] = 100
                %q, %xScale, %xZero = dynamic_quantize(%x) : u8[b, 4], f32[], u8[]
                %product = matmul_integer(%q, %w, %xZero, %zero) : i32[b, 2]
                %number = cast(%product) {to = f32} : f32[b, 2]
                %factor = mul(%xScale, %scale) : f32[1]
                %y = mul(%number, %factor) : f32[b, 2]
                output "y" = %y
                """,
            fused: [
                "%q, %xScale, %xZero = dynamic_quantize(%x) : u8[b, 4], f32[], u8[]", "%dequantize = dequantize(%q, %xScale, %xZero) {axis = 0} : f32[b, 4]",
                "%dequantize_1 = dequantize(%w, %scale, %zero) {axis = 1} : f32[4, 2]",
                "%y = linear(%dequantize, %dequantize_1) {layout = input_output, activation = none} : f32[b, 2]",
            ],
            shared: ["factor"],
            misses: [
                ("constant %w : u8[4, 2] = [0, 128, 130, 255, 1, 2, 3, 4]", "input %w : u8[4, 2]", "%w is not the constant weight"),
                ("%number = cast(%product) {to = f32} : f32[b, 2]", "%wide = cast(%product) {to = f64} : f64[b, 2]\n%number = cast(%wide) {to = f32} : f32[b, 2]", nil),
            ]),
        RuleExample(
            rule: "quantized_linear",
            body: """
                input %x : f32[b, 3]
                constant %xs : f32[] = 0.1
                constant %w : i8[3, 2] = [1, 2, 3, 4, 5, 6]
                constant %ws : f32[2] = [0.5, 0.25]
                %q = quantize(%x, %xs) {to = i8, axis = 1} : i8[b, 3]
                %d = dequantize(%q, %xs) {axis = 1} : f32[b, 3]
                %dw = dequantize(%w, %ws) {axis = 1} : f32[3, 2]
                %y = linear(%d, %dw) {layout = input_output, activation = none} : f32[b, 2]
                output "y" = %y
                """,
            fused: [
                "%q = quantize(%x, %xs) {to = i8, axis = 1} : i8[b, 3]",
                "%y = quantized_linear(%q, %xs, _, %w_1, %ws_1) {activation = none} : f32[b, 2]",
            ],
            shared: ["d", "dw"],
            misses: [
                ("constant %ws : f32[2] = [0.5, 0.25]", "input %ws : f32[2]", "%ws is not the constant scale"),
                ("constant %xs : f32[] = 0.1", "input %xs : f32[3]", "%xs is not one number for all of x"),
                ("%y = linear(%d, %dw)", "%y = linear(%x, %dw)", nil),
            ]),
    ]

    /// Cosines and sines of 2 frequencies, each twice, behind an axis for the heads.
    private static let rotary = """
        input %x : f32[1, 2, s, 4]
        input %positions : i64[1, s]
        constant %frequencies : f32[2] = [1, 0.01]
        constant %zero : i64[1] = [0]
        constant %one : i64[1] = [1]
        constant %two : i64[1] = [2]
        constant %three : i64[1] = [3]
        constant %end : i64[1] = [9223372036854775807]
        %number = cast(%positions) {to = f32} : f32[1, s]
        %column = expand_dims(%number) {axes = [-1]} : f32[1, s, 1]
        %angle = mul(%column, %frequencies) : f32[1, s, 2]
        %both = concat(%angle, %angle) {axis = -1} : f32[1, s, 4]
        %cosine = cos(%both) : f32[1, s, 4]
        %sine = sin(%both) : f32[1, s, 4]
        %cosines = expand_dims(%cosine) {axes = [1]} : f32[1, 1, s, 4]
        %sines = expand_dims(%sine) {axes = [1]} : f32[1, 1, s, 4]

        """

    private static let rotaryAngles: Set<String> = ["number", "column", "angle", "both", "cosine", "sine", "cosines", "sines"]

    private static func linear(_ tail: String) -> String {
        """
        input %x : f32[b, 2]
        input %r : f32[b, 2]
        constant %w : f32[2, 2] = [1, 2, 3, 4]
        constant %bias : f32[2] = [5, 6]
        %l = linear(%x, %w) {layout = input_output, activation = none} : f32[b, 2]
        \(tail)
        output "y" = %y
        """
    }
}
