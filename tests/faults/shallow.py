"""The model of the fault tests: the default one with only the first of its six layers, which takes a sixth of the time.

All else is the default model's: tokenizer, dimensions, longest sequence, pooling. Its vectors mean less, but different templates of the
records still have different vectors (checked in `test_oracle`), which is all the oracle needs.
"""

import json
import shutil
from pathlib import Path

from safetensors.numpy import load_file, save_file

from tests.model_fixture import CACHE, one_at_a_time
from worker.embedding.model.folder import WEIGHTS, default_folder
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.staging import staging_folder

_LAYERS = 1
_FOLDER = CACHE / f"shallow-{_LAYERS}"


def shallow_model() -> PreparedModel:
    """Return the prepared model; it is written once for all test runs, beside the default model."""
    with one_at_a_time():
        if not _FOLDER.is_dir():
            with staging_folder(CACHE) as staging:
                _write(staging)
                staging.rename(_FOLDER)
        return prepare_model(_FOLDER, CACHE)


def _write(folder: Path) -> None:
    whole = default_folder()
    shutil.copytree(whole, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(WEIGHTS))
    config = json.loads((whole / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": _LAYERS}), encoding="utf-8")
    weights = {name: weight for name, weight in load_file(whole / WEIGHTS).items() if _layer(name) < _LAYERS}
    save_file(weights, folder / WEIGHTS)


def _layer(weight: str) -> int:
    """Return the layer of a weight; weights outside all layers count as the first's."""
    parts = weight.split(".")
    return int(parts[parts.index("layer") + 1]) if "layer" in parts else 0
