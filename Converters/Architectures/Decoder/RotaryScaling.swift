import Foundation

/// The keys that a scaling may have. `finetuned` says how a model came about and changes nothing.
private let rotaryKeys = [
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings", "attention_factor", "beta_fast",
    "beta_slow", "mscale", "mscale_all_dim", "truncate", "low_freq_factor", "high_freq_factor", "short_factor", "long_factor", "finetuned",
]

/// The frequencies before any scaling: `theta^(-2i / width)` for the pairs of the `width` components that turn.
struct RotarySpectrum {
    let theta: Double
    let width: Int

    var frequencies: [Double] { stride(from: 0, to: width, by: 2).map { pow(theta, -Double($0) / Double(width)) } }
}

extension ConfigurationReader {
    /// Frequencies without any scaling, from what stands beside `rope_scaling`.
    mutating func unscaledRotary(_ context: RotaryContext) -> RotaryConfiguration {
        let spectrum = spectrum(context, theta: context.theta, partialFactor: context.partialFactor)
        return RotaryConfiguration(frequencies: spectrum.frequencies.map { Float($0) }, isInterleaved: context.isInterleaved)
    }

    /// Frequencies as the object says that is being read: `rope_scaling`, `rope_parameters` or a part of it.
    mutating func scaledRotary(_ context: RotaryContext) -> RotaryConfiguration {
        for key in keys where !rotaryKeys.contains(where: { $0.utf8.elementsEqual(key.utf8) }) {
            report(.unsupported, "\(quoted(key)) is none of the known settings of rotary positions")
        }
        let spectrum = spectrum(
            context, theta: positive("rope_theta", default: context.theta),
            partialFactor: positiveOrNone("partial_rotary_factor") ?? context.partialFactor)
        var result = RotaryConfiguration(frequencies: [], isInterleaved: context.isInterleaved)
        var type = (has("rope_type") ? string("rope_type") : string("type")) ?? "default"
        if context.defaults.longRopeAliases.contains(type) { type = "longrope" }
        var frequencies = spectrum.frequencies
        switch type {
        case "default": break
        case "linear":
            let factor = requiredPositive("factor")
            frequencies = frequencies.map { $0 / factor }
        case "dynamic":
            // Beyond the training length the reference implementation computes other frequencies for every length.
            _ = requiredPositive("factor")
            result.limit = context.positionCount
        case "llama3": frequencies = llama3Frequencies(frequencies, context)
        case "yarn": (frequencies, result.factor) = yarnFrequencies(spectrum, context)
        case "longrope": (frequencies, result.factor, result.limit) = longRopeFrequencies(frequencies, context)
        default:
            report(.unsupported, "rope_type is \(quoted(type)), known are default, linear, dynamic, llama3, yarn, longrope")
        }
        result.frequencies = frequencies.map { Float($0) }
        return result
    }

    private mutating func spectrum(_ context: RotaryContext, theta: Double, partialFactor: Double?) -> RotarySpectrum {
        if context.defaults.partialFactor == nil, let partialFactor, partialFactor != 1 {
            report(.unsupported, "partial_rotary_factor is \(partialFactor), which this architecture does not have")
        }
        let width = Int(Double(context.headSize) * min(partialFactor ?? 1, 2))
        guard width >= 1, (width + 1) / 2 * 2 <= context.headSize else {
            report(.configuration, "partial_rotary_factor lets \(width) of the \(context.headSize) components of a head turn")
            return RotarySpectrum(theta: theta, width: 2)
        }
        return RotarySpectrum(theta: theta, width: width)
    }

    private mutating func requiredPositive(_ key: String) -> Double {
        if !has(key) { report(.configuration, "\(key) is missing") }
        return positive(key, default: 1)
    }

    /// The length of the training texts. What stands beside the scaling goes first, as in the reference implementation.
    private mutating func originalPositions(_ context: RotaryContext) -> Int {
        let own = size("original_max_position_embeddings", in: 1...1 << 28, default: context.positionCount)
        return context.originalPositions ?? own
    }

    /// Llama 3.1's scaling: low frequencies are divided, high ones stay, those between are mixed.
    private mutating func llama3Frequencies(_ frequencies: [Double], _ context: RotaryContext) -> [Double] {
        let factor = requiredPositive("factor")
        let (low, high) = (requiredPositive("low_freq_factor"), requiredPositive("high_freq_factor"))
        let length = Double(originalPositions(context))
        return frequencies.map { frequency in
            let wavelength = 2 * Double.pi / frequency
            if wavelength < length / high { return frequency }
            if wavelength > length / low { return frequency / factor }
            let share = (length / wavelength - low) / (high - low)
            return (1 - share) * frequency / factor + share * frequency
        }
    }

    /// YaRN (Peng et al., 2023), section 3.2: pairs that turn often within the training length stay, those that turn rarely are divided,
    /// with a ramp between; the factor is the root of the temperature of section 3.3.
    private mutating func yarnFrequencies(_ spectrum: RotarySpectrum, _ context: RotaryContext) -> (frequencies: [Double], factor: Float) {
        let length = Double(originalPositions(context))
        let factor = positive("factor", default: Double(context.positionCount) / length)
        let (fast, slow) = (positive("beta_fast", default: 32), positive("beta_slow", default: 1))
        func magnitude(_ weight: Double) -> Double { factor <= 1 ? 1 : 0.1 * weight * log(factor) + 1 }
        let (scale, scaleOfAll) = (positiveOrNone("mscale"), positiveOrNone("mscale_all_dim"))
        var attention = magnitude(1)
        if let scale, let scaleOfAll { attention = magnitude(scale) / magnitude(scaleOfAll) }
        attention = positive("attention_factor", default: attention)

        let width = Double(spectrum.width)
        func place(turns: Double) -> Double { width * log(length / (turns * 2 * .pi)) / (2 * log(spectrum.theta)) }
        var (first, last) = (place(turns: fast), place(turns: slow))
        if flag("truncate", default: true) { (first, last) = (first.rounded(.down), last.rounded(.up)) }
        (first, last) = (max(first, 0), min(last, width - 1))
        if first == last { last += 0.001 }
        let frequencies = spectrum.frequencies.enumerated().map { index, frequency in
            let divided = min(max((Double(index) - first) / (last - first), 0), 1)
            return frequency / factor * divided + frequency * (1 - divided)
        }
        return (frequencies, Float(attention))
    }

    /// LongRoPE (Ding et al., 2024): a divisor for each pair, of which there are two lists. The reference implementation takes the short list
    /// up to the training length and the long list beyond, for all positions alike, so a graph is for one of the two: the short one,
    /// unless a longer context is asked for.
    private mutating func longRopeFrequencies(
        _ frequencies: [Double], _ context: RotaryContext
    ) -> (frequencies: [Double], factor: Float, limit: Int?) {
        let length = originalPositions(context)
        let isLong = (requestedLength ?? 0) > length
        for key in ["short_factor", "long_factor"] where !has(key) { report(.configuration, "\(key) is missing") }
        let (short, long) = (positives("short_factor") ?? [], positives("long_factor") ?? [])
        let factor = positive("factor", default: Double(context.positionCount) / Double(length))
        let attention = factor <= 1 ? 1 : (1 + log(factor) / log(Double(max(length, 2)))).squareRoot()
        for (key, list) in [("short_factor", short), ("long_factor", long)] where list.count != frequencies.count && !list.isEmpty {
            report(.configuration, "\(key) has \(list.count) numbers for \(frequencies.count) pairs of components")
        }
        let scaled = zip(frequencies, isLong ? long : short).map { $0 / $1 }
        let limit = isLong ? nil : min(length, context.positionCount)
        return (scaled, Float(positive("attention_factor", default: attention)), limit)
    }
}
