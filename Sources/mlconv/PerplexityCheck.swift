import CommandLineTools
import Foundation
import GraphFile
import ModelConversion
import Tasks
import Tensors

/// What storing weights in another form does to a language model's predictions.
struct PerplexityCheck {
    let before: Perplexity
    let after: Perplexity

    /// The relative change; above 0 the model predicts worse.
    var change: Double { after.value / before.value - 1 }

    /// Measures both models on the same text.
    ///
    /// - Returns: nil where nothing was stored otherwise, or the model takes no text.
    /// - Throws: `TaskError` for a text that is too short, errors of the runtime.
    static func run(_ model: ConvertedModel, text: String) throws -> PerplexityCheck? {
        guard let original = model.unquantizedFile, model.description.task == .generation, model.tokenizer != nil else { return nil }
        let bar = ProgressBar("perplexity", total: 2000)
        defer { bar.finish() }
        func measure(_ file: GraphFile) throws -> Perplexity {
            let generator = TextGenerator(model: try LanguageModel(file, name: file.path))
            var shown = 0
            return try generator.perplexity(of: text) { share in
                let done = Int(share * 1000)
                bar.advance(by: done - shown)
                shown = done
            }
        }
        return PerplexityCheck(before: try measure(original), after: try measure(model.file))
    }

    /// What is measured on where nobody names a text: the beginning of Jane Austen's "Emma" (1815), in the public domain.
    static let sample = """
        Emma Woodhouse, handsome, clever, and rich, with a comfortable home and happy disposition, seemed to unite some of the best blessings of \
        existence; and had lived nearly twenty-one years in the world with very little to distress or vex her.

        She was the youngest of the two daughters of a most affectionate, indulgent father; and had, in consequence of her sister's marriage, \
        been mistress of his house from a very early period. Her mother had died too long ago for her to have more than an indistinct \
        remembrance of her caresses; and her place had been supplied by an excellent woman as governess, who had fallen little short of a mother \
        in affection.

        Sixteen years had Miss Taylor been in Mr. Woodhouse's family, less as a governess than a friend, very fond of both daughters, but \
        particularly of Emma. Between them it was more the intimacy of sisters. Even before Miss Taylor had ceased to hold the nominal office of \
        governess, the mildness of her temper had hardly allowed her to impose any restraint; and the shadow of authority being now long passed \
        away, they had been living together as friend and friend very mutually attached, and Emma doing just what she liked; highly esteeming \
        Miss Taylor's judgment, but directed chiefly by her own.

        The real evils, indeed, of Emma's situation were the power of having rather too much her own way, and a disposition to think a little \
        too well of herself; these were the disadvantages which threatened alloy to her many enjoyments. The danger, however, was at present so \
        unperceived, that they did not by any means rank as misfortunes with her.
        """
}
