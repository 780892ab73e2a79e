"""Checkpoints: the whole train state and the position in the data, through Orbax."""

import itertools
import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
from jaxtyping import PyTree

from ..configs import TrainConfig
from ..core.errors import TrainingError, UserError, first_line
from ..core.keys import root_key
from ..core.pytrees import dotted
from ..training.state import TrainState, abstract_state
from .devices import start_devices
from .digests import find_damage, write_digests
from .processes import agree, is_leader
from .retention import NewestAndBest, finite_loss
from .run_folder import CHECKPOINTS, read_config, younger_fields

_SHOWN = 8
"""Differences that an error lists."""


class Checkpoints:
    """The checkpoints of a run, `checkpoints/<step>/` in its folder.

    Use it as a context manager: saving goes on in the background, and leaving the block waits for
    what is under way. A save that is not waited for is lost.
    """

    def __init__(self, run_dir: Path, keep: int = 1, keep_best: int = 0):
        """Open the checkpoints of the run in `run_dir`.

        Args:
            run_dir: folder of the run.
            keep: number of newest checkpoints that stay.
            keep_best: number of checkpoints with the lowest held-out loss that stay besides.
        """
        self.folder = (run_dir / CHECKPOINTS).absolute()
        self._damaged: set[int] = set()
        self._kept = NewestAndBest(self.folder, keep, keep_best)
        self._manager = ocp.CheckpointManager(
            self.folder,
            options=ocp.CheckpointManagerOptions(
                preservation_policy=self._kept,
                async_options=ocp.AsyncOptions(post_finalization_callback=self._write_digests),
            ),
            item_handlers={
                "state": ocp.StandardCheckpointHandler(),
                "position": ocp.JsonCheckpointHandler(),
            },
        )

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.wait()
        finally:
            self._manager.close()

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, oldest first."""
        return sorted(self._manager.all_steps())

    def best_step(self) -> int | None:
        """The step of the lowest held-out loss, of those that are kept; None if none has one."""
        losses = {step: self._kept.loss(step) for step in self.steps()}
        best = min(losses, key=losses.__getitem__, default=None)
        return None if best is None or losses[best] == math.inf else best

    def save(
        self,
        state: TrainState,
        step: int,
        examples_seen: int,
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        """Save the state after `step` steps, unless it is saved already.

        Returns as soon as the arrays are copied; training may then donate them.

        Args:
            state: the whole train state.
            step: updates done so far.
            examples_seen: position in the data.
            metrics: of the evaluation at this step, if there was one.

        Raises:
            TrainingError: this or the save before failed. Older checkpoints are as they were.
        """
        self.set_aside_damaged()
        if step in self._manager.all_steps():
            return
        items = ocp.args.Composite(
            state=ocp.args.StandardSave(state),
            position=ocp.args.JsonSave({"examples_seen": examples_seen, **(metrics or {})}),
        )
        self._kept.saving[step] = finite_loss(metrics or {})
        with self._readable_failure():
            # Without `force` Orbax leaves out steps off its own interval, without a word.
            self._manager.save(step, args=items, force=True)

    def wait(self) -> None:
        """Wait for the save under way.

        Raises:
            TrainingError: it failed. Older checkpoints are as they were.
        """
        with self._readable_failure():
            self._manager.wait_until_finished()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Leave the block, in whatever way, only when no save is under way any more.

        For a block inside that of the feed, whose end frees Grain's shared memory from two threads.
        They may close the same file number twice, and a save may have opened it in between.
        """
        try:
            yield
        finally:
            self.wait()

    def restore(self, like: TrainState, step: int | None = None) -> tuple[TrainState, int]:
        """A saved state, and how many examples had been used by then.

        Args:
            like: shapes and dtypes that the state must have, and where each array goes: to the
                first device if it does not say.
            step: which checkpoint; if not given, the newest that is sound. Damaged ones are named
                on stderr.

        Raises:
            UserError: there is no such checkpoint, or it does not fit `like`.
        """
        self._manager.wait_until_finished()
        steps = self.steps()
        if not steps:
            raise UserError(f"run_dir: there is no checkpoint in {self.folder}")
        if step is not None and step not in steps:
            raise UserError(f"step: no checkpoint of step {step} in {self.folder}, only {steps}")
        if step is None:
            step = self.newest_sound()
            if step is None:
                raise UserError(f"run_dir: no checkpoint in {self.folder} is sound")
        elif not self._is_sound(step):
            raise UserError(f"step: the checkpoint of step {step} is damaged; there are {steps}")
        return self._restore(like, step)

    def newest_sound(self) -> int | None:
        """The newest step whose files are what was written; None if there is none.

        Damaged ones are named on stderr, and moved aside before the next save.
        """
        for step in reversed(self.steps()):
            if self._is_sound(step):
                return step
            self._damaged.add(step)
        return None

    def set_aside_damaged(self) -> None:
        """Move what was found damaged to `damaged/`.

        Beside it Orbax would save no earlier step, without a word.
        """
        for step in self._damaged if is_leader() else ():
            aside = self.folder.parent / "damaged" / f"{step}-{time.time_ns()}"
            aside.parent.mkdir(exist_ok=True)
            (self.folder / str(step)).rename(aside)
        if self._damaged:
            agree(0)  # the others wait until they are moved
            self._damaged.clear()
            self._manager.reload()

    def _is_sound(self, step: int) -> bool:
        """Whether all files are what was written; of several processes, the leader looks."""
        found = find_damage(self.folder / str(step)) if is_leader() else ()
        damage = list(itertools.islice(found, _SHOWN))
        if damage:
            text = f"warning: {self.folder / str(step)} is damaged and not used: "
            print(text + ", ".join(damage), file=sys.stderr)
        return not agree(bool(damage))

    def _restore(self, like: TrainState, step: int) -> tuple[TrainState, int]:
        self._check_fit(step, like)
        device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        target = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(
                leaf.shape, leaf.dtype, sharding=leaf.sharding or device
            ),
            like,
        )
        items = self._manager.restore(
            step,
            args=ocp.args.Composite(
                state=ocp.args.StandardRestore(target), position=ocp.args.JsonRestore()
            ),
        )
        return items["state"], int(items["position"]["examples_seen"])

    @contextmanager
    def _readable_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # Orbax and the libraries below it raise anything
            sound = sorted(int(p.name) for p in self.folder.glob("*") if p.name.isdigit())
            raise TrainingError(
                f"a checkpoint could not be written to {self.folder}: "
                f"{first_line(error)[:300]}\n"
                + (f"Saved before and kept: {sound}" if sound else "Nothing was saved before.")
            ) from None

    def _write_digests(self) -> None:
        """Called by Orbax when all files are written, before the folder gets its name."""
        for draft in self.folder.glob("*.orbax-checkpoint-tmp") if is_leader() else ():
            write_digests(draft)

    def _check_fit(self, step: int, like: TrainState) -> None:
        """Compare leaf by leaf first: Orbax casts another dtype without a word."""
        saved = _leaves(self._manager.item_metadata(step)["state"])
        wanted = _leaves(like)
        lines = [
            f"{name}: saved {saved.get(name, 'nothing')}, this config needs "
            f"{wanted.get(name, 'nothing')}"
            for name in wanted | saved
            if saved.get(name) != wanted.get(name)
        ]
        if lines:
            where = f"{self.folder / str(step)} holds another state than this code and config make;"
            rest = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
            raise UserError(
                "\n".join([f"{where} use the ones it was saved with", *lines[:_SHOWN], *rest])
            )


def restore_run(run_dir: Path, step: int | None) -> tuple[TrainConfig, TrainState]:
    """The config and a saved state of the run in a folder.

    Raises:
        UserError: there is no run or no such checkpoint, or there are no devices.
    """
    config = read_config(run_dir)
    start_devices()
    for line in younger_fields(run_dir, config):
        print(line, file=sys.stderr)
    if not (run_dir / CHECKPOINTS).exists():
        raise UserError(f"run_dir: {run_dir} holds no checkpoint yet")
    with Checkpoints(run_dir) as checkpoints:
        state, _ = checkpoints.restore(abstract_state(config, root_key(config.seed)), step)
    return config, state


def _leaves(tree: PyTree) -> dict[str, str]:
    """Dtype and shape of each array by its name; a random key as the integers it is stored as."""
    described = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.eval_shape(jax.random.key_data, leaf)
        described[dotted(path)] = f"{leaf.dtype}{list(leaf.shape)}"
    return described
