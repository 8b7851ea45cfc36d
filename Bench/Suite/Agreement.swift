/// How well the answers of two contestants agree, and how well they must.
public enum Agreement {
    /// Of vectors the least cosine over the rows; of the log-probabilities of a prompt's tokens their correlation; of tokens the share of equal
    /// ones before the first difference.
    public static func measure(_ kind: BenchmarkCase.Kind, _ a: [[Double]], _ b: [[Double]]) -> Double {
        guard a.count == b.count, !a.isEmpty else { return 0 }
        switch kind {
        case .tokenize, .decode:
            let total = zip(a, b).reduce(0) { $0 + max($1.0.count, $1.1.count) }
            let equal = zip(a, b).reduce(0) { $0 + zip($1.0, $1.1).prefix { $0 == $1 }.count }
            return total == 0 ? 1 : Double(equal) / Double(total)
        case .prompt: return zip(a, b).map { cosine(centred($0), centred($1)) }.min() ?? 0
        case .encode, .embed, .start: return zip(a, b).map(cosine).min() ?? 0
        }
    }

    /// The least agreement with which times compare; nil where it is only reported: one near tie in the logits changes every later token.
    public static func required(_ kind: BenchmarkCase.Kind, _ precision: BenchmarkCase.Precision?) -> Double? {
        switch kind {
        case .decode: return nil
        case .tokenize: return 1
        case .encode, .embed, .prompt, .start:
            switch precision {
            case .f32, nil: return 0.9999
            case .int8: return 0.98
            case .int4: return 0.8
            }
        }
    }

    private static func centred(_ values: [Double]) -> [Double] {
        let mean = values.reduce(0, +) / Double(max(values.count, 1))
        return values.map { $0 - mean }
    }

    private static func cosine(_ a: [Double], _ b: [Double]) -> Double {
        guard a.count == b.count else { return 0 }
        let product = zip(a, b).reduce(0) { $0 + $1.0 * $1.1 }
        let lengths = a.reduce(0) { $0 + $1 * $1 } * b.reduce(0) { $0 + $1 * $1 }
        return lengths > 0 ? product / lengths.squareRoot() : 0
    }
}
