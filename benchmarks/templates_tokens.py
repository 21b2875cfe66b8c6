"""The share of tokens that need not be embedded because their template is known, as `benchmarks.retrieval` counts it, without an engine."""

import contextlib
from collections.abc import Sequence

from benchmarks.retrieval_scores import spend
from consumers.columns import string_column
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker
from consumers.text.split_long import PieceLimits
from sinks.line import PIECE_BYTES
from worker.embedding.loaded import model_of
from worker.embedding.tokenizer import Tokenizer
from worker.settings.settings import load_settings

_MAX_CHUNKS = 10_000


def tokens_saved(masker: Masker, lines: Sequence[str]) -> float:
    """Return 1 - (tokens of the distinct template texts) / (tokens of the template texts of all lines), from a cold cache.

    The lines are split as the worker splits them; prefix and special tokens count. Raises ModelError.
    """
    model = model_of(load_settings(None))
    with contextlib.closing(Tokenizer(model)) as tokenizer:
        cut = Chunker(
            mask=masker.mask_column,
            count_tokens=lambda texts: tokenizer.count([model.document_prefix + text for text in texts]).tolist(),
            limits=PieceLimits(
                max_tokens=model.max_tokens,
                overhead_tokens=int(tokenizer.count([model.document_prefix])[0]),
                max_text_bytes=PIECE_BYTES,
                max_chunks=_MAX_CHUNKS,
            ),
        ).split(string_column(lines))
        tokens = tokenizer.count([model.document_prefix + text for text in cut.template.values])
        return spend(cut.template.codes.tolist(), tokens).saved_share
