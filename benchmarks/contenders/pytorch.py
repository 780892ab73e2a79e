"""PyTorch as it comes, with its faster options, and compiled."""

from itertools import cycle, pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .problem import CLIP, LEARNING_RATE, SIZES, WEIGHT_DECAY, Problem, Run


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = (784, *SIZES["mlp"]["hidden_sizes"], 10)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.gelu(layer(x), approximate="tanh")
        return self.layers[-1](x)


def conv3(fan_in: int, fan_out: int) -> nn.Conv2d:
    return nn.Conv2d(fan_in, fan_out, 3, padding=1, bias=False)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.conv1, self.conv2 = conv3(width, width), conv3(width, width)

    def forward(self, x: Tensor) -> Tensor:
        change = self.conv1(F.gelu(self.norm1(x), approximate="tanh"))
        return x + self.conv2(F.gelu(self.norm2(change), approximate="tanh"))


class Stage(nn.Module):
    def __init__(self, fan_in: int, width: int) -> None:
        super().__init__()
        self.entry = conv3(fan_in, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(SIZES["cnn"]["blocks"])))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.entry(x))


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = SIZES["cnn"]["widths"]
        fan_ins = (1, *widths[:-1])
        self.stages = nn.ModuleList(Stage(a, b) for a, b in zip(fan_ins, widths, strict=True))
        self.norm = nn.BatchNorm2d(widths[-1])
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, x: Tensor) -> Tensor:
        for i, stage in enumerate(self.stages):
            x = stage(F.max_pool2d(x, 2) if i > 0 else x)
        return self.head(F.gelu(self.norm(x), approximate="tanh").mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.heads = heads

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, time, width = x.shape
        split = self.query_key_value(x).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class GatedMLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class TransformerBlock(nn.Module):
    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = (nn.RMSNorm(width, eps=1e-6) for _ in range(2))
        self.attention = Attention(width, heads)
        self.mlp = GatedMLP(width, hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    def __init__(self, time: int) -> None:
        super().__init__()
        sizes = SIZES["transformer"]
        width, heads = sizes["width"], sizes["num_heads"]
        self.embedding = nn.Embedding(256, width)
        self.blocks = nn.ModuleList(
            TransformerBlock(width, sizes["mlp_width"], heads) for _ in range(sizes["num_layers"])
        )
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, 256, bias=False)
        half = width // heads // 2
        angles = torch.arange(time)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


def build(problem: Problem) -> nn.Module:
    """The model with the initial parameters of the problem."""
    if problem.model == "transformer":
        model = Transformer(problem.batches[0][0].shape[1])
    else:
        model = {"mlp": MLP, "cnn": CNN}[problem.model]()
    values = {}
    for name, array in problem.initial.items():
        name = name.replace(".scale", ".weight").replace(".kernel", ".weight")
        values[name] = torch.from_numpy(array.transpose(3, 2, 0, 1) if array.ndim == 4 else array)
    missing, unexpected = model.load_state_dict(values, strict=False)
    assert not unexpected
    assert all("running" in name or "tracked" in name for name in missing)
    return model


def torch_loop(problem: Problem, tuned: bool, compiled: bool) -> Run:
    """A Python loop; `tuned` has the fused optimizer, and channels last for images."""
    model = build(problem).train()
    is_image = problem.model == "cnn"
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": WEIGHT_DECAY[problem.model]},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, fused=True if tuned else None)
    data = []
    for inputs, targets in problem.batches:
        x = torch.from_numpy(np.asarray(inputs))
        if is_image:
            x = x.permute(0, 3, 1, 2).contiguous()
        x = x if x.is_floating_point() else x.long()
        if is_image and tuned:
            x = x.to(memory_format=torch.channels_last)
        data.append((x, torch.from_numpy(np.asarray(targets)).long()))
    if is_image and tuned:
        model = model.to(memory_format=torch.channels_last)
    apply = torch.compile(model) if compiled else model
    batches, clip = cycle(data), CLIP[problem.model]
    is_half = problem.dtype == "bfloat16"

    def run(steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            inputs, targets = next(batches)
            with torch.autocast("cpu", torch.bfloat16, enabled=is_half):
                logits = apply(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(loss.detach())
        return [loss.item() for loss in losses]

    return run
