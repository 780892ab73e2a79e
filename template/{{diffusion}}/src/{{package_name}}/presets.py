"""Configs to start from, by name: `scripts/train.py --preset debug`.

This is the place for your own experiments: an entry that says only what is different, under a name
that can be cited. Flags and files still override it.
"""

from pathlib import Path

from .configs import AdamW, DataConfig, ModelConfig, ScheduleConfig, TrainConfig

PRESETS: dict[str, TrainConfig] = {
    # Digits that a person recognises, in a minute or two on a laptop.
    "default": TrainConfig(),
    # A few seconds, to see whether everything runs.
    "debug": TrainConfig(
        run_dir=Path("runs/debug"),
        steps=20,
        model=ModelConfig(width=64, depth=2),
        data=DataConfig(batch_size=32),
        schedule=ScheduleConfig(warmup_steps=5, total_steps=20),
        ema_decay=0.8,
        log_every=10,
        eval_every=20,
        save_every=20,
    ),
    # A larger model trained for longer, for data that is harder than digits.
    "wide": TrainConfig(
        run_dir=Path("runs/wide"),
        steps=5000,
        model=ModelConfig(width=256, depth=6, dropout=0.2),
        optimizer=AdamW(learning_rate=1e-3),
        schedule=ScheduleConfig(warmup_steps=500, total_steps=5000),
        ema_decay=0.998,
    ),
}
