/// The plans used last, by shapes and wanted outputs.
final class PlanCache: Sendable {
    struct Key: Hashable, Sendable {
        /// By input; nil where the default stands in.
        let shapes: [[Int]?]
        /// Positions of the wanted outputs.
        let outputs: [Int]
        /// How many tokens of the batch are real; nil where the plan does not depend on it.
        let tokens: Int?
    }

    /// Texts come in few lengths at a time; a plan is some kilobytes, and its shape-dependent constants.
    static let capacity = 32

    private struct State {
        var plans: [Key: (plan: Plan, lastUse: Int)] = [:]
        var clock = 0
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.plans.count } }

    /// The plan of that key, made where there is none. Two threads that miss at once both make one; either serves.
    func plan(_ key: Key, make: () throws -> Plan) throws -> Plan {
        let known = state.withLock { state -> Plan? in
            state.clock += 1
            state.plans[key]?.lastUse = state.clock
            return state.plans[key]?.plan
        }
        if let known { return known }
        let plan = try make()
        state.withLock { state in
            if state.plans.count >= Self.capacity, let oldest = state.plans.min(by: { $0.value.lastUse < $1.value.lastUse })?.key {
                state.plans[oldest] = nil
            }
            state.plans[key] = (plan, state.clock)
        }
        return plan
    }
}
