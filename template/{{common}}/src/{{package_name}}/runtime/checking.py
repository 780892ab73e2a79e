"""All that can be wrong with a run, found before anything is written."""

from collections.abc import Iterator

from ..configs import TrainConfig
from ..core.checks import Problem, find_problems, refuse
from ..core.errors import UserError
from ..data.sources import load_split, num_examples, open_source
from .config_files import config_text
from .devices import mesh_problems, start_devices
from .processes import check_alike


def check_run(config: TrainConfig) -> None:
    """Check a config by itself, against the data that it names, and against the devices.

    Raises:
        UserError: one line for each problem, with the dotted name of the field; or there are no
            devices, or another process of the job has another config.
    """
    problems = list(find_problems(config))
    start_devices()
    if not any(name.startswith("data.") for name, _ in problems):
        problems += _data_problems(config)
    if not problems:
        problems += mesh_problems(config)
    refuse(problems)
    check_alike(config_text(config))


def _data_problems(config: TrainConfig) -> Iterator[Problem]:
    try:
        if config.loader.stream:
            size = len(open_source(config.data, "train"))
        else:
            size = num_examples(load_split(config.data, "train"))
        load_split(config.data, "test")
    except UserError as error:
        name, _, message = str(error).partition(": ")
        yield name, message
        return
    if config.data.batch_size > size:
        yield (
            "data.batch_size",
            f"must be at most {size}, the number of training examples, "
            f"got {config.data.batch_size}",
        )
