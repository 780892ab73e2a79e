"""Configs to start from, by name: `scripts/train.py --preset debug`.

This is the place for your own experiments: an entry that says only what is different, under a name
that can be cited. Flags and files still override it.
"""

from pathlib import Path

from .configs import AdamW, DataConfig, ModelConfig, ScheduleConfig, TrainConfig

PRESETS: dict[str, TrainConfig] = {
    # Good results in about a minute on a laptop.
    "default": TrainConfig(),
    # A few seconds, to see whether everything runs.
    "debug": TrainConfig(
        run_dir=Path("runs/debug"),
        steps=20,
        model=ModelConfig(widths=(8, 16)),
        data=DataConfig(batch_size=32),
        schedule=ScheduleConfig(warmup_steps=5, total_steps=20),
        ema_decay=0.8,
        log_every=10,
        eval_every=20,
        save_every=20,
    ),
    # A deeper and wider model with more augmentation, for images that are harder than digits.
    "deep": TrainConfig(
        run_dir=Path("runs/deep"),
        steps=3000,
        model=ModelConfig(widths=(64, 128, 256), blocks=2, dropout=0.3),
        data=DataConfig(cutout=2),
        optimizer=AdamW(learning_rate=1e-3, weight_decay=0.1),
        schedule=ScheduleConfig(warmup_steps=200, total_steps=3000),
        ema_decay=0.998,
    ),
}
