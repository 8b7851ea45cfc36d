import CommandLineTools
import JSON
import Tasks

let similarityCommand = Command(
    name: "similarity", summary: "how close the meanings of two texts are", operands: "TEXT TEXT",
    discussion: """
        Prints the cosine of the two vectors: 1 for the same meaning, about 0 for unrelated texts.
        With --json: {"a","b","similarity"}.
        """,
    options: [
        CommonOptions.model, CommonOptions.json, CommonOptions.maximumLength, CommonOptions.threads, CommonOptions.quiet,
    ],
    examples: ["mlrun similarity \"a cat\" \"a kitten\""]
) { arguments in
    guard arguments.operands.count == 2 else { throw UsageError("similarity takes two texts, not \(arguments.operands.count)") }
    let url = try CommonOptions.modelURL(arguments, defaultTask: "embedding")
    let embedder = try TextEmbedder(contentsOf: url, options: CommonOptions.modelOptions(arguments))
    let embeddings = try embedder.embed(arguments.operands)
    let value = cosineSimilarity(embeddings[0].vector, embeddings[1].vector)
    var notice = TruncationNotice()
    for embedding in embeddings { notice.count(embedding.truncatedTokenCount) }
    if arguments.has("json") {
        let answer: JSONValue = ["a": .string(arguments.operands[0]), "b": .string(arguments.operands[1]), "similarity": .float(value)]
        try StandardOutput.write(answer.text + "\n")
    } else {
        try StandardOutput.write(decimal(value) + "\n")
    }
    notice.report(arguments)
}
