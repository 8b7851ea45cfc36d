/// All cases of the suite. Inputs are pseudo-random with fixed seeds: every contestant and every run gets the same.
public enum CaseList {
    public static let all: [BenchmarkCase] = encoders + embedding + starts + generation + tokenizers

    private static var encoders: [BenchmarkCase] {
        let quick: Set = ["minilm-1x16", "minilm-1x128", "bert-base-1x128"]
        let shapes: [(model: String, shape: String, lengths: [Int])] = [
            ("minilm", "1x16", [16]), ("minilm", "1x128", [128]), ("minilm", "32x128", Array(repeating: 128, count: 32)),
            ("minilm", "mix32", mixedLengths), ("bert-base", "1x32", [32]), ("bert-base", "1x128", [128]), ("bert-base", "1x512", [512]),
            ("bert-base", "8x128", Array(repeating: 128, count: 8)), ("distilbert", "1x128", [128]),
        ]
        return [.f32, .int8].flatMap { (precision: BenchmarkCase.Precision) in
            shapes.map { model, shape, lengths in
                BenchmarkCase(model, shape, .encode, precision, .rows(sentences(lengths)), isQuick: quick.contains("\(model)-\(shape)"))
            }
        }
    }

    /// What a program that embeds text does, the tokenizer included.
    private static var embedding: [BenchmarkCase] { [BenchmarkCase("minilm", "lines256", .embed, .f32, .lines(256))] }

    private static var starts: [BenchmarkCase] {
        let prompt = BenchmarkCase.Work.prompt(tokens(32, vocabulary: 0..<49_000), newTokens: 1)
        return [
            BenchmarkCase("minilm", "start", .start, .f32, .rows(sentences([16]))),
            BenchmarkCase("bert-base", "start", .start, .f32, .rows(sentences([128]))),
            BenchmarkCase("gpt2", "start", .start, .f32, prompt), BenchmarkCase("gpt2", "start", .start, .int8, prompt),
            BenchmarkCase("smollm2", "start", .start, .int4, prompt),
        ]
    }

    private static var generation: [BenchmarkCase] {
        func cases(_ model: String, _ precision: BenchmarkCase.Precision, quick: Set<String>) -> [BenchmarkCase] {
            [("prompt128", BenchmarkCase.Kind.prompt, 128, 1), ("prompt512", .prompt, 512, 1), ("decode128", .decode, 32, 128)].map {
                shape, kind, length, count in
                // Ids that every vocabulary of the suite has, and no control tokens at its start.
                BenchmarkCase(
                    model, shape, kind, precision, .prompt(tokens(length, vocabulary: 100..<49_000), newTokens: count), isQuick: quick.contains(shape))
            }
        }
        return cases("gpt2", .f32, quick: ["prompt128"]) + cases("gpt2", .int8, quick: ["decode128"]) + cases("gpt2", .int4, quick: [])
            + cases("smollm2", .int4, quick: ["decode128"])
    }

    private static var tokenizers: [BenchmarkCase] {
        ["wordpiece", "bpe"].map { BenchmarkCase($0, "text", .tokenize, nil, .lines(10_000), isQuick: true) }
    }

    /// 32 lengths from 8 to 128.
    static let mixedLengths: [Int] = {
        var random = SplitMix64(seed: 32)
        return (0..<32).map { _ in 8 + Int(random.next() % 121) }
    }()

    /// Rows of BERT ids, `[CLS]` and `[SEP]` included.
    static func sentences(_ lengths: [Int]) -> [[Int]] {
        lengths.enumerated().map { index, length in
            [101] + tokens(length - 2, vocabulary: 2000..<28_000, seed: UInt64(index)) + [102]
        }
    }

    static func tokens(_ count: Int, vocabulary: Range<Int>, seed: UInt64 = 7) -> [Int] {
        var random = SplitMix64(seed: seed)
        return (0..<max(count, 0)).map { _ in vocabulary.lowerBound + Int(random.next() % UInt64(vocabulary.count)) }
    }
}

/// The generator of Steele, Lea and Flood (2014).
struct SplitMix64 {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
