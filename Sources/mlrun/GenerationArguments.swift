import CommandLineTools
import JSON
import Tasks

/// The options of the commands that generate text.
enum GenerationArguments {
    static let context = CommandOption("context", argument: "N", help: "positions, prompt included (default: as the model says, up to 8192)")

    static let sampling = [
        CommandOption("max-tokens", argument: "N", help: "generate at most N tokens (default: as the model says, else 256)"),
        CommandOption("greedy", help: "always take the likeliest token"),
        CommandOption("temperature", argument: "T", help: "below 1 prefers likely tokens, above 1 evens the chances; 0 is greedy"),
        CommandOption("top-k", argument: "K", help: "only the K likeliest tokens; 0 for all"),
        CommandOption("top-p", argument: "P", help: "only the likeliest tokens that together reach probability P"),
        CommandOption("min-p", argument: "P", help: "only tokens at least P times as likely as the likeliest"),
        CommandOption("repetition-penalty", argument: "R", help: "makes tokens that occurred less likely; 1 for none"),
        CommandOption("seed", argument: "N", help: "equal seeds give equal texts"),
        CommandOption("stop", argument: "TEXT", help: "end before TEXT; may be given several times"),
    ]

    /// Reads the options, before any model is loaded; what comes back completes them with what a model's makers recommend.
    static func options(_ arguments: Arguments) throws -> (LanguageModel) -> GenerationOptions {
        var options = GenerationOptions()
        options.maximumTokens = try arguments.integer("max-tokens", in: 0...Int(Int32.max))
        options.stop = arguments.all("stop")
        if options.stop.contains("") { throw UsageError("--stop takes a text that is not empty") }
        let temperature = try arguments.number("temperature", in: 0...1000)
        let topK = try arguments.integer("top-k", in: 0...Int(Int32.max))
        let topP = try arguments.number("top-p", in: 0...1)
        let minP = try arguments.number("min-p", in: 0...1)
        let penalty = try arguments.number("repetition-penalty", in: 0...1000)
        let seed = try arguments.integer("seed", in: 0...Int.max)
        if topP == 0 { throw UsageError("--top-p takes a number above 0") }
        if penalty == 0 { throw UsageError("--repetition-penalty takes a number above 0") }
        let isShaped = temperature != nil || topK != nil || topP != nil || minP != nil
        let isGreedy = arguments.has("greedy")
        if isGreedy, isShaped {
            throw UsageError("--greedy takes the likeliest token, so --temperature, --top-k, --top-p and --min-p have no place beside it")
        }
        return { [options] model in
            var options = options
            var sampling = SamplingOptions(model.settings)
            // Who asks for a distribution wants to draw from it.
            if isShaped || seed != nil { sampling.isGreedy = false }
            if let temperature { sampling.temperature = Float(temperature) }
            if let topK { sampling.topK = topK }
            if let topP { sampling.topP = Float(topP) }
            if let minP { sampling.minP = Float(minP) }
            if let penalty { sampling.repetitionPenalty = Float(penalty) }
            if let seed { sampling.seed = UInt64(seed) }
            if isGreedy { sampling.isGreedy = true }
            options.sampling = sampling
            return options
        }
    }

    static func model(_ arguments: Arguments) throws -> LanguageModel {
        let url = try CommonOptions.modelURL(arguments, defaultTask: "text-generation")
        return try LanguageModel(
            contentsOf: url, threads: try arguments.integer("threads", in: 1...1024), contextLength: try arguments.integer("context", in: 1...1 << 24))
    }

    /// Two lines for people, on standard error.
    static func report(_ statistics: GenerationStatistics) {
        func rate(_ value: Double) -> String { decimal(Float(value), digits: 1) }
        let reused = statistics.reusedTokens > 0 ? " (\(statistics.reusedTokens) of them known)" : ""
        StandardError.write(
            "prompt: \(statistics.promptTokens) tokens\(reused), \(rate(statistics.promptRate)) tokens/s, first token after \(decimal(Float(statistics.promptSeconds * 1000), digits: 0)) ms\n"
                + "generated: \(statistics.generatedTokens) tokens, \(rate(statistics.generationRate)) tokens/s\n")
    }

    static func json(_ statistics: GenerationStatistics) -> JSONValue {
        .object([
            JSONMember(key: "prompt_tokens", value: .integer(statistics.promptTokens)),
            JSONMember(key: "reused_tokens", value: .integer(statistics.reusedTokens)),
            JSONMember(key: "prompt_seconds", value: .number(statistics.promptSeconds)),
            JSONMember(key: "generated_tokens", value: .integer(statistics.generatedTokens)),
            JSONMember(key: "generation_seconds", value: .number(statistics.generationSeconds)),
            JSONMember(key: "tokens_per_second", value: .number(statistics.generationRate)),
        ])
    }

    /// `{"id","text","logprob","top":[{"id","text","logprob"}]}`, without what is not known.
    static func json(_ token: TokenLogprob, _ model: LanguageModel) -> JSONValue {
        func head(_ id: Int, _ logprob: Float?) -> [JSONMember] {
            var members = [JSONMember(key: "id", value: .integer(id))]
            if let text = text(id, model) { members.append(JSONMember(key: "text", value: .string(text))) }
            if let logprob { members.append(JSONMember(key: "logprob", value: .float(logprob))) }
            return members
        }
        var members = head(token.id, token.logprob)
        if !token.top.isEmpty {
            members.append(JSONMember(key: "top", value: .array(token.top.map { .object(head($0.id, $0.logprob)) })))
        }
        return .object(members)
    }

    /// A token by itself, as text; nil without a tokenizer.
    static func text(_ id: Int, _ model: LanguageModel) -> String? {
        guard let tokenizer = model.tokenizer else { return nil }
        return (try? tokenizer.decode([id], skipSpecialTokens: false)) ?? tokenizer.token(of: id)
    }
}
