import GraphIR
import Operators
import Tensors

/// A whole-number value that counts the tokens, recognised by evaluating it: positions plus a constant.
struct PositionValue {
    /// `batch, sequence` or `sequence` alone, with dims of 1 anywhere.
    let value: ValueID
    /// What is added to the position of each token.
    let offset: Int64

    /// - Throws: `RuleMismatch` where the value is something else.
    init(_ value: ValueID, in graph: Graph, _ interface: CausalInterface, definitions: [ValueID: Int]) throws {
        let dims = graph.type(value).dims.filter { $0 != 1 }
        guard dims == [CausalInterface.sequence] || dims == [graph.type(interface.ids).dims[0], CausalInterface.sequence] else {
            throw RuleMismatch("it is \(graph.type(value)), not a number for each new token")
        }
        let hasRows = dims.count == 2
        var offset: Int64?
        var readings = PaddingReading.allCases
        for probe in Probe.all(interface, in: graph) {
            var evaluator = try probe.evaluator(graph, interface, definitions: definitions)
            let numbers = try evaluator.evaluate(value).integers()
            let positions = probe.positions
            guard numbers.count == (hasRows ? positions.count : probe.sequence) else { throw RuleMismatch("it has \(numbers.count) elements") }
            // The first probe has no padding.
            if offset == nil { offset = (numbers.first ?? 0) &- Int64(probe.past) }
            guard let offset else { continue }
            for row in 0..<probe.batch {
                for index in 0..<probe.sequence where probe.isToken(row, index) {
                    let number = numbers[hasRows ? row * probe.sequence + index : index] &- offset
                    readings.removeAll { reading in
                        switch reading {
                        case .places: number != positions[row * probe.sequence + index]
                        case .count: number != Int64(probe.pastCount(row) + index)
                        case .none: number != Int64(probe.past + index)
                        }
                    }
                }
            }
        }
        guard !readings.isEmpty, let offset else { throw RuleMismatch("its numbers are not the positions of the new tokens") }
        self.value = value
        self.offset = offset
    }
}
