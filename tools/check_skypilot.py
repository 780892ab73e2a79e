"""Have SkyPilot itself read a project's job, which compares it with its schema; starts nothing.

python tools/check_skypilot.py FILE
"""

import sys

import sky


def main() -> int:
    path = sys.argv[1]
    task = sky.Task.from_yaml(path)
    resources, mounts = list(task.resources), list(task.storage_mounts)
    print(f"SkyPilot {sky.__version__} reads {task.name}: {resources}, buckets at {mounts}")
    (resource,) = resources
    return 0 if resource.accelerators and resource.use_spot and mounts == ["/runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
