import CommandLineTools
import Tensors

Interruption.install { AtomicFile.removeUnfinished() }
Tool(
    name: "mlrun", version: "0.1.0",
    summary: "text in, answers out: classification, embedding and search with .graph models",
    commands: [
        classifyCommand,
        embedCommand,
        similarityCommand,
        searchCommand,
        runCommand,
        inspectCommand,
        tokenizeCommand,
        modelsCommand,
        doctorCommand,
    ]
).main()
