"""Compiles the C files into a wheel, which is then for this platform. A build hook of hatchling; an editable install has `make native`."""  # noqa: INP001 - a script

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileHook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it packs a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add the libraries to what is packed. Raises `CalledProcessError`; the compiler says why."""
        if version != "editable":
            subprocess.run([sys.executable, "deploy/compile_c.py"], cwd=self.root, check=True)
            build_data.update(pure_python=False, infer_tag=True, artifacts=["*.c.so"])
