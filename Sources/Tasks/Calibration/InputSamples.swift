import GraphFile
import GraphIR
import Runtime
import Tensors
import Tokenizers

/// Rows that reached a value of the graph, some of them, and the largest absolute value of each column over all.
struct InputSample {
    private(set) var largest: [Float]
    private var rows: [[Float]] = []
    /// Every that many rows one is kept.
    private var stride = 1
    private var seen = 0
    private static let maximumRows = 512

    init(width: Int) { largest = Array(repeating: 0, count: width) }

    mutating func add(_ row: some Collection<Float>) {
        for (column, element) in row.enumerated() { largest[column] = element.isNaN ? .nan : max(largest[column], abs(element)) }
        if seen % stride == 0 { rows.append(Array(row)) }
        seen += 1
        guard rows.count > Self.maximumRows else { return }
        rows = rows.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        stride *= 2
    }

    /// `[rows, width]`, at most that many rows.
    func tensor(rows count: Int) throws -> Tensor {
        let chosen = rows.prefix(count)
        return try Tensor(floats: chosen.flatMap { $0 }, shape: [chosen.count, largest.count])
    }
}

/// Runs texts through a graph and samples what reaches some of its values.
struct InputSamples {
    private let executor: Executor
    private let tokenizer: Tokenizer
    private let inputs: ModelDescription.TextInputs
    private let maximumLength: Int?
    private let names: [ValueID: String]
    private var samples: [ValueID: InputSample] = [:]

    init(_ file: GraphFile, inputs values: [ValueID]) throws {
        guard let tokenizer = try Tokenizer(file), let inputs = file.description.inputs else {
            throw TaskError(.unsuitableModel, "\(file.path) takes no text, which calibration needs; convert it with its tokenizer")
        }
        self.tokenizer = tokenizer
        self.inputs = inputs
        maximumLength = file.description.maximumLength
        var graph = file.graph
        var names: [ValueID: String] = [:]
        for value in values where names[value] == nil {
            names[value] = "calibration.\(names.count)"
        }
        graph.outputs = names.map { Output(name: $0.value, value: $0.key) }
        self.names = names
        executor = try Executor(graph: graph)
        for input in executor.inputs where !input.hasDefault && ![inputs.ids, inputs.attentionMask, inputs.typeIDs].contains(input.name) {
            throw TaskError(.unsuitableModel, "calibration gives text only, and the input '\(input.name)' takes something else")
        }
    }

    subscript(_ value: ValueID) -> InputSample? { samples[value] }

    /// Each text runs alone: no padding gets into the samples.
    mutating func add(_ text: String) throws {
        let encoding = try tokenizer.encode(text, addSpecialTokens: true, truncation: maximumLength.map { Truncation(maxLength: $0) })
        guard !encoding.ids.isEmpty, !names.isEmpty else { return }
        var tensors: [String: Tensor] = [:]
        for input in executor.inputs {
            let elements: [Int64]
            switch input.name {
            case inputs.ids: elements = encoding.ids.map { Int64($0) }
            case inputs.attentionMask: elements = encoding.ids.map { _ in 1 }
            case inputs.typeIDs: elements = encoding.typeIDs.map { Int64($0) }
            default: continue
            }
            tensors[input.name] = try Tensor(integers: elements, dtype: input.type.dtype, shape: [1, elements.count])
        }
        let results = try executor.run(tensors)
        for (value, name) in names {
            guard let tensor = results[name], let width = tensor.shape.last, width > 0 else { continue }
            var sample = samples[value] ?? InputSample(width: width)
            try tensor.withElements(of: Float.self) { elements in
                for row in 0..<elements.count / width { sample.add(elements[row * width..<(row + 1) * width]) }
            }
            samples[value] = sample
        }
    }
}
