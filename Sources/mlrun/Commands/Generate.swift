import CommandLineTools
import JSON
import Tasks

let generateCommand = Command(
    name: "generate", summary: "continue a text", operands: "[PROMPT ...]",
    discussion: """
        Each PROMPT, or each line of standard input, is continued; the text appears as it is made. Options that are not given are as the
        model's makers recommend. Models without a tokenizer take --ids and answer with --json.
        With --json: {"prompt","text","ids","finish_reason","seed"}, with --logprobs also "tokens" as 'score' has them, with --stats
        "statistics". The finish reason is stop, length or context. The ids leave out the end token.
        """,
    options: [CommonOptions.model] + GenerationArguments.sampling + [
        CommandOption("ids", argument: "N,N,...", help: "token ids instead of a text"),
        CommandOption("echo", help: "show the prompt before its continuation"),
        CommandOption("ignore-end", help: "go on behind the model's end token"),
        CommandOption("logprobs", argument: "N", help: "with --json: the log-probability of each token and of the N likeliest ones"),
        CommandOption("stats", help: "show tokens per second and the time to the first token"),
        GenerationArguments.context, CommonOptions.json, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: [
        "mlrun generate \"Once upon a time\"",
        "mlrun generate --temperature 0.7 --seed 1 --max-tokens 50 --stop $'\\n' \"The sea was\"",
        "mlrun generate -m tiny.graph --ids 5,17,9 --max-tokens 12 --greedy --json",
    ]
) { arguments in
    let ids = try arguments.integers("ids", in: 0...Int(Int32.max))
    if ids != nil, !arguments.operands.isEmpty { throw UsageError("give a prompt or --ids, not both") }
    let logprobs = try arguments.integer("logprobs", in: 0...1000)
    if logprobs != nil, !arguments.has("json") { throw UsageError("--logprobs goes with --json") }
    let complete = try GenerationArguments.options(arguments)
    let model = try GenerationArguments.model(arguments)
    var options = complete(model)
    options.logprobs = logprobs
    options.ignoresEndTokens = arguments.has("ignore-end")
    let generator = TextGenerator(model: model)
    // One sequence for all prompts: what they begin with in common is computed once.
    let sequence = try model.makeSequence()

    func answer(_ prompt: String?, _ ids: [Int]) throws {
        let isJSON = arguments.has("json")
        if !isJSON {
            guard model.tokenizer != nil else {
                throw CommandError("the model holds no tokenizer, so there is no text to show; add --json to get token ids")
            }
            if arguments.has("echo"), let prompt { try StandardOutput.write(prompt) }
        }
        let result = try sequence.generate(ids, options: options) { piece in
            guard !isJSON, !piece.text.isEmpty else { return }
            try StandardOutput.write(piece.text)
            try StandardOutput.flush()
        }
        if isJSON {
            var members: [JSONMember] = []
            if let prompt { members.append(JSONMember(key: "prompt", value: .string(prompt))) }
            if model.tokenizer != nil { members.append(JSONMember(key: "text", value: .string(result.text))) }
            members += [
                JSONMember(key: "ids", value: .array(result.ids.map { .integer($0) })),
                JSONMember(key: "finish_reason", value: .string(result.finishReason.rawValue)),
            ]
            if options.sampling?.isGreedy == false { members.append(JSONMember(key: "seed", value: .integer(Int(truncatingIfNeeded: result.seed)))) }
            if logprobs != nil {
                members.append(JSONMember(key: "tokens", value: .array(result.logprobs.map { GenerationArguments.json($0, model) })))
            }
            if arguments.has("stats") { members.append(JSONMember(key: "statistics", value: GenerationArguments.json(result.statistics))) }
            try StandardOutput.write(JSONValue.object(members).text + "\n")
        } else {
            try StandardOutput.write("\n")
        }
        try StandardOutput.flush()
        if arguments.has("stats"), !isJSON { GenerationArguments.report(result.statistics) }
        if result.finishReason == .context, !arguments.has("quiet") {
            StandardError.write("mlrun: the text ends here because the context of \(model.contextLength) tokens is full\n")
        }
    }

    if let ids { return try answer(nil, ids) }
    try TextInput.forEachBatch(arguments) { prompts in
        for prompt in prompts { try answer(prompt, generator.encode(prompt)) }
    }
}
