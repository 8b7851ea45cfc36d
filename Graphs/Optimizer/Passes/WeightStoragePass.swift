import GraphIR
import Operators
import Tensors

/// Changes how large weights in full or half precision are stored: the weight of a linear becomes a constant in 16-bit floats or blocks, or
/// one of int8 that is multiplied as it is, with rows of x that are quantised when they are known. Embedding tables stay small in memory too:
///
///     linear(x, w)         ->   linear(x, w_q8_0)
///     linear(x, w)         ->   quantized_linear(quantize_rows(x), w_i8, scale)
///     linear(x, w)         ->   quantized_linear(quantize_rows(x * f), (w / f)_i8, scale)        where a measurement says so
///     linear(x, dequantize(w_i8, scale))    ->   quantized_linear(quantize_rows(x), w_i8, scale)
///     linear(x, w_q8_0, scale)              ->   quantized_linear(quantize_rows(x), w_i8, scale)         for blocks of whole numbers
///     gather(table, ids)   ->   gather(table_q8_0, ids)
///     gather(table, ids)   ->   cast(gather(table_bf16, ids))
///     gather(table, ids)   ->   cast(gather(table_i8, ids)) * expand_dims(gather(scale, ids), -1)
///
/// The tables of an `embedding` stay in it as 16-bit floats or blocks; for int8 it comes apart into those gathers, their sum and its norm.
///
/// Runs last: fusions look for plain constants.
public struct WeightStoragePass: Sendable {
    public let storage: WeightStorage
    /// What int8 does to layers, by the names of their outputs; those without an entry are not known to suffer.
    public let measurements: [String: LayerMeasurement]
    /// Smaller constants (biases, norms) are left as they are.
    static let minimumCount = 1024
    /// A weight that 8 bits would change by more stays as it is: some of its rows have few elements that are far larger than the others.
    static let weightErrorLimit = 0.05

    public init(_ storage: WeightStorage, measurements: [String: LayerMeasurement] = [:]) {
        self.storage = storage
        self.measurements = measurements
    }

    /// The dense layers of a graph that int8 would change.
    public static func layers(of graph: Graph) -> [Node] {
        let rewriting = WeightStorageRewriting(graph, WeightStoragePass(.int8))
        return graph.nodes.filter(rewriting.isLayer)
    }

    /// - Returns: Which constants changed, and by how much.
    @discardableResult
    public func run(_ graph: inout Graph) throws -> WeightStorageReport {
        var rewriting = WeightStorageRewriting(graph, self)
        for node in graph.nodes { try rewriting.visit(node) }
        graph = try rewriting.finish()
        return rewriting.report
    }
}

/// One pass over a graph.
private struct WeightStorageRewriting {
    private var graph: Graph
    private let storage: WeightStorage
    private let measurements: [String: LayerMeasurement]
    private(set) var report = WeightStorageReport()
    /// Constants behind casts to f32, by the cast's output.
    private var casts: [ValueID: ValueID] = [:]
    /// 8-bit constants behind a dequantize, by its output.
    private var dequantized: [ValueID: Node] = [:]
    /// Constants that rows are gathered from.
    private var tables: Set<ValueID> = []
    private var stored: [Key: Stored?] = [:]
    /// f32 values that took the place of values of 16 bits, whose casts to f32 go away.
    private var widened: [ValueID: ValueID] = [:]
    private var renamed: [ValueID: ValueID] = [:]

    private struct Key: Hashable {
        let id: ValueID
        let isTransposed: Bool
        var smoothing: [Float]?
    }

    private struct Stored {
        let values: ValueID
        /// Of int8 only.
        let scale: ValueID?
        var zero: ValueID?
    }

    /// Inputs of dense layers in 8 bits: integers, scales and zero points.
    private var rows: [Rows: [ValueID]] = [:]

    private struct Rows: Hashable {
        let id: ValueID
        let smoothing: [Float]?
    }

    init(_ graph: Graph, _ pass: WeightStoragePass) {
        self.graph = graph
        storage = pass.storage
        measurements = pass.measurements
        for node in graph.nodes {
            if node.op is Dequantize, let input = node.inputs[0], graph.constant(input) != nil { dequantized[node.outputs[0]] = node }
            if let cast = node.op as? Cast, cast.to == .f32, let input = node.inputs[0], graph.constant(input) != nil {
                casts[node.outputs[0]] = input
            }
        }
        for node in graph.nodes {
            if node.op is Gather, let id = node.inputs[0] { tables.insert(casts[id] ?? id) }
            if node.op is Embedding {
                for pair in 0..<Embedding.tableCount where 2 * pair < node.inputs.count { if let id = node.inputs[2 * pair] { tables.insert(id) } }
            }
        }
        self.graph.nodes = []
    }

    func finish() throws -> Graph {
        var result = graph
        for index in result.outputs.indices { result.outputs[index].value = renamed[result.outputs[index].value] ?? result.outputs[index].value }
        // Casts of what is stored anew have no use left; they would keep the old constants in the file.
        var report = OptimizationReport()
        _ = try DeadCode().run(&result, &report)
        return result.compacted()
    }

    mutating func visit(_ original: Node) throws {
        var node = original
        node.inputs = node.inputs.map { input in input.map { renamed[$0] ?? $0 } }
        if let linear = node.op as? Linear, let weight = node.inputs[1], let x = node.inputs[0], graph.type(x).dtype == .f32 {
            try visit(linear, &node, x, weight)
        } else if let embedding = node.op as? Embedding {
            return try visit(embedding, node)
        } else if let gather = node.op as? Gather, gather.axis == 0, let table = node.inputs[0], let id = large(table),
            let weights = try store(Key(id: id, isTransposed: false))
        {
            try replaceGather(node, weights)
            return
        } else if let cast = node.op as? Cast, cast.to == .f32, let input = node.inputs[0], let wide = widened[input] {
            renamed[node.outputs[0]] = wide
            return
        }
        graph.nodes.append(node)
    }

    /// Whether a node is a dense layer over f32 with a weight that int8 stores otherwise.
    func isLayer(_ node: Node) -> Bool {
        guard let linear = node.op as? Linear, linear.layout != .panels, let x = node.inputs[0], let weight = node.inputs[1], graph.type(x).dtype == .f32,
            let width = graph.type(x).dims.last?.fixedValue, width <= QuantizedLinear.maximumWidth
        else { return false }
        return large(weight) != nil || (try? integers(node, linear.layout)) != nil
    }

    private mutating func visit(_ linear: Linear, _ node: inout Node, _ x: ValueID, _ weight: ValueID) throws {
        guard linear.layout != .panels, large(weight) != nil || storage == .int8 && (dequantized[weight] != nil || scale(node) != nil) else { return }
        if storage == .int8, let width = graph.type(x).dims.last?.fixedValue, width > QuantizedLinear.maximumWidth {
            report.skipped.append("\(graph[weight].name): sums of \(width) products may not fit in 32 bits")
            return
        }
        let measurement = storage == .int8 ? measurements[graph[node.outputs[0]].name] : nil
        if let measurement, measurement.staysFloat {
            report.skipped.append(
                "\(graph[weight].name): its products would be \(Self.percent(measurement.chosenError)) off, the limit is \(Self.percent(LayerMeasurement.limit))")
            return
        }
        let smoothing = measurement?.isSmoothed == true ? measurement?.smoothing : nil
        // Blocks lie along the rows of [out, in], and so do the bytes that share a scale.
        let isTransposed = (storage.dtype.isBlock || storage == .int8) && linear.layout == .input_output
        let weights: Stored?
        if let id = large(weight) {
            weights = try store(Key(id: id, isTransposed: isTransposed, smoothing: smoothing), measurement)
            // A table may have been stored before for the rows that are gathered from it.
            if let error = measurement?.chosenError, let entry = report.entries.lastIndex(where: { $0.name == graph[id].name }),
                report.entries[entry].outputError == nil
            {
                report.entries[entry].outputError = error
            }
        } else {
            weights = try reuse(node, weight, linear.layout, measurement)
        }
        guard let weights else { return }
        guard let scale = weights.scale else {
            if isTransposed { node.op = Linear(layout: .output_input, activation: linear.activation) }
            node.inputs[1] = weights.values
            return
        }
        let quantized = try quantizedRows(x, smoothing: large(weight) == nil ? nil : smoothing)
        node.op = QuantizedLinear(activation: linear.activation)
        node.inputs = quantized + [weights.values, scale, weights.zero] + node.inputs.dropFirst(2).prefix(2)
        while let last = node.inputs.last, last == nil { node.inputs.removeLast() }
    }

    /// The scale of products with whole numbers.
    private func scale(_ node: Node) -> Tensor? { node.inputs.count > 4 ? node.inputs[4].flatMap { graph.constant($0) } : nil }

    /// A weight that is in 8 bits already, as the product takes it.
    private func integers(_ linear: Node, _ layout: Linear.Layout) throws -> IntegerWeight? {
        guard let weight = linear.inputs[1] else { return nil }
        if let scale = scale(linear) { return try graph.constant(weight).map { try IntegerWeight(blocks: $0, scale: scale) } }
        guard let node = dequantized[weight], let dequantize = node.op as? Dequantize, let q = node.inputs[0].flatMap({ graph.constant($0) }),
            let scale = node.inputs[1].flatMap({ graph.constant($0) })
        else { return nil }
        let zero = node.inputs.count > 2 ? node.inputs[2] : nil
        let zeros = zero.flatMap { graph.constant($0) }
        guard zero == nil || zeros != nil else { return nil }
        return try IntegerWeight(q, scale: scale, zero: zeros, axis: dequantize.axis, layout: layout)
    }

    private mutating func reuse(_ node: Node, _ weight: ValueID, _ layout: Linear.Layout, _ measurement: LayerMeasurement?) throws -> Stored? {
        let name = graph[weight].name
        do {
            guard let integers = try integers(node, layout) else { return nil }
            report.entries.append(.init(name: name, dtype: .i8, elements: integers.weight.count, relativeError: 0, outputError: measurement?.chosenError))
            return Stored(
                values: graph.addConstant("\(name).i8", integers.weight), scale: graph.addConstant("\(name).scale", integers.scale),
                zero: integers.zero.map { graph.addConstant("\(name).zero", $0) })
        } catch let reason as RuleMismatch {
            report.skipped.append("\(name): \(reason)")
            return nil
        }
    }

    /// Layers that share an input share its integers.
    private mutating func quantizedRows(_ x: ValueID, smoothing: [Float]?) throws -> [ValueID] {
        let key = Rows(id: x, smoothing: smoothing)
        if let known = rows[key] { return known }
        let name = graph[x].name
        var input = x
        if let smoothing {
            let factors = graph.addConstant("\(name).factors", try Tensor(floats: smoothing.map { 1 / $0 }, shape: [smoothing.count]))
            input = try graph.add(Binary(.mul), [x, factors], name: name)[0]
        }
        let outputs = try graph.add(QuantizeRows(), [input], outputNames: ["\(name).u8", "\(name).scale", "\(name).zero"])
        rows[key] = outputs
        return outputs
    }

    private mutating func visit(_ embedding: Embedding, _ original: Node) throws {
        var node = original
        node.inputs += Array(repeating: nil, count: max(0, 8 - node.inputs.count))
        var hasScales = false
        for pair in 0..<Embedding.tableCount {
            guard let table = node.inputs[2 * pair], let id = large(table), let weights = try store(Key(id: id, isTransposed: false)) else { continue }
            if weights.scale == nil { node.inputs[2 * pair] = weights.values } else { hasScales = true }
        }
        guard hasScales else {
            while let last = node.inputs.last, last == nil { node.inputs.removeLast() }
            graph.nodes.append(node)
            return
        }
        var sum: ValueID?
        for pair in 0..<Embedding.tableCount {
            guard let table = node.inputs[2 * pair], let ids = node.inputs[2 * pair + 1] else { continue }
            let rows = try graph.add(Gather(axis: 0), [table, ids], name: node.name)[0]
            let gather = graph.nodes.removeLast()
            if let id = large(table), let weights = try store(Key(id: id, isTransposed: false)) {
                try replaceGather(gather, weights)
            } else {
                graph.nodes.append(gather)
            }
            var row = widened[rows] ?? rows
            if graph.type(row).dtype != .f32 { row = try graph.add(Cast(to: .f32), [row], name: node.name)[0] }
            sum = try sum.map { try graph.add(Binary(.add), [$0, row], name: node.name)[0] } ?? row
        }
        guard let sum else { return }
        graph.nodes.append(
            Node(op: LayerNorm(epsilon: embedding.epsilon), inputs: [sum, node.inputs[6], node.inputs[7]], outputs: node.outputs, name: node.name))
    }

    /// Gathers stored rows and gives them back in f32.
    private mutating func replaceGather(_ node: Node, _ weights: Stored) throws {
        let (ids, output) = (node.inputs[1], node.outputs[0])
        var rows = try graph.add(Gather(axis: 0), [weights.values, ids], name: node.name)[0]
        if graph.type(rows).dtype != .f32 { rows = try graph.add(Cast(to: .f32), [rows], name: node.name)[0] }
        if let scale = weights.scale {
            let scales = try graph.add(Gather(axis: 0), [scale, ids], name: node.name)[0]
            let columns = try graph.add(ExpandDims(axes: [-1]), [scales], name: node.name)[0]
            rows = try graph.add(Binary(.mul), [rows, columns], name: node.name)[0]
        }
        if graph.type(output).dtype == .f32 {
            // The last node takes the gather's place.
            graph.nodes[graph.nodes.count - 1].outputs = [output]
        } else {
            widened[output] = rows
            graph.nodes.append(Node(op: Cast(to: graph.type(output).dtype), inputs: [rows], outputs: [output], name: node.name))
        }
    }

    /// The constant behind a weight, where it is a large one of floats that are stored otherwise.
    private func large(_ weight: ValueID) -> ValueID? {
        let id = casts[weight] ?? weight
        guard let tensor = graph.constant(id), [.f32, .f16, .bf16].contains(tensor.dtype), tensor.dtype != storage.dtype, tensor.rank == 2,
            tensor.count >= WeightStoragePass.minimumCount
        else { return nil }
        return id
    }

    /// - Returns: nil where the weight stays as it is.
    private mutating func store(_ key: Key, _ measurement: LayerMeasurement? = nil) throws -> Stored? {
        if let known = stored[key] { return known }
        guard var tensor = graph.constant(key.id) else { return nil }
        let name = graph[key.id].name
        if key.isTransposed { tensor = try Transpose(permutation: [1, 0]).evaluate(Inputs([tensor]))[0] }
        guard let dtype = storage.storedType(width: tensor.shape[1], isTable: tables.contains(key.id)) else {
            report.skipped.append("\(name): its rows of \(tensor.shape[1]) are no whole number of \(storage.rawValue) blocks")
            stored[key] = .some(nil)
            return nil
        }
        let result: Stored
        let relativeError: Double
        do {
            if storage == .int8 {
                if let smoothing = key.smoothing {
                    tensor = try Binary(.mul).evaluate(Inputs([tensor.converted(to: .f32), Tensor(floats: smoothing, shape: [smoothing.count])]))[0]
                }
                let (values, scale) = try Self.quantize(tensor)
                relativeError = Self.difference(tensor, try Dequantize(axis: 0).evaluate(Inputs([values, scale]))[0])
                // What was measured on the products counts, where it was.
                guard relativeError <= WeightStoragePass.weightErrorLimit || measurement != nil else {
                    report.skipped.append(
                        "\(name): 8 bits would change it by \(Self.percent(relativeError)), the limit is \(Self.percent(WeightStoragePass.weightErrorLimit))")
                    stored[key] = .some(nil)
                    return nil
                }
                result = Stored(values: graph.addConstant("\(name).i8", values), scale: graph.addConstant("\(name).scale", scale))
            } else {
                let values = try tensor.converted(to: dtype)
                result = Stored(values: graph.addConstant("\(name).\(dtype.rawValue)", values), scale: nil)
                relativeError = Self.difference(tensor, values)
            }
        } catch let error as TensorError {
            throw OperatorError(.unsupported, "weight \(name): \(error)")
        }
        report.entries.append(
            .init(
                name: name, dtype: dtype, elements: tensor.count, relativeError: relativeError, outputError: measurement?.chosenError,
                isSmoothed: key.smoothing != nil))
        stored[key] = result
        return result
    }

    private static func percent(_ error: Double) -> String { "\((error * 10_000).rounded() / 100) %" }

    /// The root of the squared difference's sum, relative to that of the weights.
    private static func difference(_ weights: Tensor, _ restored: Tensor) -> Double {
        var (noise, total) = (0.0, 0.0)
        for (a, b) in zip(weights.floats(), restored.floats()) {
            noise += Double(a - b) * Double(a - b)
            total += Double(a) * Double(a)
        }
        return total > 0 ? (noise / total).squareRoot() : 0
    }

    /// Symmetric quantisation of a matrix with one scale per row: `scale = max |w| / 127`, values rounded to nearest.
    private static func quantize(_ tensor: Tensor) throws -> (values: Tensor, scale: Tensor) {
        let (rows, columns) = (tensor.shape[0], tensor.shape[1])
        let weights = tensor.floats()
        var scales: [Float] = []
        var values: [Int8] = []
        values.reserveCapacity(weights.count)
        for row in 0..<rows {
            let elements = weights[row * columns..<(row + 1) * columns]
            if let element = elements.firstIndex(where: { !$0.isFinite }) {
                throw TensorError("element \(element) is \(weights[element]), which int8 cannot hold")
            }
            let largest = elements.reduce(Float(0)) { max($0, abs($1)) }
            let scale = largest > 0 ? largest / 127 : 1
            scales.append(scale)
            for weight in elements { values.append(Int8(max(-127, min(127, (weight / scale).rounded(.toNearestOrEven))))) }
        }
        return (try Tensor(elements: values, dtype: .i8, shape: tensor.shape), try Tensor(floats: scales, shape: [rows]))
    }
}
