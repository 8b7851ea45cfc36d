import Foundation

/// Rotary positions (Su et al., 2021, "RoFormer") as a model uses them: the scaling for a longer context is in the frequencies already.
struct RotaryConfiguration: Sendable, Hashable {
    /// Radians per position for each pair of components; half as many as components that turn.
    var frequencies: [Float]
    /// What sine and cosine are multiplied by.
    var factor: Float = 1
    /// Pairs stand side by side. Checkpoints never have that, but GGUF files of Llama do, whose rows are in another order.
    var isInterleaved = false
    /// Positions up to which the frequencies are those of the reference implementation; nil: as many as the model has.
    var limit: Int?
}

/// What an architecture means where config.json says nothing of rotary positions.
struct RotaryDefaults {
    var theta = 10_000.0
    var thetaKey = "rope_theta"
    /// The share of a head's components that turn; nil: all, and the architecture has no other.
    var partialFactor: Double?
    var partialFactorKey = "partial_rotary_factor"
    /// Other names for the type "longrope".
    var longRopeAliases: [String] = []
    /// The length of the training texts, where scaling asks for it.
    var originalPositions: Int?
    /// The architecture has a rotation of its own for each kind of layer: the name of this kind.
    var layerType: String?
    /// `rope_scaling`, the older form, is meant for these layers too.
    var isScaled = true
}

/// What the scaling of a rotation has to know of the model.
struct RotaryContext {
    let headSize: Int
    let positionCount: Int
    let theta: Double
    let partialFactor: Double?
    let originalPositions: Int?
    let isInterleaved: Bool
    let defaults: RotaryDefaults
}

extension ConfigurationReader {
    /// The rotation of a configuration: from `rope_parameters` in its present form, from `rope_theta` and `rope_scaling` in its older one.
    mutating func rotary(headSize: Int, positionCount: Int, _ defaults: RotaryDefaults = RotaryDefaults()) -> RotaryConfiguration {
        let context = RotaryContext(
            headSize: headSize, positionCount: positionCount, theta: positive(defaults.thetaKey, default: defaults.theta),
            partialFactor: positiveOrNone(defaults.partialFactorKey) ?? defaults.partialFactor,
            originalPositions: sizeOrNone("original_max_position_embeddings", in: 1...1 << 28, default: defaults.originalPositions),
            isInterleaved: flag("rope_interleaved", default: false), defaults: defaults)
        // The older key goes first, as in the reference implementation.
        let scaling = defaults.isScaled ? nested("rope_scaling") { $0.keys.isEmpty ? nil : $0.scaledRotary(context) } : nil
        if let result = scaling ?? nil { return result }
        let present = nested("rope_parameters") { reader in
            guard let layerType = defaults.layerType else { return reader.scaledRotary(context) as RotaryConfiguration? }
            return reader.nested(layerType) { $0.scaledRotary(context) }
        }
        return (present ?? nil) ?? unscaledRotary(context)
    }
}
