"""Whether the model that is installed with vectail is the one that its authors released.

It comes in a package that somebody else maintains; its files are compared with the release before they are used for the first time. The
same files are the revision 1110a243 of `sentence-transformers/all-MiniLM-L6-v2`, so `model.folder` can name a copy from anywhere else.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.embedding.model.errors import ModelError

RELEASED: Final[Mapping[str, str]] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of each file that decides a vector, in hex."""


def check_released(folder: Path, released: Mapping[str, str] = RELEASED) -> None:
    """Raise ModelError unless every file is as released; a third of a second."""
    for name, wanted in released.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"the installed model cannot be read: {folder / name}: {error.strerror or error}") from None
        if found != wanted:
            raise ModelError(
                f"the installed model is not the released one: {folder / name} has SHA-256 {found}, expected {wanted}; "
                "install it again, or name a folder with a copy in model.folder"
            )
