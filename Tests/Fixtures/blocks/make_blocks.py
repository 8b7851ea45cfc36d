"""Block-quantised tensors and what they stand for, by the gguf package (pip install gguf==0.19.0 safetensors).

blocks.safetensors holds per block type `T`: `T.blocks` (u8, random bytes with scales that are finite, in rows of several blocks) and `T.values`
(f32, what the package dequantises); for the types that the package quantises to also `T.quantized` (u8), made of `source` (f32).

    python make_blocks.py
"""
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file

random = np.random.default_rng(5)
# Where the f16 scales lie in a block.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
tensors = {}
for name, places in SCALES.items():
    kind = Type[name]
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (3, 4, size), dtype=np.uint8)
    for place in places:
        scales = (random.standard_normal((3, 4, 1)) * 0.1).astype(np.float16)
        scales[0, 0] = 6e-8  # the smallest subnormal
        scales[0, 1] = -65504
        scales[0, 2] = 0
        blocks[:, :, place:place + 2] = scales.view(np.uint8)
    blocks = blocks.reshape(3, 4 * size)
    tensors[f"{name.lower()}.blocks"] = blocks
    tensors[f"{name.lower()}.values"] = dequantize(blocks, kind)
source = random.standard_normal((4, 256)).astype(np.float32)
source[0] *= np.exp(random.standard_normal(256)).astype(np.float32)
source[1, :32] = 0
source[1, 32:64] = 1.5
source[1, 64:96] = np.arange(32)
source[1, 96:128] = -np.arange(32) / 3
source[2] = np.abs(source[2])
source[3] *= 1e-6
tensors["source"] = source
for name in ["Q8_0", "Q4_0", "Q4_1"]:
    tensors[f"{name.lower()}.quantized"] = quantize(source, Type[name])
save_file(tensors, "blocks.safetensors")
