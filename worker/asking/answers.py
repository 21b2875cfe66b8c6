"""What answers to questions hold, as they go out in JSON.

The types are also the schemas of `/openapi.json` (`worker.serving.json_schemas`).
An answer is a plain dict, built once and written: a `TypedDict` costs nothing when it is built. A program
that reads answers must not mind further keys.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypedDict

from worker.asking.question import Mode


class Says(NamedTuple):
    """What the schema of a type says further."""

    key: str
    value: object


Count = Annotated[int, Says("minimum", 0)]
Ms = Annotated[int, Says("description", "milliseconds since 1970")]
Seconds = Annotated[float, Says("description", "seconds")]
QUERY: Final = "query"
"""Says that it is one."""
NextQuery = Annotated[Mapping[str, object], Says(QUERY, ""), Says("description", "the question for what follows; null if nothing does")]


class ErrorReasonJson(TypedDict):
    """Why there is no answer."""

    code: str
    field: str
    reason: str


class ErrorJson(TypedDict):
    """What comes instead of an answer."""

    error: ErrorReasonJson


class LineJson(TypedDict):
    """A line."""

    text: Annotated[str | None, Says("description", "null if the line was sampled")]
    template: str
    template_text: str
    id: str
    topic: str
    partition: Count
    offset: Count
    sub: Count
    chunk: Count
    chunks: Count
    time: Ms
    kafka_time: Ms
    service: str
    level: str
    sampled: NotRequired[bool]
    fields: NotRequired[Annotated[dict[str, object] | str, Says("description", "kept fields, by name")]]


class FamilyFiguresJson(TypedDict, total=False):
    """How many lines a hit stands for."""

    family_templates: Count
    family_lines: Count
    family_first: Ms
    family_last: Ms


class GroupJson(TypedDict, total=False):
    """How a family is named."""

    family: str
    name: str


class ScoreJson(TypedDict, total=False):
    """How well something fits a text."""

    score: Annotated[float, Says("description", "cosine of the text and the template; by words, BM25")]
    similarity: Annotated[
        Literal["strong", "weak", "none"],
        Says("description", "what the cosine means in this model's space; left out where that is unknown"),
    ]


class AlikeJson(TypedDict):
    """A family that differs from a hit's in one word."""

    family: str
    word: str


class HitFamilyJson(GroupJson, FamilyFiguresJson):
    """What a hit says of its family."""


class HitJson(ScoreJson, LineJson, HitFamilyJson):
    """A line that a search found."""

    alike: NotRequired[Annotated[list[AlikeJson], Says("description", "families that it stands for as well, nearest first, 64 at most")]]


class CountedFamilyJson(GroupJson, ScoreJson):
    """A family whose lines count, and those that count with it because they differ in one word."""

    text: str
    alike: NotRequired[list[AlikeJson]]


class ExampleJson(TypedDict):
    """The newest line of what is listed; if it was removed meanwhile, nothing of it."""

    example: Annotated[str | None, Says("description", "its text")]
    service: NotRequired[str]
    level: NotRequired[str]
    time: NotRequired[Ms]
    kafka_time: NotRequired[Ms]


class FamilyJson(GroupJson, ScoreJson, ExampleJson):
    """A family, or a template."""

    template: NotRequired[str]
    text: str
    templates: NotRequired[Count]
    lines: Count
    first: Ms
    last: Ms


class CountedJson(GroupJson):
    """One group of lines; what it is counted by is under its name, a field as `field:NAME`."""

    time: NotRequired[Ms]
    text: NotRequired[str]
    lines: Count
    first: Ms
    last: Ms


class ChangeJson(GroupJson):
    """A family, or a template, whose rate differs."""

    change: Literal["new", "gone", "up", "down"]
    template: NotRequired[str]
    text: str
    level: Annotated[str, Says("description", "that most of its lines have; empty if they name none")]
    templates: Count
    lines: Count
    before: Count
    ratio: float | None
    first: Ms
    last: Ms


class ChangedGroupJson(TypedDict):
    """A value of a label or field in both windows; what it is grouped by is under its name, a field as `field:NAME`."""

    change: Literal["new", "gone", "up", "down", "same"]
    lines: Count
    before: Count
    ratio: float | None
    first: Ms
    last: Ms


class TotalsJson(TypedDict):
    """Lines of both windows."""

    lines: Count
    before: Count


class CompleteJson(TypedDict):
    """How much an answer holds."""

    complete: Annotated[bool, Says("description", "false when a bound or the deadline cut it short, or `behind` is there")]


class OutlookJson(TypedDict):
    """What becomes of a lag."""

    outlook: Literal["caught_up", "keeps_up", "catches_up", "falls_behind", "stands_still", "unknown"]
    outlook_text: Annotated[str, Says("description", "the same in words, as `vectail lag`, the doctor and the page say it")]
    caught_up_in_s: Annotated[tuple[float, float] | None, Says("description", "at least and at most; null unless it catches up")]


class TopicReachJson(OutlookJson):
    """How far the index is behind in a topic."""

    topic: str
    behind_records: Count
    indexed_until_ms: Ms


class ReachJson(TypedDict):
    """How far the index is, where an answer is made of all of it."""

    indexed_until_ms: NotRequired[
        Annotated[int | None, Says("description", "what came into Kafka before this is in the index; null where Kafka has not said yet")]
    ]
    behind_records: NotRequired[Annotated[int | None, Says("description", "records that wait in Kafka, as far as is known")]]
    behind: NotRequired[
        Annotated[
            list[TopicReachJson],
            Says("description", "topics whose records wait for longer than the index may take; empty: how far it is is not known"),
        ]
    ]


ADDED: Final = "seconds"
"""What the answer step adds to every answer that a form of question makes."""


class AnsweredJson(CompleteJson, ReachJson):
    """What every answer says besides."""

    mode: NotRequired[Mode]
    widened: NotRequired[Annotated[bool, Says("description", "true where all time was searched, not the window")]]
    nothing_close: NotRequired[
        Annotated[bool, Says("description", "true where nothing has to do with the text; what comes is the nearest nevertheless")]
    ]
    families: NotRequired[
        Annotated[list[CountedFamilyJson], Says("description", "whose lines a text means; if nothing_close, the nearest, not counted")]
    ]
    seconds: NotRequired[dict[str, float]]


class SameJson(TypedDict):
    """What lines around one have in common with it."""

    name: Annotated[str, Says("description", "service, or the name of a kept field")]
    value: Annotated[str | None, Says("description", "null where the line has none; then only the line itself comes")]


class HitsJson(AnsweredJson):
    """Lines that fit."""

    hits: list[HitJson]
    same: NotRequired[SameJson]
    counted: NotRequired[Annotated[list[str], Says("description", "ids of the hits' families, and those alike, that counts counts")]]


class TemplatesJson(AnsweredJson):
    """Families, or templates one by one."""

    templates: list[FamilyJson]


class NumbersJson(TypedDict):
    """Of the lines whose value of a field is a number."""

    lines: Count
    min: float
    p50: float
    p95: float
    p99: float
    max: float
    error: Annotated[float, Says("description", "how far percentiles may be off, as a share of them; 0: they are exact")]


class FieldStatisticsJson(TypedDict):
    """Of a field, over all lines that were counted."""

    lines: Count
    with_value: Annotated[Count, Says("description", "lines that have the field, with a value that is not empty")]
    values: Annotated[Count, Says("description", "how many values there are, at least")]
    all_values: Annotated[bool, Says("description", "false where there are more values than are counted one by one")]
    numbers: NumbersJson | None


class LookupJson(TypedDict):
    """A request to say what kind of line a pasted one is."""

    line: Annotated[str, Says("maxLength", 60_000)]
    topic: NotRequired[Annotated[str, Says("description", "whose settings mask it; default: those of all topics")]]
    new_since_ms: NotRequired[Annotated[int, Says("description", "it is new if its kind was first seen after this; default: 24 h ago")]]


class MaskedJson(TypedDict):
    """What masks leave of a pasted line."""

    template: str
    text: str
    topics: list[str]


class LookedUpJson(AnsweredJson):
    """What kind of line a pasted one is."""

    found: Annotated[bool, Says("description", "whether lines of this kind are in the index")]
    is_new: Annotated[bool | None, Says("description", "null if not found, or if the index itself begins after new_since_ms")]
    masked: list[MaskedJson]
    templates: Annotated[list[FamilyJson], Says("description", "of the line; if not found, the nearest")]


class OneCountJson(CompleteJson):
    """Lines by one grouping."""

    counts: list[CountedJson]
    by: list[str]
    bucket_ms: NotRequired[Annotated[int, Says("minimum", 1)]]
    statistics: NotRequired[Annotated[FieldStatisticsJson, Says("description", "of a field by which alone is counted")]]


class CountsJson(AnsweredJson, OneCountJson):
    """Lines counted."""


class SeveralCountsJson(AnsweredJson):
    """The same lines counted by several groupings."""

    groups: list[OneCountJson]


class ChangesJson(AnsweredJson):
    """What differs between two windows."""

    compare: list[ChangeJson | ChangedGroupJson]
    totals: TotalsJson
    begins_ms: NotRequired[
        Annotated[int, Says("description", "when the index begins, where that is too late to call anything new or rising; so nothing is")]
    ]


class ExportedJson(AnsweredJson):
    """A stretch of an export."""

    lines: list[LineJson]
    until_ms: Ms
    end_ms: Ms
    next: NextQuery | None


class TailedJson(AnsweredJson):
    """What is new."""

    lines: list[LineJson]
    cursor: str
    dropped: Count
    dropped_by_level: dict[str, Count]


CountedAnswerJson = CountsJson | SeveralCountsJson
SearchedJson = HitsJson | TemplatesJson | CountsJson | SeveralCountsJson | ChangesJson | ExportedJson | TailedJson


class ExportStateJson(TypedDict):
    """How an export ended."""

    state: Literal["complete", "stopped"]
    lines: Count
    until_ms: Ms | None
    end_ms: Ms | None
    next: NextQuery | None
    reason: str


class ExportEndJson(TypedDict):
    """The last line of an export."""

    export: ExportStateJson


class TailEventJson(CompleteJson):
    """An event of a tail."""

    lines: list[LineJson]
    dropped: Count
    dropped_by_level: dict[str, Count]
