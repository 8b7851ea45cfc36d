import CommandLineTools
import JSON
import Tasks

let classifyCommand = Command(
    name: "classify", summary: "sort texts into a model's labels", operands: "[TEXT ...]",
    discussion: """
        Each TEXT, or each line of standard input, is one text. Without -m the embedded sentiment model answers: negative, neutral or
        positive. Shown are the label, its probability and the text.
        With --json: {"text","label","confidence","scores":{label:probability}}, for pairs also "pair".
        """,
    options: [
        CommonOptions.model,
        CommandOption("top", argument: "N", help: "show the N most likely labels"),
        CommandOption("all", help: "show all labels"),
        CommandOption("pair", argument: "TEXT", help: "classify each text together with this one (models for sentence pairs)"),
        CommonOptions.json, CommonOptions.maximumLength, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: [
        "mlrun classify \"I love this\"",
        "mlrun classify --all --json < reviews.txt",
        "mlrun classify -m topics.graph --top 3 \"The bank raised its rates\"",
    ]
) { arguments in
    let top = try arguments.integer("top", in: 1...1_000_000)
    let url = try CommonOptions.modelURL(arguments, defaultTask: "classification")
    let classifier = try TextClassifier(contentsOf: url, options: CommonOptions.modelOptions(arguments))
    let pair = arguments.value("pair")
    let isMultiLabel = classifier.model.description.isMultiLabel
    var notice = TruncationNotice()
    try TextInput.forEachBatch(arguments) { texts in
        let answers = try pair.map { pair in try classifier.classify(pairs: texts.map { ($0, pair) }) } ?? classifier.classify(texts)
        for (text, answer) in zip(texts, answers) {
            notice.count(answer.truncatedTokenCount)
            if arguments.has("json") {
                // All labels, unless --top asks for fewer.
                let scores = answer.scores.prefix(top ?? answer.scores.count)
                var members = [JSONMember(key: "text", value: .string(text))]
                if let pair { members.append(JSONMember(key: "pair", value: .string(pair))) }
                members += [
                    JSONMember(key: "label", value: .string(answer.label)),
                    JSONMember(key: "confidence", value: .float(answer.confidence)),
                    JSONMember(key: "scores", value: .object(scores.map { JSONMember(key: $0.label, value: .float($0.score)) })),
                ]
                try StandardOutput.write(JSONValue.object(members).text + "\n")
                continue
            }
            let shown: [LabelScore]
            if arguments.has("all") {
                shown = answer.scores
            } else if let top {
                shown = Array(answer.scores.prefix(top))
            } else if isMultiLabel {
                // Each label is a decision of its own; where none holds the closest is shown.
                let chosen = answer.scores.filter { $0.score >= 0.5 }
                shown = chosen.isEmpty ? Array(answer.scores.prefix(1)) : chosen
            } else {
                shown = Array(answer.scores.prefix(1))
            }
            let scores = shown.map { "\($0.label)\t\(decimal($0.score))" }.joined(separator: "\t")
            try StandardOutput.write("\(scores)\t\(text)\n")
        }
    }
    notice.report(arguments)
}
