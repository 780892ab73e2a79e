#!/usr/bin/env bash
# Every model on an accelerator, on a machine without a network.
#
#   benchmarks/gpu_check.sh prepare        here: render the projects, fetch the wheels the machine may lack
#   benchmarks/gpu_check.sh run [MODEL...] there: tests and a short training of each; a table last
#
# The machine has Linux, Python 3.12, and JAX with CUDA, Equinox, Optax, Orbax and pytest. What it
# lacks travels in build/gpu-check, beside this script. PLATFORM=cpu tries the script without a GPU.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$root/build/gpu-check
platform=${PLATFORM:-cuda}

prepare() {
    rm -rf "$work" && mkdir -p "$work/wheels"
    local python=$work/tools/bin/python
    python3 -m venv "$work/tools"
    "$work/tools/bin/pip" install -q copier
    for model in $("$python" -c "import yaml; c = yaml.safe_load(open('$root/copier.yml'))
print(*c['model']['choices'].values())"); do
        "$python" "$root/tools/render.py" "$work/$model" "model=$model" >/dev/null
        echo "rendered $model"
    done
    # For Python 3.12 on x86-64, whatever runs this. JAX and its plugin stay those of the machine.
    "$work/tools/bin/pip" download -q --no-deps --only-binary :all: --dest "$work/wheels" \
        --python-version 3.12 --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
        --platform manylinux_2_27_x86_64 --platform any \
        annotated-types attrs beartype cattrs cloudpickle contourpy cycler docstring-parser \
        execnet filelock flatbuffers fonttools hypothesis iniconfig jaxtyping joblib kiwisolver \
        markdown-it-py matplotlib mdurl narwhals packaging pillow pluggy pygments pyparsing pytest \
        pytest-xdist python-dateutil pyyaml rich scikit-learn six sortedcontainers threadpoolctl \
        typeguard typing-extensions tyro wadler-lindig
    rm -rf "$work/tools"
    du -sh "$work" | sed 's/^/to carry: /'
}

# The seconds and the last line of a command go to the table; all it prints goes to a log.
timed() {
    local name=$1 log=$2 start=$SECONDS status=ok
    shift 2
    "$@" >"$log" 2>&1 || status="FAILED ($?)"
    printf '%-28s %-12s %5d s  %s\n' "$name" "$status" $((SECONDS - start)) \
        "$(tail -n 1 "$log" | cut -c1-80)" >>"$work/table"
    [ "$status" = ok ] || { failed=1 && tail -n 40 "$log"; }
}

run() {
    [ -d "$work/wheels" ] || { echo "run 'gpu_check.sh prepare' first" >&2 && exit 2; }
    local site=$work/site failed=0
    rm -rf "$work/table" "$site" && mkdir "$site"
    # Only what is missing: a version that the machine has works with its JAX. A wheel is a zip.
    for wheel in "$work"/wheels/*.whl; do
        name=$(basename "$wheel" | cut -d- -f1)
        python3 -c "import importlib.metadata as m; m.version('$name')" 2>/dev/null \
            || python3 -m zipfile -e "$wheel" "$site"
    done
    local path=$site${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH=$path JAX_PLATFORMS=$platform XLA_PYTHON_CLIENT_PREALLOCATE=false
    unset PYTHONDONTWRITEBYTECODE
    python3 - "$platform" <<'PY' || exit 1
import sys

import jax

device = jax.devices()[0]
print(f"jax {jax.__version__} on {device.device_kind}, Python {sys.version.split()[0]}")
if device.platform != {"cuda": "gpu"}.get(sys.argv[1], sys.argv[1]):
    sys.exit(f"JAX runs on {device.platform}, not on {sys.argv[1]}")
PY
    local models=("$@")
    [ ${#models[@]} -gt 0 ] || mapfile -t models < <(cd "$work" && ls -d */ | tr -d / | grep -vE '^(wheels|site)$')
    for model in "${models[@]}"; do
        cd "$work/$model"
        export PYTHONPATH=$PWD/src:$path
        timed "$model: training" "$work/$model-train.log" \
            python3 scripts/train.py --run-dir "runs/$platform" --steps 300
        timed "$model: evaluation" "$work/$model-eval.log" \
            python3 scripts/eval.py --run-dir "runs/$platform"
        timed "$model: tests" "$work/$model-tests.log" python3 -m pytest -q -n 4 -p no:cacheprovider
        grep -oE '[0-9.e+]+ steps/s' "$work/$model-train.log" | tail -n 1 \
            | sed "s/^/$model: /" >>"$work/table" || true
    done
    echo && cat "$work/table"
    return "$failed"
}

case ${1:-} in
    prepare) prepare ;;
    run) shift && run "$@" ;;
    *) sed -n '2,8p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//' && exit 2 ;;
esac
