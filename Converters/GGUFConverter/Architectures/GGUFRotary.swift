import Foundation
import JSON

extension GGUFConfiguration {
    /// The width of a head: `attention.key_length`, or the hidden size divided among the heads.
    mutating func headSize() -> Int? {
        if let own = integer("attention.key_length") {
            if let value = integer("attention.value_length"), value != own {
                report(.unsupported, "attention.value_length", "is \(value), but keys have \(own) components: different widths are not supported")
            }
            return own
        }
        guard let hidden = integer("embedding_length"), let heads = integer("attention.head_count"), heads > 0 else { return nil }
        return hidden / heads
    }

    /// Rotary positions: how many components of a head turn, and the scaling for longer contexts.
    ///
    /// - Parameter partialKey: What config.json calls the share of components that turn; nil where the architecture turns all.
    mutating func readRotary(partialKey: String? = nil) {
        if let width = integer("rope.dimension_count"), let head = headSize(), head > 0 {
            if let partialKey, width > 0, width <= head {
                // The quotient that gives the width back when multiplied with the head's size.
                var share = Double(width) / Double(head)
                if Int(share * Double(head)) < width { share = share.nextUp }
                set(partialKey, .number(share))
            } else if width != head {
                report(.unsupported, "rope.dimension_count", "is \(width), but heads have \(head) components, which all turn in this architecture")
            }
        }
        let scaling = rotaryScaling()
        if !scaling.isEmpty { set("rope_scaling", .object(scaling)) }
    }

    /// The members of `rope_scaling`; none where nothing is scaled.
    private mutating func rotaryScaling() -> [JSONMember] {
        let factor = number("rope.scaling.factor") ?? number("rope.scale_linear") ?? 1
        let original = integer("rope.scaling.original_context_length")
        let attention = number("rope.scaling.attn_factor") ?? 1
        let divisors = vector("rope_freqs.weight")
        let (short, long) = (vector("rope_factors_short.weight"), vector("rope_factors_long.weight"))
        // Lists of divisors are in use whatever the key says.
        let type = short != nil || long != nil ? "longrope" : text("rope.scaling.type") ?? (factor == 1 ? "none" : "linear")
        if divisors != nil, type != "none", type != "linear" {
            report(.unsupported, "rope.scaling.type", "is \(quoted(type)) and the file has rope_freqs.weight: both at once are not supported")
        }
        switch type {
        case "none", "linear":
            let linear = type == "linear" ? factor : 1
            if let divisors {
                // LongRoPE with one list for all lengths says the same.
                let list = JSONValue.array(divisors.map { .number($0 * linear) })
                return Self.members([
                    ("rope_type", "longrope"), ("short_factor", list), ("long_factor", list), ("attention_factor", .number(1)),
                    ("original_max_position_embeddings", setting("max_position_embeddings")),
                ])
            }
            return linear == 1 ? [] : Self.members([("rope_type", "linear"), ("factor", .number(linear))])
        case "yarn":
            for key in ["rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"]
            where number(key) != nil {
                report(.unsupported, key, "is set, which is not supported")
            }
            // A factor on top of the one that YaRN computes.
            let total = attention == 1 || factor <= 1 ? nil : attention * (0.1 * log(factor) + 1)
            return Self.members([
                ("rope_type", "yarn"), ("factor", .number(factor)), ("original_max_position_embeddings", original.map { .integer($0) }),
                ("beta_fast", number("rope.scaling.yarn_beta_fast").map { .number($0) }),
                ("beta_slow", number("rope.scaling.yarn_beta_slow").map { .number($0) }), ("attention_factor", total.map { .number($0) }),
            ])
        case "longrope":
            guard let short, let long else {
                report(.configuration, "rope.scaling.type", "is longrope: the tensors rope_factors_short.weight and rope_factors_long.weight are needed")
                return []
            }
            return Self.members([
                ("rope_type", "longrope"), ("short_factor", .array(short.map { .number($0) })), ("long_factor", .array(long.map { .number($0) })),
                ("attention_factor", .number(attention)), ("original_max_position_embeddings", original.map { .integer($0) }),
            ])
        default:
            report(.unsupported, "rope.scaling.type", "is \(quoted(type)), known are none, linear, yarn, longrope")
            return []
        }
    }

    private static func members(_ values: [(String, JSONValue?)]) -> [JSONMember] {
        values.compactMap { name, value in value.map { JSONMember(key: name, value: $0) } }
    }
}
