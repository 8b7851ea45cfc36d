"""Small random language models as GGUF files, and what transformers computes with the same weights in float32.

    pip install gguf==0.19.0 torch transformers==5.24.0 safetensors
    python make_gguf.py

NAME.gguf is written by the gguf package with the tensor names, orders and metadata of llama.cpp's convert_hf_to_gguf.py; its blocks are what the
package quantises. references.safetensors holds for each model NAME.ids, NAME.mask (one row padded on the left) and NAME.logits, computed by the
model of transformers with the dequantised weights. Where transformers reads a GGUF file of the architecture itself, this script checks that its
reading gives the same logits.
"""
import pathlib
import tempfile

import numpy as np
import torch
from gguf import MODEL_ARCH, GGMLQuantizationType as Type, GGUFWriter, TokenType, get_tensor_name_map
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 288
references = {}


def random_model(config, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_norm = "norm" in name or ".ln_" in name
            is_centred = not is_norm or name.endswith("bias") or "gemma" in config.model_type
            scale = 0.3 if is_norm else 0.4 if "embed" in name or "wte" in name else 0.15
            parameter.copy_(torch.randn(parameter.shape) * scale + (0 if is_centred else 1))
    return model


def permuted(weight, heads):
    """The order of rows in which the pairs of a rotation stand side by side."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def make(name, config, architecture, types, metadata, extra=(), is_readable=True):
    """types: pairs of a part of a tensor's name in the file and its type; the first that fits counts, vectors are F32."""
    model = random_model(config, seed=len(references) + 1)
    writer = GGUFWriter(f"{name}.gguf", architecture)
    for key, value in metadata:
        getattr(writer, key)(value)
    names = get_tensor_name_map(next(a for a in MODEL_ARCH if a.name.lower() == architecture), config.num_hidden_layers)
    heads = config.num_attention_heads
    state = model.state_dict()
    tied = config.tie_word_embeddings
    for source, parameter in state.items():
        stem, kind = source.rsplit(".", 1)
        if tied and stem == "lm_head":
            continue
        target = names.get_name(stem)
        if target is None:
            raise SystemExit(f"{name}: no name for {source}")
        target = f"{target}.{kind}"
        weight = parameter.numpy().astype(np.float32)
        back = lambda w: w
        if architecture == "llama" and (".attn_q." in target or ".attn_k." in target):
            count = heads if ".attn_q." in target else config.num_key_value_heads
            weight = permuted(weight, count)
            inverse = np.argsort(permuted(np.arange(len(weight)), count))
            back = lambda w, inverse=inverse: w[inverse]
        if architecture == "gpt2" and weight.ndim == 2 and ".blk" in f".{target}":
            weight, back = weight.T, lambda w: w.T
        if architecture == "gptneox" and "attn_qkv" in target:
            size = weight.shape[0] // heads // 3
            order = np.arange(len(weight)).reshape(heads, 3, size).swapaxes(0, 1).reshape(-1)
            weight = weight[order]
            inverse = np.argsort(order)
            back = lambda w, inverse=inverse: w[inverse]
        if architecture.startswith("gemma") and target.endswith("norm.weight"):
            weight, back = weight + 1, lambda w: w - 1
        weight = np.ascontiguousarray(weight)
        dtype = next((t for part, t in types if part in target), Type.F32) if weight.ndim > 1 else Type.F32
        if dtype == Type.F32:
            writer.add_tensor(target, weight)
            restored = weight
        else:
            blocks = quantize(weight, dtype)
            writer.add_tensor(target, blocks, raw_dtype=dtype)
            restored = dequantize(blocks, dtype)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(back(restored))))
    for target, values in extra:
        writer.add_tensor(target, np.asarray(values, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    random = np.random.default_rng(7)
    ids = torch.from_numpy(random.integers(0, VOCABULARY, (2, 11)))
    mask = torch.ones_like(ids)
    mask[1, :4] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        logits = model(ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
        if is_readable:
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "m.gguf").write_bytes(pathlib.Path(f"{name}.gguf").read_bytes())
                other = AutoModelForCausalLM.from_pretrained(folder, gguf_file="m.gguf", dtype=torch.float32, attn_implementation="eager").eval()
            again = other(ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
            difference = (again - logits)[mask.bool()].abs().max().item()
            print(f"{name}: read by transformers, difference {difference:.2e}, logits up to {logits.abs().max():.2f}")
            assert difference < 1e-4, name
        else:
            print(f"{name}: logits up to {logits.abs().max():.2f}")
    references[f"{name}.ids"] = ids.numpy()
    references[f"{name}.mask"] = mask.numpy()
    references[f"{name}.logits"] = logits.numpy()


def sizes(config, **more):
    return [
        ("add_context_length", config.max_position_embeddings), ("add_embedding_length", config.hidden_size),
        ("add_block_count", config.num_hidden_layers), ("add_head_count", config.num_attention_heads),
    ] + [(f"add_{key}", value) for key, value in more.items()]


def llama_sizes(config, **more):
    return sizes(
        config, feed_forward_length=config.intermediate_size, head_count_kv=config.num_key_value_heads, layer_norm_rms_eps=config.rms_norm_eps,
        **more)


def byte_characters():
    """The characters that byte-level vocabularies have for the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, spare = {}, 256
    for byte in range(256):
        table[byte] = chr(byte) if byte in shown else chr(spare)
        spare += byte not in shown
    return [table[byte] for byte in range(256)]


def tokenizer():
    characters = byte_characters()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    pairs = ["t h", "th e", "\u0120 the", "i n", "e r", "a n", "an d", "\u0120 and", "o n", "r e", "\u0120 a", "\u0120 t", "o u", "e n", "i s",
             "\u0120 in", "\u0120 o", "e d", "o r", "a t", "e s", "\u0120 s", "\u0120 w", "h e", "l l", "i t", "\u0120 c", "\u0120 b", "in g"]
    tokens = specials + characters + [pair.replace(" ", "") for pair in pairs]
    assert len(tokens) == VOCABULARY == len(set(tokens))
    types = [TokenType.CONTROL] * 3 + [TokenType.NORMAL] * (len(tokens) - 3)
    return [
        ("add_tokenizer_model", "gpt2"), ("add_tokenizer_pre", "smollm"), ("add_token_list", tokens), ("add_token_types", types),
        ("add_token_merges", pairs), ("add_bos_token_id", 1), ("add_eos_token_id", 2), ("add_unk_token_id", 0), ("add_pad_token_id", 2),
        ("add_add_bos_token", False), ("add_add_space_prefix", False), ("add_eot_token_id", 0),
        ("add_chat_template", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"),
        ("add_sampling_temp", 0.5), ("add_sampling_top_k", 40), ("add_sampling_top_p", 0.9),
    ]


def main():
    common = dict(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
        max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    Q8, Q40, Q41, Q50, Q51, F16, BF16 = Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.F16, Type.BF16

    config = AutoConfig.for_model("llama", **common, tie_word_embeddings=True, rms_norm_eps=1e-5, rope_theta=100000.0)
    make("llama", config, "llama", [("token_embd", Q8), ("", Q41)], llama_sizes(config, rope_freq_base=100000.0, rope_dimension_count=16, vocab_size=VOCABULARY) + tokenizer())

    scaling = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
    config = AutoConfig.for_model("llama", **common, tie_word_embeddings=False, attention_bias=True, rope_parameters=scaling)
    frequencies = 1 / 10000.0 ** (np.arange(0, 16, 2) / 16)
    wavelengths = 2 * np.pi / frequencies
    share = (32 / wavelengths - 1) / (4 - 1)
    divisors = np.where(wavelengths < 32 / 4, 1, np.where(wavelengths > 32, 8, 1 / ((1 - share) / 8 + share)))
    make("llama3", config, "llama", [("ffn", BF16), ("", F16)], llama_sizes(config, rope_freq_base=10000.0, rope_dimension_count=16),
         extra=[("rope_freqs.weight", divisors)], is_readable=False)

    config = AutoConfig.for_model(
        "gpt2", vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=128, n_inner=96, bos_token_id=1, eos_token_id=2)
    make("gpt2", config, "gpt2", [("position", F16), ("attn", Q51), ("", Q8)],
         sizes(config, feed_forward_length=96, layer_norm_eps=config.layer_norm_epsilon), is_readable=False)

    config = AutoConfig.for_model("qwen2", **common, tie_word_embeddings=False, rope_theta=1000000.0)
    make("qwen2", config, "qwen2", [("attn", Q50), ("output.weight", Q8), ("", Q40)], llama_sizes(config, rope_freq_base=1000000.0, vocab_size=VOCABULARY))

    config = AutoConfig.for_model("qwen3", **common, head_dim=32, tie_word_embeddings=True, rope_theta=1000000.0)
    make("qwen3", config, "qwen3", [("", F16)], llama_sizes(config, rope_freq_base=1000000.0, key_length=32, value_length=32), is_readable=False)

    gemma = dict(common, head_dim=32, sliding_window=5, query_pre_attn_scalar=32)
    config = AutoConfig.for_model("gemma2", **gemma, attn_logit_softcapping=5.0, final_logit_softcapping=10.0)
    make("gemma2", config, "gemma2", [("", Q8)], llama_sizes(
        config, key_length=32, value_length=32, sliding_window=5, attn_logit_softcapping=5.0, final_logit_softcapping=10.0), is_readable=False)

    config = AutoConfig.for_model("gemma3_text", **dict(gemma, num_hidden_layers=6), rope_parameters={
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})
    make("gemma3", config, "gemma3", [("", Q8)], llama_sizes(
        config, key_length=32, value_length=32, sliding_window=5, rope_freq_base=1000000.0, rope_scaling_factor=8.0) + [
            ("add_rope_scaling_type", __import__("gguf").RopeScalingType.LINEAR)], is_readable=False)

    config = AutoConfig.for_model("phi3", **common, tie_word_embeddings=False, sliding_window=6, partial_rotary_factor=0.5)
    make("phi3", config, "phi3", [("ffn", Q41), ("", Q8)], llama_sizes(config, rope_freq_base=10000.0, rope_dimension_count=8, sliding_window=6),
         is_readable=False)

    config = AutoConfig.for_model(
        "gpt_neox", vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        max_position_embeddings=128, rotary_pct=0.25, use_parallel_residual=True)
    make("gptneox", config, "gptneox", [("", Q8)], sizes(
        config, feed_forward_length=96, layer_norm_eps=config.layer_norm_eps, parallel_residual=True, rope_dimension_count=4), is_readable=False)

    save_file(references, "references.safetensors")


main()
