"""The effect of int8 weights, in float32: every weight is rounded to its int8 value and back.

Symmetric, scale = max |row| / 127, one scale per output channel of a Linear and per row of an Embedding. Tables of less than
1024 values (the token types) stay as they are, as in `mlconv --quantize int8`.
"""

import torch


@torch.no_grad()
def fake_quantize(model: torch.nn.Module) -> None:
    """Rounds the weights of all Linear and Embedding modules in place; biases and norms stay."""
    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, torch.nn.Embedding)):
            weight = module.weight
            if weight.numel() < 1024:
                continue
            scale = weight.abs().amax(dim=1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny) / 127
            weight.copy_((weight / scale).round().clamp(-127, 127) * scale)
