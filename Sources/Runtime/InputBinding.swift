import GraphIR
import Tensors

/// The sizes that names of dims stand for, learnt from shapes.
struct SymbolTable: Sendable {
    private(set) var sizes: [String: Int] = [:]
    /// Which value gave a symbol its size, for messages.
    private var origins: [String: String] = [:]

    /// Matches a declared type with an actual shape of the same rank; learns symbols that stand alone or are the only unknown of a linear
    /// expression (`past + 1`).
    ///
    /// - Returns: false where an expression has unknown symbols left: match again when more is known.
    /// - Throws: `RuntimeError` where they contradict each other.
    mutating func match(_ type: TensorType, shape: [Int], of name: String) throws -> Bool {
        var complete = true
        for (axis, (dim, size)) in zip(type.dims, shape).enumerated() {
            if let expected = try value(of: dim, name) {
                guard expected == size else { throw contradiction(type, shape, axis, expected, of: name) }
            } else if let symbol = try solve(dim, equals: size, name) {
                sizes[symbol.name] = symbol.size
                origins[symbol.name] = name
            } else {
                complete = false
            }
        }
        return complete
    }

    /// Learns the symbols of a computed value that stand alone: inference invented them for sizes that the data tell.
    mutating func learn(_ type: TensorType, shape: [Int]) {
        guard type.rank == shape.count else { return }
        for (dim, size) in zip(type.dims, shape) {
            if let name = dim.symbolName, sizes[name] == nil { sizes[name] = size }
        }
    }

    private func value(of dim: Dim, _ name: String) throws -> Int? {
        do {
            return try dim.evaluate(sizes)
        } catch {
            throw RuntimeError(.wrongShape, "input \(name): \(error)")
        }
    }

    /// The one unknown symbol of `dim` and the size that it must have, when `dim` is linear in it.
    private func solve(_ dim: Dim, equals size: Int, _ name: String) throws -> (name: String, size: Int)? {
        let unknown = dim.symbols.filter { sizes[$0] == nil }
        guard unknown.count == 1, let symbol = unknown.first else { return nil }
        if dim.symbolName != nil { return (symbol, size) }
        func at(_ value: Int) -> Int? {
            var trial = sizes
            trial[symbol] = value
            return (try? dim.evaluate(trial)).flatMap { $0 }
        }
        guard let zero = at(0), let one = at(1) else { return nil }
        let (slope, slopeOverflow) = one.subtractingReportingOverflow(zero)
        let (rest, restOverflow) = size.subtractingReportingOverflow(zero)
        guard !slopeOverflow, !restOverflow, slope > 0, rest >= 0 else { return nil }
        let solution = rest / slope
        guard at(solution) == size else { return nil }
        return (symbol, solution)
    }

    private func contradiction(_ type: TensorType, _ shape: [Int], _ axis: Int, _ expected: Int, of name: String) -> RuntimeError {
        let dim = type.dims[axis]
        let why = dim.symbols.sorted().compactMap { symbol in origins[symbol].map { "\(symbol) is \(sizes[symbol] ?? 0) by input \($0)" } }
        let reason = why.isEmpty ? "" : " (\(why.joined(separator: ", ")))"
        return RuntimeError(
            .wrongShape, "input \(name): dimension \(axis) of \(shape) must be \(expected)\(dim.fixedValue == nil ? " = \(dim)" : "")\(reason)")
    }
}

/// A caller's inputs, checked against the graph's and put in its order.
struct InputBinding {
    /// By position in the graph; nil where the default stands in.
    let tensors: [Tensor?]
    let symbols: SymbolTable

    /// - Throws: `RuntimeError` naming the input.
    init(_ given: [String: Tensor], to graph: Graph) throws {
        let known = graph.inputs.map { graph[$0].name }
        for name in given.keys.sorted() where !known.contains(name) {
            throw RuntimeError(.unknownName, "there is no input named \(name); the inputs are \(known.joined(separator: ", "))")
        }
        var symbols = SymbolTable()
        var tensors: [Tensor?] = []
        for id in graph.inputs {
            let value = graph[id]
            guard let tensor = given[value.name] else {
                guard value.inputDefault != nil else {
                    throw RuntimeError(.missingInput, "input \(value.name) (\(value.type)) is missing")
                }
                tensors.append(nil)
                continue
            }
            guard tensor.dtype == value.type.dtype else {
                throw RuntimeError(
                    .wrongType, "input \(value.name) has the type \(tensor.dtype.rawValue), expected \(value.type.dtype.rawValue)")
            }
            guard tensor.rank == value.type.rank else {
                throw RuntimeError(.wrongShape, "input \(value.name) has the shape \(tensor.shape), expected \(value.type)")
            }
            tensors.append(tensor)
        }
        // Symbols that stand alone come first: an expression may need one of a later input.
        var pending = zip(graph.inputs, tensors).compactMap { id, tensor in tensor.map { (graph[id], $0) } }
        while !pending.isEmpty {
            let left = try pending.filter { try !symbols.match($0.0.type, shape: $0.1.shape, of: $0.0.name) }
            if left.count == pending.count { break }
            pending = left
        }
        self.tensors = tensors
        self.symbols = symbols
    }
}

extension InputDefault {
    /// A tensor of that content.
    ///
    /// - Throws: `TensorError` where the shape does not fit in memory.
    func tensor(_ type: ConcreteType) throws -> Tensor {
        switch self {
        case .zeros:
            return try Tensor(dtype: type.dtype, shape: type.shape) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        case .ones:
            return try Tensor(integers: [Int64](repeating: 1, count: type.count), dtype: type.dtype, shape: type.shape)
        }
    }
}
