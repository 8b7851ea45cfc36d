import Architectures
import Foundation
import GGUFConverter
import GraphFile
import GraphIR
import JSON
import ONNXConverter
import Optimizer
import SafetensorsConverter
import Tensors
import Tokenizers

/// A model file and everything beside it, as one graph with its description.
public struct ConvertedModel: Sendable {
    public let graph: Graph
    /// Before optimisation; what `--check` compares with.
    public let importedGraph: Graph
    public let description: ModelDescription
    public let provenance: Provenance
    /// Compiled; nil where there is none.
    public let tokenizer: [UInt8]?
    public let optimization: OptimizationReport?
    /// What storing weights in another form did; nil where nobody asked for it.
    public let quantization: WeightStorageReport?
    /// What `quantization` started from; nil where nobody asked for it.
    public let unquantizedGraph: Graph?
    public let warnings: [String]

    /// The model as a file would hold it, to be used at once.
    public var file: GraphFile { file(graph) }

    /// The same before its weights were stored in another form; nil where they were not.
    public var unquantizedFile: GraphFile? { unquantizedGraph.map(file) }

    private func file(_ graph: Graph) -> GraphFile {
        GraphFile(graph: graph, description: description, provenance: provenance, tokenizer: tokenizer, name: "the converted model")
    }

    /// Writes the `.graph` file, whole or not at all.
    public func write(to url: URL) throws {
        try GraphFile.write(graph: graph, description: description, provenance: provenance, tokenizer: tokenizer, to: url)
    }
}

/// Turns a model file or folder into a `ConvertedModel`.
public struct ModelConverter: Sendable {
    public static let version = "0.1.0"

    public let source: ModelSource
    public let options: ConversionOptions

    public init(_ url: URL, options: ConversionOptions = ConversionOptions()) throws {
        source = try ModelSource(url)
        self.options = options
    }

    /// Converts.
    ///
    /// - Throws: the importer's errors, which list all that stands in the way, and `ConversionError` for options that do not fit.
    public func convert() throws -> ConvertedModel {
        var imported = try importModel()
        if let task = options.task { imported.description.task = task }
        try describeText(&imported)
        try apply(&imported)

        let tokenizer = try loadTokenizer(&imported)
        var graph = imported.graph
        var report: OptimizationReport?
        if options.optimizes {
            report = try PassPipeline.default.run(&graph)
        }
        if imported.description.task == .generation, !graph.nodes.contains(where: { type(of: $0.op).usesCache }) {
            let reason = report?.nearMisses.first { $0.rule == "key_value_cache" }.map { " (\($0))" } ?? ""
            imported.warnings.append("the graph has no key-value cache\(reason); every step of a generation would need the whole text or a past")
        }
        let provenance = try provenance(imported)
        let unquantized = options.quantization == nil ? nil : graph
        var measurements: [String: LayerMeasurement] = [:]
        if options.quantization == .int8, let calibration = options.calibration {
            measurements = try calibration(
                GraphFile(graph: graph, description: imported.description, provenance: provenance, tokenizer: tokenizer, name: source.url.path))
        }
        let quantization = try options.quantization.map { try WeightStoragePass($0, measurements: measurements).run(&graph) }
        if let quantization { imported.warnings += Self.warnings(quantization) }
        if options.optimizes { try WeightLayoutPass().run(&graph) }
        return ConvertedModel(
            graph: graph.compacted(), importedGraph: imported.graph, description: imported.description,
            provenance: provenance, tokenizer: tokenizer, optimization: report, quantization: quantization,
            unquantizedGraph: unquantized, warnings: imported.warnings)
    }

    private static func warnings(_ quantization: WeightStorageReport) -> [String] {
        if quantization.entries.isEmpty, quantization.skipped.isEmpty {
            return ["--quantize changes nothing: the model has no large weights in f32, f16 or bf16"]
        }
        return quantization.skipped.map { "not quantised: \($0)" }
    }

    /// Everything that stands in the way of converting; empty where nothing does.
    public func check() throws -> [String] {
        var issues: [String] = []
        switch source.format {
        case .onnx: issues += try ONNXImporter.check(contentsOf: source.url).map { "\($0)" }
        case .safetensors:
            issues += try CheckpointImporter.check(folderOrFile: source.url, head: head, length: options.maximumLength).map { "\($0)" }
        case .gguf: issues += try GGUFImporter.check(source.url).map { "\($0)" }
        case .graph: _ = try GraphFile(contentsOf: source.url)
        }
        if source.format == .gguf, options.tokenizer == nil, let vocabulary = try GGUFVocabulary(GGUFFile(contentsOf: source.url)) {
            do {
                _ = try Tokenizer(gguf: vocabulary)
            } catch let error as TokenizerError {
                issues.append("\(source.url.path): \(error)")
            }
        } else if source.format != .graph, options.tokenizer == nil, tokenizerLocation == nil {
            issues.append("\(source.url.path): no tokenizer.json or vocab.txt beside the model; the graph would take tensors only (--tokenizer PATH)")
        }
        return issues
    }

    // MARK: Import

    /// What the steps of a conversion pass on.
    private struct Imported {
        var graph: Graph
        var description: ModelDescription
        var warnings: [String]
        var files: [URL]
        var producer: String?
        var opset: Int?
        /// Positions that the weights allow.
        var maximumPositions: Int?
        /// The vocabulary inside the model file.
        var vocabulary: GGUFVocabulary?
        /// The model as an earlier conversion left it.
        var converted: GraphFile?
    }

    private var head: Head? {
        switch options.task {
        case .classification?: return .sequenceClassification
        case .tokenClassification?: return .tokenClassification
        case .maskedLanguageModel?: return .maskedLanguageModel
        case .embedding?: return .encoder
        case .generation?: return .causalLanguageModel
        case .sequenceToSequence?: return .sequenceToSequence
        case Optional.none, .none?: return nil
        }
    }

    private func importModel() throws -> Imported {
        switch source.format {
        case .safetensors:
            let conversion = try CheckpointImporter.convert(folderOrFile: source.url, head: head, length: options.maximumLength)
            let configuration = conversion.configuration
            var description = ModelDescription(task: .none)
            description.architecture = configuration.modelType
            switch configuration.head {
            case .encoder:
                description.task = .embedding
                description.output = "last_hidden_state"
            case .sequenceClassification:
                description.task = .classification
                description.output = "logits"
                description.labels = configuration.labels
                description.isMultiLabel = configuration.isMultiLabel
                description.isRegression = configuration.problemType == .regression
                    || (configuration.problemType == nil && configuration.labels.count == 1)
            case .tokenClassification:
                description.task = .tokenClassification
                description.output = "logits"
                description.labels = configuration.labels
            case .maskedLanguageModel:
                description.task = .maskedLanguageModel
                description.output = "logits"
            case .causalLanguageModel:
                description.task = .generation
                description.output = "logits"
            case .sequenceToSequence:
                description.task = .sequenceToSequence
                description.output = "logits"
            }
            return Imported(
                graph: conversion.graph, description: description, warnings: conversion.warnings, files: conversion.sourceFiles,
                maximumPositions: configuration.maximumPositions)
        case .onnx:
            let conversion = try ONNXImporter.convert(contentsOf: source.url)
            var imported = Imported(
                graph: conversion.graph, description: ModelDescription(task: .none), warnings: conversion.warnings,
                files: [source.url] + conversion.information.externalFiles.map { source.url.deletingLastPathComponent().appendingPathComponent($0) },
                producer: conversion.information.producer.isEmpty ? nil : conversion.information.producer,
                opset: conversion.information.opsets.first { $0.domain.isEmpty }?.version)
            try readONNXConfiguration(&imported)
            return imported
        case .gguf:
            let conversion = try GGUFImporter.convert(source.url, length: options.maximumLength)
            let (description, warnings) = try GGUFDescription.describe(conversion)
            return Imported(
                graph: conversion.graph, description: description, warnings: conversion.warnings + warnings, files: [source.url],
                maximumPositions: conversion.configuration.maximumPositions, vocabulary: try GGUFVocabulary(conversion.file))
        case .graph:
            let file = try GraphFile(contentsOf: source.url)
            var graph = file.graph
            try WeightLayoutPass.undo(&graph)
            return Imported(
                graph: graph, description: file.description, warnings: [], files: [source.url], maximumPositions: file.description.maximumLength,
                converted: file)
        }
    }

    /// What config.json beside an ONNX file says of labels and length; the graph itself says the rest.
    private func readONNXConfiguration(_ imported: inout Imported) throws {
        let outputs = Dictionary(imported.graph.outputs.map { ($0.name, imported.graph.type($0.value)) }, uniquingKeysWith: { a, _ in a })
        var head: Head?
        if let url = source.sideFile("config.json") {
            let config = try JSONFile.read(url)
            imported.files.append(url)
            imported.maximumPositions = (config["max_position_embeddings"] ?? config["n_positions"])?.intValue
            let modelType = config["model_type"]?.stringValue ?? ""
            head = config["architectures"]?.arrayValue?.first?.stringValue.flatMap { Head.named(byClass: $0, modelType: modelType) }
            if config["id2label"] != nil { imported.description.labels = try LabelFile.labels(from: url.path) }
            imported.description.isMultiLabel = config["problem_type"]?.stringValue == "multi_label_classification"
            imported.description.isRegression = config["problem_type"]?.stringValue == "regression"
        }
        if let logits = outputs["logits"] {
            imported.description.output = "logits"
            if logits.rank == 2 {
                imported.description.task = .classification
            } else if let width = logits.dims.last?.fixedValue, width == imported.description.labels.count {
                imported.description.task = .tokenClassification
            } else if head == .causalLanguageModel || CausalInterface(imported.graph)?.pasts.isEmpty == false {
                imported.description.task = .generation
            } else if head == .sequenceToSequence {
                imported.description.task = .sequenceToSequence
            } else {
                imported.description.task = .maskedLanguageModel
            }
        } else if let pooled = ["sentence_embedding", "sentence_embeddings", "embedding", "embeddings"].first(where: { outputs[$0]?.rank == 2 }) {
            imported.description.task = .embedding
            imported.description.output = pooled
            imported.description.pooling = ModelDescription.Pooling.none
        } else if let tokens = ["last_hidden_state", "token_embeddings"].first(where: { outputs[$0]?.rank == 3 }) {
            imported.description.task = .embedding
            imported.description.output = tokens
        }
        if imported.description.task != .classification, imported.description.task != .tokenClassification { imported.description.labels = [] }
    }

    /// Pooling, prompts and lengths of sentence-transformers; special tokens, sampling and chat template of language models; which inputs take
    /// text.
    private func describeText(_ imported: inout Imported) throws {
        if imported.converted != nil { return }
        if imported.description.task == .embedding, let settings = try SentenceTransformerSettings(source) {
            imported.files += settings.files
            if imported.description.pooling == nil { imported.description.pooling = settings.pooling }
            imported.description.normalizesEmbeddings = settings.normalizes
            imported.description.maximumLength = settings.maximumLength
            imported.description.prompts = settings.prompts
        }
        // A GGUF file says all that itself.
        if source.format != .gguf, imported.description.task == .generation || imported.description.task == .sequenceToSequence {
            let beside = try GenerationFiles(source)
            imported.files += beside.files
            imported.warnings += beside.warnings
            imported.description.generation = beside.settings
            imported.description.chatTemplate = beside.chatTemplate
        }
        imported.description.inputs = textInputs(imported.graph)
    }

    private func textInputs(_ graph: Graph) -> ModelDescription.TextInputs? {
        func find(_ names: [String]) -> String? {
            for name in names {
                for id in graph.inputs where graph[id].name == name {
                    let type = graph.type(id)
                    if type.rank == 2, type.dtype == .i64 || type.dtype == .i32 { return name }
                }
            }
            return nil
        }
        guard let ids = find(["input_ids", "input_ids:0", "ids", "input", "tokens"]) else { return nil }
        return ModelDescription.TextInputs(
            ids: ids, attentionMask: find(["attention_mask", "attention_mask:0", "input_mask", "mask"]),
            typeIDs: find(["token_type_ids", "token_type_ids:0", "segment_ids"]))
    }

    // MARK: Options

    private func apply(_ imported: inout Imported) throws {
        let graph = imported.graph
        if let output = options.output {
            guard graph.outputs.contains(where: { $0.name == output }) else {
                throw ConversionError("there is no output '\(output)'; the outputs are \(graph.outputs.map(\.name).joined(separator: ", "))")
            }
            imported.description.output = output
        }
        if let pooling = options.pooling {
            guard imported.description.task == .embedding else {
                throw ConversionError("--pooling is for embedding models; this one is for \(imported.description.task.rawValue) (--task embedding)")
            }
            imported.description.pooling = pooling
        }
        if let labels = options.labels {
            guard [.classification, .tokenClassification].contains(imported.description.task) else {
                throw ConversionError("--labels are for classifiers; this model is for \(imported.description.task.rawValue) (--task classification)")
            }
            imported.description.labels = labels
        }
        try checkOutput(&imported)

        if let maximum = options.maximumLength {
            if let positions = imported.maximumPositions, maximum > positions {
                throw ConversionError("--max-length \(maximum) is more than the \(positions) positions of the model")
            }
            imported.description.maximumLength = maximum
        } else {
            imported.description.maximumLength = [imported.description.maximumLength, imported.maximumPositions].compactMap { $0 }.min()
        }
        imported.description.generation?.contextLength = imported.description.maximumLength
    }

    /// The task has an output of the right shape; guesses what nobody said.
    private func checkOutput(_ imported: inout Imported) throws {
        let task = imported.description.task
        if task == .none { return }
        let outputs = imported.graph.outputs
        let names = outputs.map(\.name).joined(separator: ", ")
        if imported.description.output == nil, outputs.count == 1 { imported.description.output = outputs[0].name }
        guard let name = imported.description.output, let output = outputs.first(where: { $0.name == name }) else {
            throw ConversionError("which output answers \(task.rawValue)? Name one of \(names) with --output")
        }
        let type = imported.graph.type(output.value)
        if task == .embedding, imported.description.pooling == nil {
            imported.description.pooling = type.rank == 2 ? ModelDescription.Pooling.none : .mean
            if type.rank == 3 { imported.warnings.append("nothing says how '\(name)' is pooled; the mean is taken (--pooling changes that)") }
        }
        let rank: Int
        switch task {
        case .embedding: rank = imported.description.pooling == ModelDescription.Pooling.none ? 2 : 3
        case .classification: rank = 2
        default: rank = 3
        }
        guard type.dtype.isFloat, type.rank == rank else {
            throw ConversionError("output '\(name)' is \(type), but \(task.rawValue) needs rank \(rank); name another of \(names) with --output")
        }
        if [.classification, .tokenClassification].contains(task), let width = type.dims.last?.fixedValue {
            if imported.description.labels.isEmpty {
                imported.description.labels = (0..<width).map { "LABEL_\($0)" }
                imported.warnings.append("nothing names the \(width) labels; LABEL_0 to LABEL_\(width - 1) are used (--labels FILE)")
            }
            guard imported.description.labels.count == width else {
                throw ConversionError("\(imported.description.labels.count) labels do not fit the \(width) outputs of '\(name)'")
            }
        }
    }

    // MARK: Tokenizer and provenance

    /// The folder or file that the tokenizer is read from.
    private var tokenizerLocation: URL? {
        if let url = options.tokenizer { return url }
        for name in ["tokenizer.json", "vocab.txt", "vocab.json"] {
            if let url = source.sideFile(name) { return url.deletingLastPathComponent() }
        }
        return nil
    }

    private func loadTokenizer(_ imported: inout Imported) throws -> [UInt8]? {
        if options.tokenizer == nil, let converted = imported.converted {
            return converted.tokenizer.map { storage, range in Array(storage.bytes[range]) }
        }
        if options.tokenizer == nil, let vocabulary = imported.vocabulary {
            let tokenizer = try Tokenizer(gguf: vocabulary)
            // Some tokens are known by their text to end a turn.
            let known = imported.description.generation?.endTokens ?? []
            imported.description.generation?.endTokens += try vocabulary.endOfGenerationIDs.filter { !known.contains($0) }
            return tokenizer.compiled()
        }
        guard let url = tokenizerLocation else {
            if imported.description.inputs != nil {
                imported.warnings.append("no tokenizer beside the model: the graph takes tensors only (--tokenizer PATH)")
            }
            imported.description.inputs = nil
            return nil
        }
        let tokenizer = try Tokenizer(contentsOf: url)
        for name in ["tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "vocab.json", "merges.txt"] {
            let file = url.hasDirectoryPath || url.pathExtension.isEmpty ? url.appendingPathComponent(name) : url
            if FileManager.default.fileExists(atPath: file.path), !imported.files.contains(file) { imported.files.append(file) }
        }
        // A decoder's positions do not end where its tokenizer was told to cut texts.
        if options.maximumLength == nil, imported.description.task != .generation, let limit = tokenizer.settings.modelMaxLength {
            imported.description.maximumLength = min(imported.description.maximumLength ?? limit, limit)
        }
        if let ids = imported.description.inputs?.ids, let vocabulary = vocabularySize(imported.graph, ids: ids),
            tokenizer.vocabularySize > vocabulary
        {
            imported.warnings.append("the tokenizer knows \(tokenizer.vocabularySize) tokens, the model has rows for \(vocabulary): is it the right one?")
        }
        return tokenizer.compiled()
    }

    /// Rows of the table that the ids index, where they do so directly.
    private func vocabularySize(_ graph: Graph, ids: String) -> Int? {
        for node in graph.nodes where node.op.mnemonic == "gather" && node.inputs.count == 2 {
            guard let table = node.inputs[0], let index = node.inputs[1], graph[index].name == ids else { continue }
            return graph.type(table).dims.first?.fixedValue
        }
        return nil
    }

    private func provenance(_ imported: Imported) throws -> Provenance {
        let base = source.sideFolders.last?.path ?? ""
        var seen: Set<String> = []
        let sources = try imported.files.filter { seen.insert($0.path).inserted }.map { url -> Provenance.Source in
            let storage = try Storage(mapping: url)
            let path = url.path
            let name = path.hasPrefix(base + "/") && source.sideFolders.count == 1 ? String(path.dropFirst(base.count + 1)) : url.lastPathComponent
            return Provenance.Source(name: name, byteCount: storage.bytes.count, hash: storage.withUnsafeBytes { ContentHash.hexadecimal($0) })
        }
        // What a converted model came from, it still comes from.
        let earlier = imported.converted?.provenance
        return Provenance(
            sources: sources + (earlier?.sources ?? []), format: earlier?.format ?? source.format.rawValue,
            producer: imported.producer ?? earlier?.producer, opset: imported.opset ?? earlier?.opset, converterVersion: Self.version)
    }
}
