import CommandLineTools
import Tensors

Interruption.install { AtomicFile.removeUnfinished() }
Tool(
    name: "mlrun", version: "0.1.0",
    summary: "text in, answers out: generation, classification, embedding and search with .graph models",
    commands: [
        generateCommand,
        chatCommand,
        classifyCommand,
        embedCommand,
        similarityCommand,
        searchCommand,
        scoreCommand,
        perplexityCommand,
        runCommand,
        inspectCommand,
        tokenizeCommand,
        modelsCommand,
        doctorCommand,
    ]
).main()
