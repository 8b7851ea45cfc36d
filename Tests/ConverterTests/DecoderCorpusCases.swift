import Foundation
import JSON
import Tensors
import TestSupport

/// The cases that belong to one export of a decoder or an encoder-decoder of the corpus, by the rules of its README.
struct DecoderCorpusCases {
    struct Case {
        let number: Int
        let inputs: [String: Tensor]
        let expected: [String: Tensor]
        /// 1 for a token, 0 for padding, past and new; nil where every row counts.
        let tokens: Tensor?
    }

    let cases: [Case]
    let tolerance: Double

    /// - Parameter inputNames: Names and types of the export's inputs.
    init(_ variant: ONNXCorpusTests.Variant, inputs types: [(name: String, dtype: DType, dims: [Int?])]) throws {
        let file = try CaseFile(Corpus.folder.appendingPathComponent(variant.folder).appendingPathComponent("cases.safetensors"))
        // Lower precision is compared with onnxruntime's own outputs.
        let own = variant.entry["ort_outputs"]?.stringValue
        let outputs = try own.map { try CaseFile(variant.url.deletingLastPathComponent().appendingPathComponent($0)) } ?? file
        // Every step of an f16 graph that nothing widened is rounded, in another order than there.
        tolerance = variant.file.contains("int8") || variant.file.contains("4bits") ? 0.1 : variant.file.contains("fp16") ? 2e-2 : 1e-4
        let names = Set(types.map(\.name))
        var found: [Case] = []
        for number in 0..<16 {
            let all = try file.tensors("case\(number).")
            let given = all.filter { !$0.key.hasPrefix("out.") && !$0.key.hasPrefix("ref64.") }
            guard let ids = names.contains("input_ids") ? given["input_ids"] : given["decoder_input_ids"] else { continue }
            var inputs = given.filter { names.contains($0.key) }
            // Position ids may be left out where they only count from 0 on, as they do without padding on the left.
            let mask = given["attention_mask"]
            let isLeftPadded = mask.map { mask in
                let width = mask.shape[1]
                let values = mask.integers()
                return width > 0 && (0..<mask.shape[0]).contains { values[$0 * width] == 0 }
            } ?? false
            if given["position_ids"] != nil, !names.contains("position_ids"), isLeftPadded { continue }
            // An encoder leaves the decoder's ids alone.
            guard Set(given.keys).subtracting(names).subtracting(["position_ids", "decoder_input_ids"]).isEmpty else { continue }
            // No past is a past of length 0, with whatever of the cross-attention the case has.
            for type in types where type.name.hasPrefix("past_key_values.") && inputs[type.name] == nil && !type.name.contains("encoder") {
                guard !given.keys.contains(where: { $0.hasPrefix("past_key_values.") }), type.dims.count == 4, let heads = type.dims[1], let width = type.dims[3]
                else { continue }
                inputs[type.name] = try Tensor(floats: [], dtype: type.dtype, shape: [ids.shape[0], heads, 0, width])
            }
            guard inputs.count == types.count else { continue }
            for type in types {
                if let tensor = inputs[type.name], tensor.dtype != type.dtype { inputs[type.name] = try tensor.converted(to: type.dtype) }
            }
            found.append(Case(
                number: number, inputs: inputs, expected: try outputs.tensors("case\(number).out."),
                tokens: given["decoder_input_ids"] == nil ? mask : nil))
        }
        cases = found
    }

    /// The largest difference of an output where it is defined.
    static func difference(_ output: Tensor, _ expected: Tensor, name: String, _ tokens: Tensor?) throws -> Double {
        guard output.shape == expected.shape else { return .infinity }
        guard let tokens, output.rank >= 3 else { return ONNXReference.difference(output, expected) }
        let mask = tokens.integers()
        let total = tokens.shape[1]
        if output.rank == 3 {
            // [batch, new, width] under a mask [batch, past + new]
            let (batch, new) = (output.shape[0], output.shape[1])
            let rows = (0..<batch * new).map { mask[$0 / new * total + total - new + $0 % new] == 1 }
            return ONNXReference.difference(output, expected, rows: rows)
        }
        // [batch, heads, past + new, width]
        let (heads, keys) = (output.shape[1], output.shape[2])
        let rows = (0..<output.shape[0] * heads * keys).map { mask[$0 / (heads * keys) * total + $0 % keys] == 1 }
        return ONNXReference.difference(output, expected, rows: rows)
    }
}
