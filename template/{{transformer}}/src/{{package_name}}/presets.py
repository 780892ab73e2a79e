"""Configs to start from, by name: `scripts/train.py --preset debug`.

This is the place for your own experiments: an entry that says only what is different, under a name
that can be cited. Flags and files still override it.
"""

from pathlib import Path

from .configs import AdamW, DataConfig, ModelConfig, ScheduleConfig, TrainConfig

PRESETS: dict[str, TrainConfig] = {
    # Readable text in a few minutes on a laptop.
    "default": TrainConfig(),
    # A few seconds, to see whether everything runs.
    "debug": TrainConfig(
        run_dir=Path("runs/debug"),
        steps=20,
        model=ModelConfig(width=32, num_layers=2, num_heads=2, num_kv_heads=1, mlp_width=64),
        data=DataConfig(context=32, batch_size=8),
        schedule=ScheduleConfig(warmup_steps=5, total_steps=20),
        ema_decay=0.8,
        log_every=10,
        eval_every=20,
        save_every=20,
    ),
    # For an accelerator and a text of some tens of megabytes.
    "deep": TrainConfig(
        run_dir=Path("runs/deep"),
        steps=20_000,
        model=ModelConfig(
            width=512,
            num_layers=16,
            num_heads=8,
            num_kv_heads=4,
            mlp_width=1408,
            dropout=0.1,
            stacked=True,
            remat=True,
            compute_dtype="bfloat16",
        ),
        data=DataConfig(context=512, batch_size=64),
        optimizer=AdamW(learning_rate=6e-4, weight_decay=0.1, b2=0.95),
        schedule=ScheduleConfig(warmup_steps=500, total_steps=20_000),
        ema_decay=0.999,
        eval_every=1000,
        save_every=1000,
    ),
}
