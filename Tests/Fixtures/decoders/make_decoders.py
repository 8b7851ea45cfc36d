"""Tiny decoder checkpoints with random weights, and what the reference implementation answers for them.

    python make_decoders.py          (torch, transformers, safetensors; writes ../decoders.tar.xz)

One folder per model: config.json, model.safetensors, cases.safetensors with `caseK.<input>` and `caseK.out.<output>` (float32,
eager attention; rows of padding are undefined). Every parameter carries noise, so a forgotten bias or norm shows, and the
settings are unusual on purpose: windows smaller than the sequence, head sizes that do not follow from the hidden size, bounds
that bite. `edits` are made to the saved config.json: the older spellings that published models have.
"""

import json
import pathlib
import shutil
import tarfile
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
VOCABULARY = 40

BASE = dict(
    vocab_size=VOCABULARY, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, intermediate_size=28,
    max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
GPT = dict(vocab_size=VOCABULARY, bos_token_id=1, eos_token_id=2, pad_token_id=0)
GPT2 = dict(GPT, n_embd=24, n_head=4, n_layer=2, n_positions=64, n_inner=28)
NEO = dict(GPT, hidden_size=24, num_heads=4, num_layers=4, max_position_embeddings=64, intermediate_size=28)
OPT = dict(GPT, hidden_size=24, num_attention_heads=4, num_hidden_layers=2, ffn_dim=28, max_position_embeddings=64)
NEOX = dict(GPT, hidden_size=24, num_attention_heads=4, num_hidden_layers=2, intermediate_size=28, max_position_embeddings=64)
T5 = dict(
    vocab_size=VOCABULARY, d_model=24, d_kv=10, d_ff=28, num_layers=1, num_decoder_layers=2, num_heads=3, decoder_start_token_id=0,
    eos_token_id=1, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16, rope_theta=500.0)


def old_rope(scaling=None, theta=None, **others):
    """The spelling before rope_parameters."""
    def edit(config):
        config.pop("rope_parameters")
        if theta is not None:
            config["rope_theta"] = theta
        config["rope_scaling"] = scaling
        config.update(others)
    return edit


# name: (class, configuration, edit of config.json)
MODELS = {
    "gemma2": ("Gemma2ForCausalLM", dict(
        BASE, head_dim=12, query_pre_attn_scalar=20, sliding_window=4, attn_logit_softcapping=2.0, final_logit_softcapping=3.0), None),
    "gemma2-plain": ("Gemma2ForCausalLM", dict(
        BASE, head_dim=8, attn_logit_softcapping=None, final_logit_softcapping=None, attention_bias=True, hidden_activation="gelu",
        layer_types=["full_attention", "sliding_attention"], sliding_window=3, tie_word_embeddings=False), None),
    "gemma3": ("Gemma3ForCausalLM", dict(
        BASE, num_hidden_layers=4, head_dim=12, query_pre_attn_scalar=24, sliding_window=4, final_logit_softcapping=5.0,
        layer_types=["sliding_attention", "full_attention"] * 2,
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5000.0}}), None),
    "gemma3-old": ("Gemma3ForCausalLM", dict(
        BASE, num_hidden_layers=3, head_dim=8, sliding_window=5,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 7000.0}}),
        lambda config: (
            config.pop("layer_types"), config.pop("_sliding_window_pattern", None),
            old_rope({"rope_type": "linear", "factor": 8.0}, 7000.0, rope_local_base_freq=300.0, sliding_window_pattern=3)(config))),
    "gpt2-scaled": ("GPT2LMHeadModel", dict(GPT2, scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True), None),
    "gpt2-unscaled": ("GPT2LMHeadModel", dict(
        GPT2, scale_attn_weights=False, n_inner=None, activation_function="relu", tie_word_embeddings=False), None),
    "gpt2-base": ("GPT2Model", dict(GPT2), None),
    "gpt-neo": ("GPTNeoForCausalLM", dict(NEO, attention_types=[[["global", "local"], 1], [["local"], 2]], window_size=3), None),
    "gpt-neo-wide": ("GPTNeoForCausalLM", dict(
        NEO, num_layers=2, attention_types=[[["local"], 2]], window_size=5, intermediate_size=None), None),
    "gpt-neox": ("GPTNeoXForCausalLM", dict(NEOX, rope_parameters={"rope_type": "default", "rope_theta": 700.0, "partial_rotary_factor": 0.5}), None),
    "gpt-neox-sequential": ("GPTNeoXForCausalLM", dict(
        NEOX, use_parallel_residual=False, attention_bias=False, hidden_act="gelu_new", tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 1.0}),
        old_rope(None, None, rotary_pct=1.0, rotary_emb_base=300)),
    "gpt-neox-base": ("GPTNeoXModel", dict(NEOX), None),
    "llama-linear": ("LlamaForCausalLM", dict(
        BASE, attention_bias=True, mlp_bias=True, head_dim=12, rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 900.0}),
        old_rope({"type": "linear", "factor": 3.0}, 900.0)),
    "llama3": ("LlamaForCausalLM", dict(BASE, head_dim=16, tie_word_embeddings=True, rope_parameters=LLAMA3), None),
    "llama3-old": ("LlamaForCausalLM", dict(BASE, head_dim=16, num_key_value_heads=1, hidden_act="gelu", rope_parameters=LLAMA3),
        old_rope({key: value for key, value in LLAMA3.items() if key != "rope_theta"}, 500.0)),
    "llama-yarn": ("LlamaForCausalLM", dict(BASE, head_dim=16, num_key_value_heads=4, rope_parameters={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 500.0, "beta_fast": 4, "beta_slow": 0.5}), None),
    "llama-yarn-mscale": ("LlamaForCausalLM", dict(BASE, head_dim=16, rope_parameters={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 500.0, "mscale": 1.5,
        "mscale_all_dim": 0.5, "truncate": False}), None),
    "llama-dynamic": ("LlamaForCausalLM", dict(BASE, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 300.0}), None),
    "llama-base": ("LlamaModel", dict(BASE), None),
    "mistral": ("MistralForCausalLM", dict(BASE, head_dim=12, sliding_window=4, rope_parameters={"rope_type": "default", "rope_theta": 200.0}),
        old_rope(None, 200.0)),
    "mistral-full": ("MistralForCausalLM", dict(BASE, sliding_window=None, tie_word_embeddings=True), None),
    "opt": ("OPTForCausalLM", dict(OPT, activation_function="gelu"), None),
    "opt-projected": ("OPTForCausalLM", dict(OPT, do_layer_norm_before=False, word_embed_proj_dim=16), None),
    "opt-bare": ("OPTForCausalLM", dict(
        OPT, enable_bias=False, layer_norm_elementwise_affine=False, tie_word_embeddings=False), None),
    "opt-no-final-norm": ("OPTForCausalLM", dict(OPT, _remove_final_layer_norm=True, word_embed_proj_dim=16), None),
    "opt-base": ("OPTModel", dict(OPT, word_embed_proj_dim=16), None),
    "phi3": ("Phi3ForCausalLM", dict(
        BASE, hidden_size=32, sliding_window=4, rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5}), None),
    "phi3-long": ("Phi3ForCausalLM", dict(
        BASE, hidden_size=32, original_max_position_embeddings=16, rope_parameters={
            "rope_type": "longrope", "rope_theta": 500.0, "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [2.0, 4.0, 6.0, 8.0]}), None),
    "phi3-su": ("Phi3ForCausalLM", dict(
        BASE, hidden_size=32, original_max_position_embeddings=16, rope_parameters={
            "rope_type": "longrope", "rope_theta": 500.0, "short_factor": [1.0, 1.5, 2.0], "long_factor": [2.0, 4.0, 6.0],
            "partial_rotary_factor": 0.75}),
        old_rope({
            "type": "su", "short_factor": [1.0, 1.5, 2.0], "long_factor": [2.0, 4.0, 6.0], "original_max_position_embeddings": 16},
            500.0, partial_rotary_factor=0.75)),
    "qwen2-window": ("Qwen2ForCausalLM", dict(
        BASE, num_hidden_layers=3, use_sliding_window=True, sliding_window=4, max_window_layers=1, tie_word_embeddings=True),
        lambda config: config.pop("layer_types")),
    "qwen2-types": ("Qwen2ForCausalLM", dict(
        BASE, use_sliding_window=True, sliding_window=3, layer_types=["sliding_attention", "full_attention"],
        rope_parameters={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 700.0}),
        old_rope({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}, 700.0)),
    "qwen3": ("Qwen3ForCausalLM", dict(BASE, head_dim=12, rms_norm_eps=1e-3), None),
    "qwen3-window": ("Qwen3ForCausalLM", dict(
        BASE, head_dim=8, attention_bias=True, use_sliding_window=True, sliding_window=2, max_window_layers=1, tie_word_embeddings=True), None),
    "qwen3-base": ("Qwen3Model", dict(BASE, head_dim=16), None),
    "t5-gated": ("T5ForConditionalGeneration", dict(
        T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False, relative_attention_num_buckets=10, relative_attention_max_distance=20),
        None),
    "t5-silu": ("T5ForConditionalGeneration", dict(T5, feed_forward_proj="gated-silu"), lambda config: (
        config.pop("dense_act_fn", None), config.pop("is_gated_act", None), config.pop("scale_decoder_outputs", None))),
    "t5-encoder": ("T5EncoderModel", dict(T5, num_layers=2), None),
}

# (name, rows, length): rows of the given numbers of tokens; positive: padding on the right, negative: on the left.
SHAPES = [([11], 11), ([-3, -9, -6], 9), ([7, 2], 7), ([1], 1)]


def tokens(generator, rows, length):
    ids = torch.randint(3, VOCABULARY, (len(rows), length), generator=generator)
    mask = torch.ones_like(ids)
    for row, count in enumerate(rows):
        hidden = slice(count, None) if count >= 0 else slice(None, length + count)
        mask[row, hidden] = 0
        ids[row, hidden] = 0
    return ids, mask


def answer(model, ids, mask, generator):
    given = {"input_ids": ids, "attention_mask": mask}
    if isinstance(model, transformers.T5ForConditionalGeneration):
        given["decoder_input_ids"] = torch.randint(3, VOCABULARY, (ids.shape[0], 6), generator=generator)
        result = model(**given)
    elif isinstance(model, transformers.T5EncoderModel):
        result = model(**given)
    else:
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        result = model(**given, position_ids=positions)
    return given, {key: result[key] for key in ("logits", "last_hidden_state") if key in result}


def make(name, class_name, values, edit, folder):
    seed = sum(index * byte for index, byte in enumerate(name.encode(), 1))
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model_class = getattr(transformers, class_name)
    model = model_class(model_class.config_class(**values, attn_implementation="eager")).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.15 * torch.randn(parameter.shape, generator=generator))
            # Twelve digits behind the point: what is left compresses.
            parameter.copy_((parameter * 4096).round() / 4096)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count < 60_000, (name, count)
    model.save_pretrained(folder)
    if name != "llama3":
        (folder / "generation_config.json").unlink(missing_ok=True)
    if edit:
        config = json.loads((folder / "config.json").read_text())
        edit(config)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        # The edited spelling means the same to the reference implementation.
        again = model_class.from_pretrained(folder, attn_implementation="eager").eval()
    else:
        again = model
    cases = {}
    shapes = SHAPES + ([([40], 40), ([-20, -40], 40)] if name in ("phi3-long", "llama-yarn", "llama3", "t5-gated") else [])
    for number, (rows, length) in enumerate(shapes):
        ids, mask = tokens(generator, rows, length)
        with torch.no_grad():
            state = generator.get_state()
            given, outputs = answer(model, ids, mask, generator)
            generator.set_state(state)
            _, repeated = answer(again, ids, mask, generator)
        for key, tensor in given.items():
            cases[f"case{number}.{key}"] = tensor.contiguous()
        for key, tensor in outputs.items():
            assert torch.allclose(tensor, repeated[key], atol=1e-5), (name, (tensor - repeated[key]).abs().max())
            assert torch.isfinite(tensor).all() and tensor.abs().max() < 100, name
            cases[f"case{number}.out.{key}"] = tensor.contiguous()
    save_file(cases, folder / "cases.safetensors")
    return count


def multimodal(source, folder):
    """The layout of a Gemma 3 that also sees images: the text model's configuration and tensors inside those of the whole."""
    shutil.copytree(source, folder)
    text = json.loads((source / "config.json").read_text())
    for key in ("architectures", "dtype", "transformers_version"):
        text.pop(key, None)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "eos_token_id": [2, 5], "image_token_index": 39,
        "text_config": text, "vision_config": {"hidden_size": 8, "model_type": "siglip_vision_model"}}, indent=2) + "\n")
    tensors = {f"language_model.{name}": tensor for name, tensor in load_file(source / "model.safetensors").items()}
    tensors["vision_tower.vision_model.embeddings.patch_embedding.weight"] = torch.zeros(2, 2)
    tensors["multi_modal_projector.mm_input_projection_weight"] = torch.zeros(2, 2)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def main():
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary) / "decoders"
        for name, (class_name, values, edit) in MODELS.items():
            print(f"{name:24}{make(name, class_name, values, edit, root / name):8}")
        multimodal(root / "gemma3-old", root / "gemma3-multimodal")
        with tarfile.open(HERE.parent / "decoders.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    entry = archive.gettarinfo(path, str(path.relative_to(root.parent)))
                    entry.mtime = entry.uid = entry.gid = 0
                    entry.uname = entry.gname = ""
                    with path.open("rb") as contents:
                        archive.addfile(entry, contents)


main()
