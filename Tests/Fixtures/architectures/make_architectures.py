"""Tiny encoder checkpoints with random weights, and what the reference implementation answers for them.

    python make_architectures.py          (torch, transformers, safetensors; writes into this folder)

One folder per architecture and head: config.json, model.safetensors, cases.safetensors with `caseK.<input>` and
`caseK.out.<output>` (float32, eager attention). Every parameter carries noise, so a forgotten bias or norm shows.
Positions whose attention_mask is 0 are compared too: the reference defines them all.
"""

import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
HIDDEN, HEADS, LAYERS, INNER, VOCABULARY = 24, 3, 2, 40, 64

COMMON = dict(
    vocab_size=VOCABULARY, hidden_size=HIDDEN, num_attention_heads=HEADS, num_hidden_layers=LAYERS,
    intermediate_size=INNER, max_position_embeddings=40)
DISTIL = dict(
    vocab_size=VOCABULARY, dim=HIDDEN, n_heads=HEADS, n_layers=LAYERS, hidden_dim=INNER, max_position_embeddings=40)
LABELS = dict(num_labels=5)

# name: (class, configuration)
MODELS = {
    "albert-encoder": ("AlbertModel", dict(COMMON, embedding_size=16, num_hidden_layers=5, num_hidden_groups=2)),
    "albert-sequence-classification": ("AlbertForSequenceClassification", dict(COMMON, embedding_size=16, **LABELS)),
    "albert-token-classification": ("AlbertForTokenClassification", dict(COMMON, embedding_size=16, **LABELS)),
    "albert-masked-lm": ("AlbertForMaskedLM", dict(COMMON, embedding_size=16)),
    "bert-masked-lm-untied": ("BertForMaskedLM", dict(COMMON, tie_word_embeddings=False, hidden_act="silu")),
    "bert-pretraining": ("BertForPreTraining", dict(COMMON, hidden_act="relu", layer_norm_eps=1e-3)),
    "camembert-encoder": ("CamembertModel", dict(COMMON, hidden_act="gelu_pytorch_tanh")),
    "camembert-token-classification": ("CamembertForTokenClassification", dict(COMMON, type_vocab_size=1, **LABELS)),
    "distilbert-encoder": ("DistilBertModel", dict(DISTIL, activation="tanh")),
    "distilbert-token-classification": ("DistilBertForTokenClassification", dict(DISTIL, **LABELS)),
    "distilbert-masked-lm": ("DistilBertForMaskedLM", dict(DISTIL)),
    "electra-encoder": ("ElectraModel", dict(COMMON, embedding_size=16)),
    "electra-sequence-classification": ("ElectraForSequenceClassification", dict(COMMON, embedding_size=HIDDEN, **LABELS)),
    "electra-token-classification": ("ElectraForTokenClassification", dict(COMMON, embedding_size=16, **LABELS)),
    "electra-masked-lm": ("ElectraForMaskedLM", dict(COMMON, embedding_size=16)),
    # More positions than the 128 tokens at which the distance of two tokens stops to count.
    "mpnet-long": ("MPNetModel", dict(COMMON, max_position_embeddings=152)),
    "mpnet-sequence-classification": ("MPNetForSequenceClassification", dict(COMMON, **LABELS)),
    "mpnet-token-classification": ("MPNetForTokenClassification", dict(COMMON, **LABELS)),
    "mpnet-masked-lm": ("MPNetForMaskedLM", dict(COMMON)),
    # Padding with another number than usual: positions follow it.
    "roberta-token-classification": ("RobertaForTokenClassification", dict(COMMON, pad_token_id=3, **LABELS)),
    "roberta-masked-lm": ("RobertaForMaskedLM", dict(COMMON)),
    "xlm-roberta-sequence-classification": (
        "XLMRobertaForSequenceClassification", dict(COMMON, problem_type="multi_label_classification", **LABELS)),
}


def inputs(generator, rows, length, pad, types):
    """Rows of the given numbers of tokens: positive right-padded, negative left-padded."""
    ids = torch.randint(4, VOCABULARY, (len(rows), length), generator=generator)
    mask = torch.ones_like(ids)
    for row, count in enumerate(rows):
        hidden = slice(count, None) if count >= 0 else slice(None, length + count)
        mask[row, hidden] = 0
        ids[row, hidden] = pad
    result = {"input_ids": ids, "attention_mask": mask}
    if types:
        result["token_type_ids"] = torch.randint(0, types, ids.shape, generator=generator)
    return result


def main():
    for name, (class_name, values) in MODELS.items():
        generator = torch.Generator().manual_seed(sum(name.encode()))
        torch.manual_seed(sum(name.encode()))
        model_class = getattr(transformers, class_name)
        model = model_class(model_class.config_class(**values, attn_implementation="eager")).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)

        pad = model.config.pad_token_id
        types = getattr(model.config, "type_vocab_size", 0)
        shapes = [([7], 7), ([6, 3, -4], 6), ([5, 0], 5), ([1], 1)]
        if name == "mpnet-long":
            shapes = [([150], 150), ([70, 33], 70)]
        cases = {}
        for number, (rows, length) in enumerate(shapes):
            given = inputs(generator, rows, length, pad, types)
            with torch.no_grad():
                answer = model(**given)
            for key, tensor in given.items():
                cases[f"case{number}.{key}"] = tensor.contiguous()
            for key, tensor in answer.items():
                key = "logits" if key == "prediction_logits" else key
                if key in ("logits", "last_hidden_state", "pooler_output"):
                    cases[f"case{number}.out.{key}"] = tensor.contiguous()
        # What a caller gets who gives the tokens alone.
        with torch.no_grad():
            answer = model(cases["case0.input_ids"])
        for key, tensor in answer.items():
            key = "logits" if key == "prediction_logits" else key
            if key in ("logits", "last_hidden_state", "pooler_output"):
                cases[f"case0.tokens_only.{key}"] = tensor.contiguous()
        save_file(cases, folder / "cases.safetensors")


main()
