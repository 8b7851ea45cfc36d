/// Which function lowers which operator. Each family lists its own, one line each; what an operator does at which version of its
/// set stands in its function.
enum OperatorTable {
    typealias Rule = @Sendable (inout NodeLowering) throws -> Void

    static func rule(for name: OperatorName) -> Rule? {
        switch name.domain {
        case "": return standard[name.type]
        case "com.microsoft": return microsoft[name.type]
        default: return nil
        }
    }

    private static let standard = merged([
        elementwiseRules, activationRules, shapeRules, indexingRules, creationRules, reductionRules, normalizationRules, productRules,
        quantizationRules, attentionRules,
    ])

    /// onnxruntime's own operators (its ContribOperators documentation).
    private static let microsoft = merged([microsoftRules, microsoftAttentionRules, microsoftQuantizationRules, microsoftDecoderRules])

    /// The names of a domain's operators in alphabetical order.
    static func names(domain: String) -> [String] { (domain.isEmpty ? standard : microsoft).keys.sorted() }

    private static func merged(_ families: [[String: Rule]]) -> [String: Rule] {
        families.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }
}
