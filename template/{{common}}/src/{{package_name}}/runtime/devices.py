"""The mesh of a run, on the devices that there are."""

import os
from collections.abc import Iterator

import jax
from jax.sharding import Mesh

from ..configs import MeshConfig, TrainConfig
from ..core.checks import Problem
from ..core.errors import UserError, first_line
from ..core.sharding import make_mesh


def fake_devices(count: int, is_dry_run: bool) -> None:
    """Have the CPU stand for so many devices; comes before anything else that uses one.

    Raises:
        UserError: training on them would be slower than on one, and tell nothing.
    """
    if not is_dry_run:
        raise UserError("--fake-devices: only together with --dry-run")
    if count < 1:
        raise UserError(f"--fake-devices: must be at least 1, got {count}")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)


def start_devices() -> None:
    """Start the backend of JAX, for those who are about to use it.

    Raises:
        UserError: the environment asks for devices that are not there.
    """
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # what JAX raises differs by platform
        raise UserError(
            f"JAX_PLATFORMS: JAX finds no device of {os.environ.get('JAX_PLATFORMS')} here "
            f"({first_line(error)}). Name another, name none, or install the extra for these "
            "devices (README.md)"
        ) from None


def open_mesh(config: MeshConfig) -> Mesh:
    """The mesh that a config describes; `mesh_problems` says whether there is one."""
    return make_mesh(_groups(config), config.fsdp, config.tensor)


def mesh_problems(config: TrainConfig) -> Iterator[Problem]:
    """What does not fit between a config and the devices that there are."""
    mesh, count = config.mesh, jax.device_count()
    used = _groups(mesh) * mesh.fsdp * mesh.tensor
    axes = f"mesh.fsdp {mesh.fsdp} x mesh.tensor {mesh.tensor}"
    if mesh.data == -1 and (used == 0 or used != count):
        yield "mesh", f"{axes} must divide the number of devices, {count}; or give mesh.data"
        return
    if used > count or (used < count and jax.process_count() > 1):
        yield (
            "mesh",
            f"mesh.data {mesh.data} x {axes} makes {used} devices, and there are {count}",
        )
        return
    parts, batch_size = _groups(mesh) * mesh.fsdp, config.data.batch_size
    if batch_size % (parts * config.accumulate):
        accumulated = f" in {config.accumulate} steps" if config.accumulate > 1 else ""
        yield (
            "data.batch_size",
            f"{batch_size}{accumulated} is not divisible by {parts}, the number of devices that "
            f"share a batch (mesh.data {_groups(mesh)} x mesh.fsdp {mesh.fsdp})",
        )
    if config.debug_nans and jax.process_count() > 1:
        yield "debug_nans", "works in a single process only"


def _groups(config: MeshConfig) -> int:
    if config.data != -1:
        return config.data
    return jax.device_count() // (config.fsdp * config.tensor)
