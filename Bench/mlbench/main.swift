import BenchmarkSuite
import CommandLineTools

Interruption.install()
Tool(
    name: "mlbench", version: "0.1.0", summary: "measures this project and its peers in the same run",
    commands: [runCommand, casesCommand, tableCommand, chartCommand, compareCommand, workerCommand]
).main()
