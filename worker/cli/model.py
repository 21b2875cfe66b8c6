"""`vectail model prepare` and `show`: prepares the model if needed, and returns the facts about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worker.cli.exits import user_error
from worker.embedding.loaded import known_engine, model_of, space_of, speed_record
from worker.embedding.model.errors import ModelError
from worker.settings.settings import Settings

_MB = 1_000_000


def model_facts(settings: Settings) -> dict[str, object]:
    """Prepare the configured model unless it is prepared already, and return what `--json` prints. Raises CommandFailed."""
    try:
        model = model_of(settings)
        return {
            "name": model.name,
            "dim": model.dim,
            "max_tokens": model.max_tokens,
            "pooling": model.pooling,
            "document_prefix": model.document_prefix,
            "query_prefix": model.query_prefix,
            "vocabulary": model.vocabulary_size,
            "space": space_of(model).id,
            "folder": str(model.folder),
            "gguf": str(model.gguf),
            "gguf_bytes": model.gguf.stat().st_size,
            "engine": known_engine(settings, model),
            "measured_texts_per_s": speed_record(settings, model).read(),
        }
    except ModelError as error:
        raise user_error(error) from error


def shown_model(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts as text for a person, by name."""
    rates = ", ".join(f"{name} {rate:.0f}" for name, rate in facts["measured_texts_per_s"].items())
    return {
        "name": facts["name"],
        "vectors": f"{facts['dim']} dimensions, length 1",
        "longest text": f"{facts['max_tokens']} tokens",
        "pooling": facts["pooling"],
        "document prefix": repr(facts["document_prefix"]) if facts["document_prefix"] else "none",
        "query prefix": repr(facts["query_prefix"]) if facts["query_prefix"] else "none",
        "vocabulary": f"{facts['vocabulary']:,} tokens",
        "embedding space": facts["space"],
        "prepared in": facts["folder"],
        "weights": f"{Path(facts['gguf']).name}, {facts['gguf_bytes'] / _MB:.1f} MB",
        "engine": facts["engine"] or "the fastest one, which the first start measures",
        **({"measured here": f"{rates} golden texts a second"} if rates else {}),
    }
