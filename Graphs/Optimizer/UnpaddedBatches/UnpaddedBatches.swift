import GraphIR
import Operators
import Tensors

/// Lets an encoder run on the real tokens of a batch alone, one behind the other, and attend within each sequence:
///
///     x [batch, sequence] ── ... ── attention(q, k, v, mask) ── ... ── hidden [batch, sequence, width]
///
///     rows, positions, offsets = token_rows(mask)
///     gather(x, rows) [1, tokens] ── ... ── attention(q, k, v, mask of rows, offsets) ── ... ── pad_tokens ── hidden
///
/// The graph inside is the one it was: a batch of one sequence that is as long as all of them. Real tokens have the values that they had, and so has
/// what is read by its place, the first token of a sequence, even where it is padding. Other padded positions of an output are zeros.
/// Where a node may read what stands at padded positions (a mean over all of them, say), the graph stays as it is and the report says why.
struct UnpaddedBatches: Pass {
    let name = "unpadded_batches"

    func run(_ graph: inout Graph, _ report: inout OptimizationReport) throws -> Int {
        // Generation has no padding to speak of.
        guard !graph.nodes.contains(where: { type(of: $0.op).usesCache || $0.op is TokenRows }) else { return 0 }
        do {
            guard let region = try UnpaddedRegion(graph) else { return 0 }
            var builder = UnpaddedGraphBuilder(graph, region)
            graph = try builder.build()
            return 1
        } catch let refusal as PassRefusal {
            report.nearMisses.append(.init(rule: name, node: refusal.node, reason: refusal.reason))
        } catch let error as OperatorError {
            report.nearMisses.append(.init(rule: name, node: "the graph", reason: error.description))
        }
        return 0
    }
}
