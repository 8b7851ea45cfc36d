import CommandLineTools
import Tensors

Interruption.install { AtomicFile.removeUnfinished() }
Tool(
    name: "mlconv", version: "0.1.0", summary: "turns ONNX and safetensors models into .graph files",
    commands: [convertCommand, checkCommand, diffCommand, operatorsCommand], fallback: "convert"
).main()
