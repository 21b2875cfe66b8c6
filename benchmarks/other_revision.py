"""Unpacks another revision of this project, to be compared with."""

import io
import subprocess
import tarfile
from pathlib import Path

_MAKEFILE = "Makefile"


def unpack(root: Path, revision: str, folder: Path, *packages: str) -> None:
    """Unpack a revision, or only some of its packages, into a folder and compile its C files.

    Raises `CalledProcessError`; its `stderr` says that there is no such revision, or what the compiler says.
    """
    paths = [*packages, _MAKEFILE] if packages else []
    command = ["git", "archive", "--end-of-options", f"{revision}^{{commit}}", *paths]
    archive = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout  # noqa: S603 - git, as installed
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    if any(folder.rglob("*.c")):
        subprocess.run(["make", "--silent", "native"], cwd=folder, check=True, capture_output=True)  # noqa: S607 - make, as installed
