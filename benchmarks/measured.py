"""What a run of the benchmark finds out, and the names of those who take part."""

from dataclasses import dataclass, field

from comparison import Goal, Ratio, closest, ratio

PROJECT = "project"
LABELS = {
    PROJECT: "**this project**",
    "jit": "JAX by hand, jit loop",
    "equinox": "Equinox, `filter_jit` loop",
    "linen": "Flax Linen",
    "nnx.jit": "Flax NNX, `nnx.jit`",
    "nnx.cached_partial": "Flax NNX, `cached_partial`",
    "torch": "PyTorch, defaults",
    "torch tuned": "PyTorch, fused optimizer, channels last",
    "torch compiled": "PyTorch, the same, compiled",
}
FLAX = ("linen", "nnx.jit", "nnx.cached_partial")
IDIOMS = ("equinox", *FLAX)
TORCH = ("torch", "torch tuned", "torch compiled")
CURES = {
    "mlp": {"stepwise": "The compiled chunk of steps"},
    "cnn": {
        "stepwise": "The compiled chunk of steps",
        "convolution": "Convolutions as products of matrices, against the plain form",
        "patches": "Winograd's products, against one of patches",
    },
    "transformer": {
        "stepwise": "The compiled chunk of steps",
        "three axes": "Flattening tokens before each matrix, against a product over three axes",
        "two vmaps": "Flattening tokens before each matrix, against two vmaps",
    },
}
Times = dict[str, list[float]]


@dataclass
class Measured:
    """What came out for one model in one precision; times are seconds a step, one a round."""

    model: str
    dtype: str
    times: Times = field(default_factory=dict)
    cpu: Times = field(default_factory=dict)
    """Seconds of all cores together."""
    losses: list[float] = field(default_factory=list)
    """Of the project's first steps."""
    apart: dict[str, float] = field(default_factory=dict)
    """How far the first losses are from those of the project, relatively."""
    flops: float = 0.0
    """Operations of one step."""
    best_flops: float = 0.0
    """Operations a second in the fastest large product of two matrices of the same run."""
    memory: dict[str, float] = field(default_factory=dict)
    """Bytes: of the project's program in several ways, and what PyTorch's process grew by."""
    cures: dict[str, Times] = field(default_factory=dict)
    """Times `with` and `without` each."""
    chunks: Times = field(default_factory=dict)
    """Times of the project in chunks of 10 and of 100 steps."""
    host: dict[str, dict[str, float]] = field(default_factory=dict)
    """The host's share of a run, by the length of a chunk."""
    left_out: str = ""

    def ratios(self) -> dict[str, Ratio]:
        """Times of all others, in times of the project."""
        base = self.times[PROJECT]
        return {name: ratio(t, base) for name, t in self.times.items() if name != PROJECT}

    def cure(self, name: str) -> Ratio:
        """Time without a cure, in times of that with it."""
        return ratio(self.cures[name]["without"], self.cures[name]["with"])


def goals(found: list[Measured]) -> list[Goal]:
    """All bounds, with what was measured in float32."""
    by_model = {m.model: m for m in found if m.dtype == "float32"}
    ratios = {model: m.ratios() for model, m in by_model.items()}

    def of(model: str, names: tuple[str, ...]) -> float | None:
        return closest(ratios.get(model, {}), names)

    everyone = tuple(name for name in LABELS if name != PROJECT)
    result = [
        Goal("mlp: times as fast as every peer", of("mlp", everyone), 1.2),
        Goal("cnn: times as fast as every peer", of("cnn", everyone), 1.2),
        Goal("cnn: times as fast as the idioms of Equinox and Flax", of("cnn", IDIOMS), 4.0),
        Goal("transformer: times as fast as PyTorch", of("transformer", TORCH), 1.0),
        Goal(
            "transformer: times as fast as the idioms of Equinox and Flax",
            of("transformer", IDIOMS),
            1.8,
        ),
    ]
    for model in CURES:
        host = by_model[model].host if model in by_model else {}
        for steps, share in host.items() or [("10", None)]:
            percent = None if share is None else 100 * share["share"]
            text = f"{model}: the host's share of a run in chunks of {steps}"
            result.append(Goal(text, percent, 2.0, is_lowest=False, unit=" %"))
    for model in CURES:
        chunks = by_model[model].chunks if model in by_model else {}
        value = ratio(chunks["10"], chunks["100"]).median if chunks else None
        worse = None if value is None else 100 * (max(value, 1 / value) - 1)
        text = f"{model}: chunks of 10 against chunks of 100, the slower"
        result.append(Goal(text, worse, 10.0, is_lowest=False, unit=" %"))
    return result
