"""Helm, kubeconform and a program that evaluates formulas as KEDA does: built once into `.cache/`, of the versions in `programs/go.sum`.

The first build compiles Helm with its clients: minutes. Raises ServerMissing without Go, or where modules cannot be downloaded.
"""

import hashlib
import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services.fetched import fetched
from tests.services.missing import ServerMissing

BUILD_S = 1800
_SOURCE = Path(__file__).with_name("programs")
_PACKAGES = (".", "github.com/yannh/kubeconform/cmd/kubeconform", "helm.sh/helm/v4/cmd/helm")
_RUN_S = 120


def go_programs() -> Path:
    """Return the folder with `helm`, `kubeconform` and `kubernetes_check`."""
    sources = [_SOURCE / name for name in ("go.mod", "go.sum", "main.go")]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    return fetched(f"kubernetes-programs-{digest}", _build)


def run_go(*words: str, folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Run the Go command; return what it prints. Raises ServerMissing."""
    go = shutil.which("go")
    if go is None:
        raise ServerMissing("go is not installed (it builds Helm and kubeconform)")
    # The user's own Go settings say how modules are fetched, even where HOME is another folder.
    settings = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".config" / "go" / "env"
    own = {"GOENV": str(settings)} if settings.is_file() else {}
    environment = {**own, **os.environ, "GOTOOLCHAIN": "local", **(variables or {})}
    done = subprocess.run([go, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False)
    if done.returncode != 0:
        raise ServerMissing(f"go {words[0]}: {(done.stderr or done.stdout)[-1000:]}")
    return done.stdout


def values_of(formula: str, said: Sequence[Mapping[str, float]]) -> list[float | str]:
    """Return what KEDA makes of a formula for each set of the triggers' values; the error where it is refused."""
    asked = json.dumps([{"formula": formula, "values": dict(values)} for values in said])
    program = go_programs() / "kubernetes_check"
    done = subprocess.run([program], input=asked, capture_output=True, text=True, timeout=_RUN_S, check=True)
    return [one.get("value", one.get("error")) for one in json.loads(done.stdout)]


def _build(folder: Path) -> None:
    folder.mkdir()
    run_go("build", "-buildvcs=false", "-mod=readonly", "-o", f"{folder}/", *_PACKAGES, folder=_SOURCE)
