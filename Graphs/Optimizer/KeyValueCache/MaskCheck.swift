import GraphIR
import Operators
import Tensors

/// Finds out what an attention mask means by evaluating it for sizes and padding of all kinds, not by how it is spelled.
struct MaskCheck {
    let graph: Graph
    let interface: CausalInterface
    let definitions: [ValueID: Int]
    let mask: ValueID?
    let isCausal: Bool

    /// Adding this to a score leaves nothing of its weight.
    private static let excluding = -1e4
    /// Numbers beyond are no window.
    private static let maximumWindow = 1 << 20

    /// What a mask may mean.
    private struct Meaning {
        /// 0 for all positions.
        var window: Int
        var padding: PaddingReading
    }

    /// The first token does not see the last one.
    var looksCausal: Bool {
        if isCausal { return true }
        let probe = Probe(batch: graph.type(interface.ids).dims[0].fixedValue ?? 1, sequence: 7, past: 0)
        guard let seen = try? attended(probe, tolerant: true) else { return true }
        return seen.first.map { !$0[probe.total - 1] } ?? false
    }

    /// The window of the mask, 0 for all positions.
    ///
    /// - Throws: `RuleMismatch` where the mask is not "tokens up to the query's own, padding excluded".
    func window() throws -> Int {
        let probes = try Probe.all(interface, in: graph).map { ($0, try attended($0)) }
        var meanings = PaddingReading.allCases.map { Meaning(window: 0, padding: $0) }
        // A window is a number somewhere in the mask's making; a probe longer than it shows it.
        for number in try numbers() {
            let batch = graph.type(interface.ids).dims[0].fixedValue ?? 1
            let probe = interface.pasts.isEmpty
                ? Probe(batch: batch, sequence: number + 3, past: 0) : Probe(batch: batch, sequence: 3, past: number + 1)
            let seen: [[Bool]]
            do {
                seen = try attended(probe)
            } catch is RuleMismatch {
                throw RuleMismatch("its mask has the number \(number), which could be a window too long to try")
            } catch {
                // Longer than the export itself allows.
                continue
            }
            meanings += (number - 1...number + 1).flatMap { window in PaddingReading.allCases.map { Meaning(window: window, padding: $0) } }
            meanings.removeAll { !matches(seen, probe, $0) }
        }
        guard let meaning = meanings.first(where: { meaning in probes.allSatisfy { matches($0.1, $0.0, meaning) } }) else {
            throw RuleMismatch("its mask is not that of a causal attention that leaves out padding")
        }
        return meaning.window
    }

    /// Whether every real query sees the real keys up to its own, within the window.
    private func matches(_ seen: [[Bool]], _ probe: Probe, _ meaning: Meaning) -> Bool {
        for (row, keys) in seen.enumerated() {
            let (b, i) = (row / probe.sequence, row % probe.sequence)
            guard probe.isToken(b, i) else { continue }
            let own = probe.past + i
            for (j, isSeen) in keys.enumerated() {
                let isReal: Bool
                switch meaning.padding {
                case .places: isReal = probe.mask[b * probe.total + j] != 0
                case .count: isReal = j >= probe.past || j < probe.pastCount(b)
                case .none: isReal = true
                }
                if isSeen != (j <= own && (meaning.window == 0 || j > own - meaning.window) && isReal) { return false }
            }
        }
        return true
    }

    /// Which keys each query sees: `batch * sequence` rows of `total`.
    ///
    /// - Parameter tolerant: Numbers that neither keep nor exclude count as seen.
    private func attended(_ probe: Probe, tolerant: Bool = false) throws -> [[Bool]] {
        func isAllowed(_ row: Int, _ key: Int) -> Bool { !isCausal || key <= row % probe.sequence + probe.past }
        var rows = (0..<probe.batch * probe.sequence).map { row in (0..<probe.total).map { isAllowed(row, $0) } }
        guard let mask else { return rows }
        var evaluator = try probe.evaluator(graph, interface, definitions: definitions)
        let tensor = try evaluator.evaluate(mask)
        guard tensor.rank <= 4 else { throw RuleMismatch("its mask has rank \(tensor.rank)") }
        let shape = Array(repeating: 1, count: 4 - tensor.rank) + tensor.shape
        guard shape[0] == 1 || shape[0] == probe.batch, shape[2] == 1 || shape[2] == probe.sequence, shape[3] == 1 || shape[3] == probe.total else {
            throw RuleMismatch("its mask is \(tensor.shape) for \(probe.batch) rows of \(probe.past) past and \(probe.sequence) new tokens")
        }
        let strides = Shape.broadcastStrides(shape, to: [probe.batch, shape[1], probe.sequence, probe.total])
        let isBool = tensor.dtype == .bool
        let elements = tensor.doubles()
        for head in 0..<shape[1] {
            for row in rows.indices {
                let start = row / probe.sequence * strides[0] + head * strides[1] + row % probe.sequence * strides[2]
                for j in 0..<probe.total {
                    let element = elements[start + j * strides[3]]
                    let keeps: Bool
                    if isBool {
                        keeps = element != 0
                    } else if element == 0 || tolerant && element > Self.excluding {
                        keeps = true
                    } else if element <= Self.excluding {
                        keeps = false
                    } else {
                        throw RuleMismatch("its mask adds \(element) to a score")
                    }
                    let isSeen = keeps && isAllowed(row, j)
                    guard head == 0 || isSeen == rows[row][j] else { throw RuleMismatch("its mask is not the same for all heads") }
                    rows[row][j] = isSeen
                }
            }
        }
        return rows
    }

    /// The whole numbers that go into the mask and could be a window, largest ones left out.
    private func numbers() throws -> [Int] {
        guard let mask else { return [] }
        var found: Set<Int> = []
        func add(_ number: Int) {
            if number.magnitude > 1, number.magnitude <= Self.maximumWindow { found.insert(Int(number.magnitude)) }
        }
        var seen: Set<ValueID> = []
        var pending = [mask]
        while let value = pending.popLast() {
            guard seen.insert(value).inserted else { continue }
            if let tensor = graph.constant(value), tensor.count <= 8 {
                for element in tensor.doubles() where element > 0 || !tensor.dtype.isFloat {
                    if let number = Int(exactly: element) { add(number) }
                }
            }
            guard let number = definitions[value] else { continue }
            let node = graph.nodes[number]
            if let dims = node.op as? Dims {
                for element in dims.elements {
                    let zero = try element.evaluate(["batch": 0, "sequence": 0, "past": 0])
                    if let zero { add(zero) }
                }
            }
            pending += node.inputs.compactMap { $0 }
        }
        guard found.count <= 16 else { throw RuleMismatch("its mask has \(found.count) numbers that could be a window") }
        return found.sorted()
    }
}
