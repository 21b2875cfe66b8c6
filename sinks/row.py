"""Templates as a sink stores them, and the ids of templates and lines.

A template id is a pure function of the template's text: it outlives the model, and no block depends on one.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

TEMPLATE_TEXT_BYTES = 65_535
"""Most UTF-8 bytes of a template's text."""


TemplateText = NewType("TemplateText", str)
"""The masked text of a piece of a line, without the prefix of a model."""
TemplateId = NewType("TemplateId", str)
"""32 hex digits; see `template_id`."""
TemplateKey = NewType("TemplateKey", int)
"""A signed number of 64 bits; see `template_key`."""
Vector = NDArray[np.float32]
"""float32[dim], of length 1: engines scale every vector, whatever the model."""


class TemplateRow(NamedTuple):
    """One template: a pure function of its id, so who writes it and how often does not matter.

    Thread: any.
    """

    template: TemplateId
    """The primary key."""
    vector: Vector
    """Finite."""
    text: TemplateText
    """The masked text that was embedded, at most `TEMPLATE_TEXT_BYTES` of UTF-8."""


def template_id(text: TemplateText) -> TemplateId:
    """Return the id of a template: BLAKE2b-128 of its text, 32 hex digits. Lone surrogates count as `?`."""
    return TemplateId(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest())


def template_key(template: TemplateId) -> TemplateKey:
    """Return the first 8 bytes of a template id as a signed number: what blocks name templates by."""
    return TemplateKey(int.from_bytes(bytes.fromhex(template[:16]), "big", signed=True))


def template_keys(templates: Iterable[TemplateId]) -> NDArray[np.int64]:
    """Return the keys of n template ids: int64[n]."""
    halves = bytes.fromhex("".join(template[:16] for template in templates))
    return np.frombuffer(halves, dtype=">i8").astype(np.int64)


def line_id(topic: str, epoch: str, partition: int, offset: int, sub: int, chunk: int) -> str:
    """Return where a line came from, as users see it; injective, because a topic's name holds neither `@` nor `/`."""
    return f"{topic}@{epoch}/{partition}/{offset}/{sub}/{chunk}"
