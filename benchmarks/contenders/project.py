"""The rendered project: its own `train_chunk`, and its own functions round it, as they are."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from .problem import (
    BATCH_SIZE,
    CLIP,
    CONTEXT,
    IMAGE_SHAPE,
    LEARNING_RATE,
    SIZES,
    WEIGHT_DECAY,
    Problem,
    Run,
)

SEED = 0
EXAMPLES = 2048


class Project:
    """A rendered package with data of the benchmark's size in the place of its digits."""

    def __init__(self, model: str, dtype: str):
        self.model, self.dtype = model, dtype
        sources = self.module("data.sources")
        if model != "transformer":
            # What the project tells its owner to change for images of their own.
            rng = np.random.default_rng(0)
            images = rng.random((EXAMPLES, *IMAGE_SHAPE), np.float32)
            labels = rng.integers(0, sources.NUM_CLASSES, EXAMPLES).astype(np.int32)
            sources.IMAGE_SHAPE, sources.load_examples = IMAGE_SHAPE, lambda: (images, labels)
        self.loops, self.state = self.module("training.loops"), self.module("training.state")
        configs = self.module("configs")
        in_data = {"context": CONTEXT} if model == "transformer" else {"max_shift": 0}
        config = configs.TrainConfig(
            model=configs.ModelConfig(**SIZES[model], dropout=None, compute_dtype=dtype),
            data=configs.DataConfig(batch_size=BATCH_SIZE[model], **in_data),
            loss=configs.LossConfig(label_smoothing=0.0),
            optimizer=configs.AdamW(
                learning_rate=LEARNING_RATE,
                weight_decay=WEIGHT_DECAY[model],
                gradient_clip=CLIP[model],
            ),
            schedule=configs.ScheduleConfig(shape="constant", warmup_steps=0),
            ema_decay=None,
        )
        self.mesh = self.module("runtime.devices").open_mesh(config.mesh)
        # As `runtime.run.train` has it.
        place = self.module("core.sharding").place
        self.config = place(configs.for_device(config), self.mesh, PartitionSpec())
        self.data = sources.load_split(self.config.data, "train")
        self.size = sources.num_examples(self.data)
        feeds = self.module("runtime.feeding").open_feed(config, self.mesh, 0, config.steps)
        self.feed = ExitStack().enter_context(feeds)

    def module(self, name: str) -> ModuleType:
        """A module of the rendered package."""
        return import_module(f"bench_{self.model}.{name}")

    def order(self, start: int, steps: int) -> np.ndarray:
        """Examples of each step, by the project's own rule."""
        example_order = self.module("data.pipeline").example_order
        batch = self.config.data.batch_size
        order = example_order(self.size, SEED, start, steps * batch)
        return order.astype(np.int32).reshape(steps, batch)

    def init(self) -> Any:
        """The state before the first step."""
        with jax.set_mesh(self.mesh):
            return self.state.init_state(self.config, self.module("core.keys").root_key(SEED))

    def problem(self, steps: int) -> Problem:
        """The same for the peers: the initial parameters, and the batches of `steps` steps."""
        leaves = jax.tree_util.tree_leaves_with_path(self.init().params)
        dotted = self.module("core.pytrees").dotted
        take_batch = self.module("data.sources").take_batch
        batches = [take_batch(self.data, row, self.config.data) for row in self.order(0, steps)]
        return Problem(
            self.model,
            self.dtype,
            {dotted(path): np.asarray(leaf) for path, leaf in leaves},
            [(np.asarray(batch[0]), np.asarray(batch[1])) for batch in batches],
        )

    def run(self) -> Run:
        """The project's loop: order, compiled chunk, one transfer of the metrics."""
        return self._loop(self.loops.train_chunk)

    def run_patched(self, module: str, name: str, form: Callable[..., Any]) -> Run:
        """The same with another form of one function, while the program is made."""

        def chunk(*args: Any) -> Any:
            with self.exchanged(module, name, form):
                return self.loops.train_chunk.__wrapped__(*args)

        return self._loop(jax.jit(chunk, donate_argnums=0))

    @contextmanager
    def exchanged(self, module: str, name: str, form: Callable[..., Any]) -> Iterator[None]:
        """Another function in the place of one of the package's, for a while."""
        place, _, attribute = name.rpartition(".")
        holder: Any = self.module(module)
        holder = attrgetter(place)(holder) if place else holder
        usual = getattr(holder, attribute)
        setattr(holder, attribute, form)
        try:
            yield
        finally:
            setattr(holder, attribute, usual)

    def run_stepwise(self) -> Run:
        """The project's step in a Python loop of jitted calls, batches ready on the device."""
        step = jax.jit(self.loops.train_step, donate_argnums=0)
        take_batch = self.module("data.sources").take_batch
        batches = [take_batch(self.data, row, self.config.data) for row in self.order(0, 20)]
        current = [self.init(), 0]

        def run(steps: int) -> list[float]:
            losses = []
            for _ in range(steps):
                batch = batches[current[1] % len(batches)]
                current[0], metrics = step(current[0], batch, self.config)
                current[1] += 1
                losses.append(metrics["loss"])
            jax.block_until_ready(current[0])
            return [float(loss) for loss in jax.device_get(losses)]

        return run

    def _loop(self, train_chunk: Callable[..., Any]) -> Run:
        current = [self.init(), 0]

        def run(steps: int) -> list[float]:
            state, seen = current
            with (
                jax.set_mesh(self.mesh),
                self.exchanged("runtime.feeding", "train_chunk", train_chunk),
            ):
                state, chunk = self.feed.train(state, seen, steps, self.config)
            current[:] = [state, seen + steps * self.config.data.batch_size]
            return [float(loss) for loss in jax.device_get(chunk)["loss"]]

        return run

    def program(self, steps: int, donate: bool = True, **changes: Any) -> Any:
        """The compiled chunk, to ask it for its memory."""
        chunk = self.loops.train_chunk.__wrapped__
        jitted = jax.jit(lambda *args: chunk(*args), donate_argnums=(0,) if donate else ())
        config = replace(self.config, **changes)
        with jax.set_mesh(self.mesh):
            return jitted.lower(self.init(), self.data, self.order(0, steps), config).compile()

    def model_config(self, **changes: Any) -> Any:
        """The model's part of the config, changed."""
        return replace(self.config.model, **changes)

    def flops(self) -> float:
        """Of one step, as XLA counts them in the program before it is optimised."""
        take_batch = self.module("data.sources").take_batch
        batch = take_batch(self.data, self.order(0, 1)[0], self.config.data)
        step = jax.jit(self.loops.train_step)
        return step.lower(self.init(), batch, self.config).cost_analysis()["flops"]
