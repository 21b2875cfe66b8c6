"""`vectail model check`: compares token ids with those of the model's own tokenizer, and vectors with the golden ones.

Texts are the built-in sample, which is also compared at every start, and the user's files, read in batches of lines. Every line is
compared as it is and as the worker embeds it: masked, after the document prefix and after the query prefix. Models of the embedding
service are compared on the sample.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from producers.file_lines import FileUnreadable, LineTooLarge, find_files, read_files
from worker.cli.exits import user_error
from worker.cli.output import warn
from worker.embedding.loaded import load_model, model_of
from worker.embedding.model.errors import ModelError
from worker.embedding.parity_sample import SAMPLE, TokenDifference
from worker.embedding.pool.served_models import served_settings
from worker.embedding.tokenizer import Tokenizer
from worker.runtime.logs import configure_logs
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings
from worker.settings.tables import new_masker, new_redactor

_BATCH_LINES = 1_000
_SHOWN_IDS = 6


class ModelCheck:
    """Counts what was compared so far; stops at the first difference.

    Thread: main.
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings, prefixes: Collection[str]) -> None:
        self._tokenizer = tokenizer
        self._max_record_bytes = settings.decode.max_record_bytes
        self._redactor = new_redactor(settings.redact)
        self._masker = new_masker(settings.mask)
        self._prefixes = sorted(set(prefixes))
        self.lines = 0
        self.too_large = 0
        self.texts = 0
        self.foreign_texts = 0
        self.difference: TokenDifference | None = None

    def compare_sample(self) -> None:
        """Compare the built-in sample of mostly unusual texts; it is not counted."""
        self.difference = self._tokenizer.first_difference(self._texts(SAMPLE))

    def compare(self, lines: Sequence[str]) -> None:
        """Compare the lines, and their embedded texts where these differ from the lines."""
        texts = self._texts(lines)
        before = self._tokenizer.fallback_texts
        self.difference = self._tokenizer.first_difference(texts)
        self.lines += len(lines)
        self.texts += len(texts)
        self.foreign_texts += self._tokenizer.fallback_texts - before

    def _texts(self, lines: Sequence[str]) -> list[str]:
        masked = self._masker.mask(self._redactor.redact(lines))
        embedded = [prefix + text for prefix in self._prefixes for text in masked]
        return [*lines, *(text for text, line in zip(embedded, [*lines] * len(self._prefixes), strict=True) if text != line)]

    def compare_files(self, files: Sequence[str]) -> None:
        """Compare every line of the files; `-` is standard input. Raises FileUnreadable."""
        lines = self._lines(files)
        while self.difference is None and (batch := list(islice(lines, _BATCH_LINES))):
            self.compare(batch)

    def _lines(self, files: Sequence[str]) -> Iterator[str]:
        for line in read_files(files, say=warn, max_record_bytes=self._max_record_bytes):
            if isinstance(line, LineTooLarge):
                self.too_large += 1
            else:
                yield line.decode("utf-8", "replace")


def check_model(settings: Settings, files: Sequence[str]) -> dict[str, Any]:
    """Compare token ids, then load the engine and check its vectors; returns what `--json` prints. Raises CommandFailed."""
    configure_logs()
    try:
        facts = _checked(settings, find_files(files, warn))
    except (FileUnreadable, ModelError) as error:
        raise user_error(error) from error
    return facts | {"served": [_checked_served(settings, table) for table in settings.serve.model]}


def _checked_served(settings: Settings, table: ServedModelTable) -> dict[str, Any]:
    try:
        facts = _checked(served_settings(settings, table), [])
    except ModelError as error:
        raise user_error(f"serve.model {table.name}: {error}") from error
    return {"model": table.name, **{name: facts[name] for name in ("equal", "tokenizer", "engine", "difference")}}


def _checked(settings: Settings, files: Sequence[str]) -> dict[str, Any]:
    model = model_of(settings)
    tokenizer = Tokenizer(model)
    try:
        check = ModelCheck(tokenizer, settings, (model.document_prefix, model.query_prefix))
        check.compare_sample()
        check.compare_files(files)
    finally:
        tokenizer.close()
    engine = None if check.difference else _checked_engine(settings)
    return {
        "model": model.name,
        "equal": check.difference is None,
        "lines": check.lines,
        "texts": check.texts,
        "foreign_texts": check.foreign_texts,
        "foreign_share": round(check.foreign_texts / max(check.texts, 1), 6),
        "too_large": check.too_large,
        "tokenizer": "llama.cpp" if tokenizer.uses_llama else "tokenizers",
        "engine": engine,
        "difference": check.difference and _described(check.difference),
    }


def shown_check(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts as text for a person, by name."""
    shown = {"model": facts["model"], "tokenizer": facts["tokenizer"], "compared": "the built-in sample"}
    if facts["lines"]:
        shown["compared"] += f" and {facts['lines']:,} lines, as they are and as they are embedded: {facts['texts']:,} texts"
        shown["of these"] = f"{facts['foreign_texts']:,}, {facts['foreign_share']:.2%}, are left to the model's own tokenizer"
    if facts["too_large"]:
        shown["left out"] = f"{facts['too_large']:,}, longer than decode.max_record_bytes"
    if facts["equal"]:
        shown["ids"] = "all equal to those of the model's own tokenizer"
        shown["vectors"] = f"engine {facts['engine']} gives the golden vectors"
    if sound := [one["model"] for one in facts["served"] if one["equal"]]:
        shown["served"] = f"{', '.join(sound)}: ids and vectors are right, too"
    return shown


def shown_difference(difference: dict[str, Any]) -> str:
    """Return the first difference in one line: the text, and the ids from the first one that differs."""
    place = difference["place"]
    found, wanted = (str(difference[whose][place : place + _SHOWN_IDS]) for whose in ("found", "wanted"))
    return f"ids differ on {difference['shown']}; from token {place}: {found} here, {wanted} from the model's own tokenizer"


def _checked_engine(settings: Settings) -> str:
    loaded = load_model(settings)
    loaded.engine.close()
    return loaded.engine.name


def _described(difference: TokenDifference) -> dict[str, object]:
    return {
        "text": difference.text,
        "shown": difference.quoted(),
        "place": difference.first_index(),
        "found": difference.found.tolist(),
        "wanted": difference.wanted.tolist(),
    }
