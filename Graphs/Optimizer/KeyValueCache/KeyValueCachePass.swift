import GraphIR
import Operators
import Tensors

/// Lets a causal language model keep its keys and values in the cache of the run, so that one runtime path serves exports with a past and without.
///
///     past_key_values.N.key ── concat ─┬─ present.N.key                     cache_positions(input_ids, mask)
///                       k ──────┘      └─ attention(q, ..., mask)     =>    cached_attention{slot: N}(q, k, v, mask)
///
/// Inputs become `input_ids` and `attention_mask` of the new tokens, `[batch, sequence]`. Masks and positions are recognised by what they evaluate
/// to for several sizes and paddings, not by how they are spelled. Where anything else depends on the past, or tokens without a past meet
/// anywhere but in the attention, the graph stays as it is and the report says why.
struct KeyValueCachePass: Pass {
    let name = "key_value_cache"

    /// What brings every spelling to one attention operator.
    private static let preparation: [any Pass] = [
        Repeated(passes: PassPipeline.simplification), RewritePass(rule: AttentionFusion()),
        // Keys that were transposed for their product are transposed back now, which cancels.
        Repeated(passes: PassPipeline.simplification), RewritePass(rule: GroupedHeadFusion()), Repeated(passes: PassPipeline.simplification),
    ]

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        guard let interface = CausalInterface(graph), !graph.nodes.contains(where: { type(of: $0.op).usesCache || $0.op is Dims }) else { return 0 }
        do {
            let (changed, count) = try cached(graph, interface)
            guard count > 0 else { return 0 }
            graph = changed
            return count
        } catch let refusal as PassRefusal {
            report.nearMisses.append(.init(rule: name, node: refusal.node, reason: refusal.reason))
        } catch {
            report.nearMisses.append(.init(rule: name, node: "the graph", reason: "\(error)"))
        }
        return 0
    }

    private func cached(_ graph: Graph, _ interface: CausalInterface) throws -> (graph: Graph, count: Int) {
        var work = graph
        for (id, type) in try interface.canonicalTypes(in: graph) { work.setType(id, type) }
        var scratch = OptimizationReport()
        for pass in Self.preparation { _ = try pass.runVerified(&work, &scratch) }
        guard let prepared = CausalInterface(work) else { return (graph, 0) }
        let attentions = try CacheableAttention.all(in: work, prepared)
        guard !attentions.isEmpty else {
            guard interface.pasts.isEmpty else { throw PassRefusal("the graph", "no attention was found in it\(Self.closest(scratch))") }
            return (graph, 0)
        }
        var builder = try CachedGraphBuilder(work, prepared, attentions)
        let result = try builder.build()
        // With a past the export itself says what a step computes; without one, a token may look at others in attentions only.
        if interface.pasts.isEmpty { try TokenwiseCheck.run(result) }
        return (result, attentions.count)
    }

    private static func closest(_ report: OptimizationReport) -> String {
        report.nearMisses.first.map { " (\($0))" } ?? ""
    }
}
