// swift-tools-version: 6.1
import PackageDescription

// The folder list is the architecture: Converters/ bring a model in, Graphs/ is the compiler, Sources/ runs and
// uses a graph, Bench/ measures it. Imports run one way only; docs/ARCHITECTURE.md has the order.

// Debian's libutf8proc.pc carries a flag that the package manager warns of, and the default paths suffice there.
#if os(Linux)
let utf8procPkgConfig: String? = nil
#else
let utf8procPkgConfig: String? = "libutf8proc"
#endif

let package = Package(
    name: "mlgraph",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Tensors", targets: ["Tensors"]),
        .library(name: "Tokenizers", targets: ["Tokenizers"]),
        .library(name: "ChatTemplates", targets: ["ChatTemplates"]),
        .library(name: "Tasks", targets: ["Tasks"]),
        .library(name: "Conversion", targets: ["ModelConversion"]),
        .executable(name: "mlconv", targets: ["mlconv"]),
        .executable(name: "mlrun", targets: ["mlrun"]),
        .executable(name: "mlbench", targets: ["mlbench"]),
    ],
    targets: [
        // Sources: numbers and C
        .target(name: "JSON", path: "Sources/JSON"),
        .target(name: "Tensors", dependencies: ["JSON"], path: "Sources/Tensors"),
        .target(name: "CKernels", path: "Sources/CKernels"),
        .target(name: "CWorkerPool", path: "Sources/CWorkerPool"),
        .target(
            name: "COpenBLAS", path: "Sources/COpenBLAS",
            linkerSettings: [
                .linkedLibrary("dl", .when(platforms: [.linux])),
                .linkedFramework("Accelerate", .when(platforms: [.macOS])),
            ]),
        .systemLibrary(
            name: "CUtf8proc", path: "Sources/CUtf8proc", pkgConfig: utf8procPkgConfig,
            providers: [.apt(["libutf8proc-dev"]), .brew(["utf8proc"])]),
        .systemLibrary(
            name: "CPCRE2", path: "Sources/CPCRE2", pkgConfig: "libpcre2-8",
            providers: [.apt(["libpcre2-dev"]), .brew(["pcre2"])]),
        .systemLibrary(
            name: "CProtobufC", path: "Sources/CProtobufC", pkgConfig: "libprotobuf-c",
            providers: [.apt(["libprotobuf-c-dev"]), .brew(["protobuf-c"])]),
        .systemLibrary(
            name: "CEditLine", path: "Sources/CEditLine", pkgConfig: "libedit",
            providers: [.apt(["libedit-dev"]), .brew(["libedit"])]),
        .systemLibrary(
            name: "CXXHash", path: "Sources/CXXHash", pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),

        // Graphs: the compiler
        .target(name: "GraphIR", dependencies: ["Tensors", "JSON"], path: "Graphs/GraphIR"),
        .target(name: "Operators", dependencies: ["GraphIR", "Tensors"], path: "Graphs/Operators"),
        .target(name: "Optimizer", dependencies: ["Operators", "GraphIR", "Tensors"], path: "Graphs/Optimizer"),
        .target(
            name: "GraphFile", dependencies: ["Operators", "GraphIR", "Tensors", "JSON", "CXXHash"], path: "Graphs/GraphFile"),

        // Sources: text to ids
        .target(
            name: "Tokenizers", dependencies: ["CUtf8proc", "CPCRE2"], path: "Sources/Tokenizers",
            exclude: ["Unicode/generate_tables.py"]),
        .target(name: "ChatTemplates", dependencies: ["JSON"], path: "Sources/ChatTemplates"),

        // Converters: a model file becomes a graph
        .target(name: "CONNX", dependencies: ["CProtobufC"], path: "Converters/CONNX"),
        .target(
            name: "ONNXConverter", dependencies: ["CONNX", "Operators", "GraphIR", "Tensors"],
            path: "Converters/ONNXConverter"),
        .target(
            name: "Architectures", dependencies: ["Operators", "GraphIR", "Tensors", "JSON"],
            path: "Converters/Architectures"),
        .target(
            name: "SafetensorsConverter", dependencies: ["Architectures", "Operators", "GraphIR", "Tensors", "JSON"],
            path: "Converters/SafetensorsConverter"),
        .target(
            name: "GGUFConverter", dependencies: ["Architectures", "Operators", "GraphIR", "Tensors", "JSON"],
            path: "Converters/GGUFConverter"),
        .target(
            name: "ModelConversion",
            dependencies: [
                "ONNXConverter", "SafetensorsConverter", "GGUFConverter", "Architectures", "Optimizer", "GraphFile", "Tokenizers", "ChatTemplates",
                "JSON",
            ], path: "Converters/ModelConversion"),

        // Sources: run a graph, use it
        .target(
            name: "Runtime", dependencies: ["CKernels", "COpenBLAS", "CWorkerPool", "Operators", "GraphIR", "Tensors"],
            path: "Sources/Runtime"),
        .target(
            name: "Tasks",
            dependencies: ["Runtime", "GraphFile", "Tokenizers", "ChatTemplates", "Optimizer", "GraphIR", "Tensors", "JSON"],
            path: "Sources/Tasks"),

        // Tools
        .target(name: "CCommandLine", path: "Sources/CCommandLine"),
        .target(name: "CommandLineTools", dependencies: ["CCommandLine", "JSON"], path: "Sources/CommandLineTools"),
        .executableTarget(
            name: "mlconv", dependencies: ["ModelConversion", "ONNXConverter", "Tasks", "CommandLineTools"], path: "Sources/mlconv"),
        .executableTarget(
            name: "mlrun", dependencies: ["Tasks", "CommandLineTools", "CEditLine"], path: "Sources/mlrun"),

        // Bench: this project and its peers in the same run
        .target(name: "BenchmarkSuite", dependencies: ["Runtime", "CommandLineTools", "JSON"], path: "Bench/Suite"),
        .executableTarget(
            name: "mlbench", dependencies: ["BenchmarkSuite", "Tasks", "CommandLineTools"], path: "Bench/mlbench"),

        // Tests
        .target(name: "TestSupport", dependencies: ["Tensors", "JSON"], path: "Tests/TestSupport"),
        .testTarget(name: "TensorsTests", dependencies: ["Tensors", "TestSupport"]),
        .testTarget(name: "KernelTests", dependencies: ["CKernels", "COpenBLAS"]),
        .testTarget(
            name: "TokenizersTests", dependencies: ["Tokenizers", "TestSupport"], exclude: ["fetch_tokenizers.py"]),
        .testTarget(name: "ChatTemplateTests", dependencies: ["ChatTemplates", "TestSupport"]),
        .testTarget(name: "GraphTests", dependencies: ["GraphFile", "Optimizer", "Operators", "TestSupport"]),
        .testTarget(
            name: "ConverterTests",
            dependencies: [
                "ONNXConverter", "SafetensorsConverter", "GGUFConverter", "ModelConversion", "Runtime", "Optimizer", "TestSupport",
            ]),
        .testTarget(name: "RuntimeTests", dependencies: ["Runtime", "Optimizer", "TestSupport"]),
        .testTarget(name: "GenerationTests", dependencies: ["Tasks", "TestSupport"]),
        .testTarget(
            name: "ConformanceTests",
            dependencies: ["ModelConversion", "Tasks", "TestSupport"], path: "Tests/Conformance"),
        .testTarget(name: "DocumentationTests", dependencies: ["Tasks", "ONNXConverter", "GGUFConverter", "TestSupport"]),
        .testTarget(name: "BenchTests", dependencies: ["BenchmarkSuite", "TestSupport", "mlbench"]),
        .testTarget(name: "ToolTests", dependencies: ["CommandLineTools", "Tensors", "TestSupport", "mlconv", "mlrun"]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
