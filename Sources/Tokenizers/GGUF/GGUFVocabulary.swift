/// The vocabulary of a GGUF file, as its metadata `tokenizer.ggml.*` has it. What is nil is not in the file; the default then follows
/// from the kind of vocabulary.
///
/// Source: the GGUF specification, "Tokenizer", and llama.cpp, whose result a tokenizer made of it has.
public struct GGUFVocabulary: Sendable {
    /// `tokenizer.ggml.model`: `gpt2` (byte-level BPE), `llama` (SentencePiece BPE), `bert` (WordPiece), `t5` (Unigram), `gemma4` (BPE).
    public var model: String
    /// `tokenizer.ggml.pre`: how byte-level BPE cuts a text.
    public var pre: String?
    /// `tokenizer.ggml.tokens`, in order of id, as UTF-8.
    public var tokens: [[UInt8]]
    /// `tokenizer.ggml.scores`: none, or one for each token.
    public var scores: [Float] = []
    /// `tokenizer.ggml.token_type`: none, or one for each token (see `TokenType`).
    public var types: [Int32] = []
    /// `tokenizer.ggml.merges`: two tokens and a space between, in order of rank.
    public var merges: [[UInt8]] = []
    /// `tokenizer.ggml.precompiled_charsmap`.
    public var charsmap: [UInt8] = []

    /// `tokenizer.ggml.bos_token_id`.
    public var bosID: Int?
    /// `tokenizer.ggml.eos_token_id`.
    public var eosID: Int?
    /// `tokenizer.ggml.eot_token_id`: ends a turn.
    public var eotID: Int?
    /// `tokenizer.ggml.eom_token_id`: ends a message.
    public var eomID: Int?
    /// `tokenizer.ggml.unknown_token_id`.
    public var unknownID: Int?
    /// `tokenizer.ggml.seperator_token_id` (spelled so).
    public var separatorID: Int?
    /// `tokenizer.ggml.padding_token_id`.
    public var paddingID: Int?
    /// `tokenizer.ggml.mask_token_id`.
    public var maskID: Int?

    /// `tokenizer.ggml.add_bos_token`.
    public var addsBOS: Bool?
    /// `tokenizer.ggml.add_eos_token`.
    public var addsEOS: Bool?
    /// `tokenizer.ggml.add_sep_token`.
    public var addsSeparator: Bool?
    /// `tokenizer.ggml.add_space_prefix`.
    public var addsSpacePrefix: Bool?
    /// `tokenizer.ggml.remove_extra_whitespaces`.
    public var removesExtraWhitespace: Bool?
    /// `tokenizer.ggml.normalizer.lowercase`.
    public var lowercases: Bool?
    /// `tokenizer.ggml.normalizer.strip_accents`.
    public var stripsAccents: Bool?

    /// `tokenizer.chat_template`.
    public var chatTemplate: String?
    /// `general.name` and `general.architecture`: some models are known to need white space stripped at special tokens.
    public var modelName: String?
    public var architecture: String?
    /// `<architecture>.context_length`.
    public var contextLength: Int?

    public init(model: String, tokens: [[UInt8]]) {
        self.model = model
        self.tokens = tokens
    }

    /// What a token is, as in `tokenizer.ggml.token_type`.
    public enum TokenType: UInt8, Sendable {
        case undefined, normal, unknown, control, userDefined, unused, byte
    }

    /// The ids that end a generation: those of the file, and tokens that are known by their text to end a turn.
    public var endOfGenerationIDs: [Int] {
        get throws { try GGUFTokenTypes(self).endOfGeneration }
    }
}

extension Tokenizer {
    /// The tokenizer of a GGUF file. It encodes as llama.cpp does with the same file.
    ///
    /// Throws `TokenizerError` when the vocabulary is damaged or of a kind that is not supported.
    public init(gguf vocabulary: GGUFVocabulary) throws {
        try self.init(compiled: TokenizerBytes(GGUFTokenizer(vocabulary).compile()))
    }
}
