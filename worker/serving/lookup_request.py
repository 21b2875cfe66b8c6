"""The body of `POST /api/lookup`: a pasted line, typed and bounded."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.asking.filters import LABEL_CHARACTERS, TimeMs
from worker.serving.responses import HttpError

MOST_LINE_CHARACTERS: Final = 60_000
DAY_MS: Final = 24 * 3_600_000
_SHOWN_CHARACTERS: Final = 100


class LookupRequest(BaseModel):
    """What is asked of a line."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    line: Annotated[str, Field(min_length=1, max_length=MOST_LINE_CHARACTERS)]
    topic: Annotated[str, Field(min_length=1, max_length=LABEL_CHARACTERS)] | None = None
    new_since_ms: TimeMs


def read_lookup(body: Mapping[str, object], now_ms: int) -> LookupRequest:
    """Return what a body asks; unless it says so, what was first seen in the day before `now_ms` is new. Raises HttpError."""
    try:
        return LookupRequest.model_validate({"new_since_ms": now_ms - DAY_MS, **body})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))[:_SHOWN_CHARACTERS]
        raise HttpError(400, "bad_query", first["msg"], field=field) from None
