/// How byte-level BPE cuts a text into words, by the name in `tokenizer.ggml.pre`: the patterns are applied one after the
/// other, each to the pieces that the ones before left; what a pattern does not match becomes a piece too.
struct GGUFWordPatterns: Sendable {
    var patterns: [String]
    /// A word that is a token is not merged.
    var ignoresMerges = false
    var addsBOS = false
    var addsSeparator = false
    /// Decoding removes the space before some punctuation marks.
    var cleansSpaces = true
    /// Tokens are text with marks for spaces, not visible letters for bytes.
    var isMarkedText = false

    static let gpt2 = #"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"#

    private static let contractions = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"

    /// The family of patterns that Llama 3 and Qwen began; they differ in how many digits are one piece.
    private static func words(digits: String, contractions: Bool = true) -> String {
        (contractions ? Self.contractions + "|" : "")
            + #"[^\r\n\p{L}\p{N}]?\p{L}+|\#(digits)| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#
    }

    /// The family that starts a new piece at upper case. (Case is told apart within ASCII only, as in llama.cpp.)
    private static func casedWords(letter: String, ending: String, digits: String) -> String {
        let upper = "(?:(?=[\(letter)])[^a-z])"
        let lower = "(?:(?=[\(letter)])[^A-Z])"
        return #"[^\r\n\p{L}\p{N}]?\#(upper)*\#(lower)+\#(ending)|[^\r\n\p{L}\p{N}]?\#(upper)+\#(lower)*\#(ending)|"#
            + #"\#(digits)| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"#
    }

    private static let kana = "[\u{4E00}-\u{9FA5}\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+"
    private static let marksAndWords =
        ##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"##
        + #"\s*[\r\n]+|\s+(?!\S)|\s+"#
    private static let asianSentences = " ?[^(\\s|.,!?\u{2026}\u{3002}\u{FF0C}\u{3001}\u{964}\u{6D4}\u{60C}]+"
    private static let ideographs = "[\u{4E00}-\u{9FA5}\u{800}-\u{4E00}\u{AC00}-\u{D7FF}]+"
    /// Letters with case, of the scripts that have it.
    private static let casedLetters = """
        A-Za-z\u{B5}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{1BA}\u{1BC}-\u{1BF}\u{1C4}-\u{293}\u{295}-\u{2AF}\u{370}-\u{373}\
        \u{376}\u{377}\u{37B}-\u{37D}\u{37F}\u{386}\u{388}-\u{38A}\u{38C}\u{38E}-\u{3A1}\u{3A3}-\u{3F5}\u{3F7}-\u{481}\
        \u{48A}-\u{52F}\u{531}-\u{556}\u{10A0}-\u{10C5}\u{13A0}-\u{13F5}\u{13F8}-\u{13FD}\u{1C90}-\u{1CBA}\u{1CBD}-\
        \u{1CBF}\u{1D00}-\u{1D2B}\u{1D6B}-\u{1D77}\u{1D79}-\u{1D9A}\u{1E00}-\u{1F15}\u{1F18}-\u{1F1D}\u{1F20}-\u{1F45}\
        \u{1F48}-\u{1F4D}\u{1F50}-\u{1F57}\u{1F59}\u{1F5B}\u{1F5D}\u{1F5F}-\u{1F7D}\u{1F80}-\u{1FB4}\u{1FB6}-\u{1FBC}\
        \u{1FBE}\u{1FC2}-\u{1FC4}\u{1FC6}-\u{1FCC}\u{1FD0}-\u{1FD3}\u{1FD6}-\u{1FDB}\u{1FE0}-\u{1FEC}\u{1FF2}-\u{1FF4}\
        \u{1FF6}-\u{1FFC}\u{2102}\u{2107}\u{210A}-\u{2113}\u{2115}\u{2119}-\u{211D}\u{2124}\u{2126}\u{2128}\u{212A}-\
        \u{212D}\u{212F}-\u{2134}\u{2139}\u{213C}-\u{213F}\u{2145}-\u{2149}\u{214E}\u{2183}\u{2184}\u{2C00}-\u{2C7B}\
        \u{2C7E}-\u{2CE4}\u{2CEB}-\u{2CEE}\u{2CF2}\u{2CF3}\u{A640}-\u{A66D}\u{A680}-\u{A69B}\u{A722}-\u{A76F}\u{A771}-\
        \u{A787}\u{A78B}-\u{A78E}\u{AB70}-\u{ABBF}\u{FB00}-\u{FB06}\u{FB13}-\u{FB17}\u{FF21}-\u{FF3A}\u{FF41}-\u{FF5A}\
        \u{10400}-\u{1044F}\u{104B0}-\u{104D3}\u{104D8}-\u{104FB}\u{10C80}-\u{10CB2}\u{10CC0}-\u{10CF2}\u{118A0}-\
        \u{118DF}\u{1E900}-\u{1E943}
        """

    /// The entry of a name, nil for a name that is not known. A file without a name has the entry `default`.
    static func named(_ name: String) -> GGUFWordPatterns? {
        switch name {
        case "default":
            GGUFWordPatterns(patterns: [#"[\p{P}\$\+<=>\^~\|]+"#, gpt2, #"\p{N}+"#, "[0-9][0-9][0-9]"])
        case "gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum", "modern-bert", "mpt",
            "olmo", "jais", "exaone4":
            GGUFWordPatterns(patterns: [gpt2])
        case "trillion", "granite-docling":
            GGUFWordPatterns(patterns: [gpt2], cleansSpaces: false)
        case "jina-v1-en", "jina-v2-code", "roberta-bpe":
            GGUFWordPatterns(patterns: [gpt2], addsSeparator: true)
        case "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2":
            GGUFWordPatterns(patterns: [#"\p{N}"#, gpt2])
        case "command-r", "smollm":
            GGUFWordPatterns(patterns: [#"\p{N}"#, gpt2], cleansSpaces: false)
        case "falcon":
            GGUFWordPatterns(patterns: [#"[\p{P}\$\+<=>\^~\|`]+"#, gpt2, "[0-9][0-9][0-9]"])
        case "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}{1,3}"#)], ignoresMerges: true, addsBOS: true)
        case "dbrx", "smaug-bpe", "chatglm-bpe":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}{1,3}"#)])
        case "glm4", "glm5":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}{1,3}"#)], ignoresMerges: true)
        case "minicpm5":
            GGUFWordPatterns(patterns: [#"\p{N}{1,3}"#, words(digits: #"\p{N}+"#)], ignoresMerges: true)
        case "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "solar-open", "grok-2":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}"#)], cleansSpaces: false)
        case "stablelm2", "megrez":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}"#)])
        case "ufakzeka":
            GGUFWordPatterns(patterns: [words(digits: #"\p{N}"#, contractions: false)], cleansSpaces: false)
        case "laguna":
            GGUFWordPatterns(patterns: [#"[^\n]+|[\n]+"#, words(digits: #"\p{N}"#)], cleansSpaces: false)
        case "qwen35":
            GGUFWordPatterns(
                patterns: [
                    contractions
                        + #"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"#
                ], cleansSpaces: false)
        case "bailingmoe", "bailingmoe2", "llada-moe":
            GGUFWordPatterns(
                patterns: [contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"#],
                cleansSpaces: false)
        case "seed-coder":
            GGUFWordPatterns(
                patterns: [contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"#],
                cleansSpaces: false)
        case "exaone-moe":
            GGUFWordPatterns(
                patterns: [
                    contractions + #"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"#
                        + #"\s*[\r\n]|\s+(?!\S)|\s+"#
                ])
        case "jais-2":
            GGUFWordPatterns(
                patterns: [
                    contractions + #"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"#
                        + [512, 256, 128, 64, 32, 16, 8, 4].map { #"\s{\#($0)}(?!\S)|"# }.joined() + #"\s{1,2}(?!\S)|\s{1}"#
                ])
        case "gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2":
            GGUFWordPatterns(
                patterns: [casedWords(letter: #"\p{L}"#, ending: contractions + "?", digits: #"\p{N}{1,3}"#)], cleansSpaces: false)
        case "granite-embed-multi-97m":
            GGUFWordPatterns(
                patterns: [casedWords(letter: #"\p{L}\p{M}"#, ending: contractions + "?", digits: #"\p{N}{1,3}"#)],
                ignoresMerges: true, cleansSpaces: false)
        case "tekken":
            GGUFWordPatterns(
                patterns: [casedWords(letter: #"\p{L}"#, ending: "", digits: #"\p{N}"#)], ignoresMerges: true, addsBOS: true,
                cleansSpaces: false)
        case "deepseek-llm":
            GGUFWordPatterns(
                patterns: [
                    #"[\r\n]"#, #"\s?["# + casedLetters + "]+", "\\s?[!-/:-~\u{FF01}-\u{FF0F}\u{FF1A}-\u{FF5E}\u{2018}-\u{201F}\u{3000}-\u{3002}]+",
                    #"\s+$"#, ideographs, #"\p{N}+"#,
                ], cleansSpaces: false)
        case "deepseek-coder":
            GGUFWordPatterns(
                patterns: [#"[\r\n]"#, #"\s?\p{L}+"#, #"\s?\p{P}+"#, ideographs, #"\p{N}"#], cleansSpaces: false)
        case "deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4":
            GGUFWordPatterns(patterns: [#"\p{N}{1,3}"#, kana, marksAndWords], cleansSpaces: false)
        case "poro-chat":
            GGUFWordPatterns(patterns: [asianSentences], cleansSpaces: false)
        case "bloom", "gpt3-finnish":
            GGUFWordPatterns(patterns: [asianSentences])
        case "viking":
            GGUFWordPatterns(patterns: [asianSentences, #"\p{N}"#], cleansSpaces: false)
        case "gemma4", "granite-embed-multi-311m":
            GGUFWordPatterns(patterns: [#"[^\n]+|[\n]+"#], isMarkedText: true)
        case "sarvam-moe":
            GGUFWordPatterns(patterns: [#"[^\n]+|[\n]+"#], cleansSpaces: false, isMarkedText: true)
        default: nil
        }
    }
}
