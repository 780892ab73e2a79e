"""What the loss and sampling of a language model let you choose.

`configs.py` gathers these classes. Pytree registration is at the bottom.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .core.checks import Fraction, NonNegativeFloat, NonNegativeInt, PositiveInt, UnitFloat
from .core.pytrees import register_configs

STEPS = 3000
"""Steps of a run, and of its learning-rate schedule, if nothing else is said."""

WEIGHT_DECAY = 1.0
"""Of AdamW, per unit of learning rate, if nothing else is said. Half a million bytes are few: with
less decay the model learns them by heart."""


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Cross-entropy between the predicted next byte and the byte that comes."""

    label_smoothing: Fraction = 0.0
    """Probability mass moved from the label to all bytes alike."""

    chunk: PositiveInt | None = None
    """Places of the context whose logits are held at a time; None holds all.
    They are computed again in the backward pass: less memory with a large vocabulary, more time."""


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """Let a trained model continue a prompt."""

    run_dir: Path = Path("runs/default")
    """Folder of the run whose model writes."""

    step: NonNegativeInt | None = None
    """Checkpoint to use; the newest if not given."""

    seed: NonNegativeInt = 0
    """Decides what is drawn."""

    prompts: tuple[str, ...] = ("The ", "If the class ", "Note that ")
    """Beginnings, each continued on its own."""

    num_tokens: PositiveInt = 300
    """Bytes to write after each prompt."""

    temperature: NonNegativeFloat = 0.8
    """Below 1 is bolder, above 1 more varied; 0 always takes the likeliest byte."""

    top_k: PositiveInt | None = None
    """Draw from so many of the likeliest bytes only."""

    top_p: UnitFloat = 0.95
    """Draw from the likeliest bytes that together have this probability; 1 is off."""

    stop: str | None = None
    """A single character that ends a text."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """What a range alone cannot say."""
        if not self.prompts or not all(self.prompts):
            yield "prompts", "each needs at least one character"
        if self.stop is not None and not (len(self.stop) == 1 and self.stop.isascii()):
            yield "stop", f"must be a single ASCII character, got {self.stop!r}"


register_configs(LossConfig, SampleConfig)
