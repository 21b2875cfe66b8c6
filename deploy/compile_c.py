"""Compiles what is too slow in Python: each C file of consumers/ and sinks/ becomes a library beside it, if it has changed.

`make native` and the build of a wheel run it, with any Python; CC and CFLAGS are what they are for make. A library holds the hash of its
source, which `consumers/native.py` compares. Their times say less: a copy or an older checkout.
"""  # noqa: INP001 - a script of its own, not part of a package

import os
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

OPTIONS = ("-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra")


def compile_changed(root: Path) -> None:
    """Compile the C files below a folder whose libraries are not theirs. Raises CalledProcessError; the compiler says why."""
    command = [*shlex.split(os.environ.get("CC", "cc")), *OPTIONS, *shlex.split(os.environ.get("CFLAGS", ""))]
    for source in sorted(file for leaf in ("consumers", "sinks") for file in (root / leaf).rglob("*.c")):
        library, digest = source.with_suffix(".c.so"), sha256(source.read_bytes()).hexdigest()
        if library.exists() and digest.encode() in library.read_bytes():
            continue
        hashed = f'const char source[] __attribute__((visibility("default"))) = "{digest}";\n'
        new = library.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, "-o", new, source, "-x", "c", "-"], input=hashed, text=True, check=True)  # noqa: S603 - the user's compiler
        new.replace(library)


def main() -> int:
    """Run the command; return its exit code."""
    try:
        compile_changed(Path(__file__).parents[1])
    except FileNotFoundError as error:
        sys.stderr.write(
            f"compile: {error.filename} is not there; a C compiler is needed (on Debian and Ubuntu: apt-get install build-essential)\n"
        )
        return 2
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
