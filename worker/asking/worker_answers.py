"""What the documents and actions of a worker hold, likewise: status, lag, dead letters, the doctor, suggested masks, sessions, health."""

from typing import Annotated, Literal, NotRequired, TypedDict

from worker.asking.answers import Count, Ms, OutlookJson, Says, Seconds

Doctored = Literal["ok", "warning", "problem"]


class SessionJson(TypedDict):
    """Of `GET /api/session`."""

    needs_token: bool
    signed_in: bool
    csrf: str
    worker: str
    version: str


class SignInJson(TypedDict):
    """A request."""

    token: str


class SignedInJson(TypedDict):
    """The answer to it."""

    signed_in: bool
    csrf: str


class SignedOutJson(TypedDict):
    """Of `DELETE /api/session`."""

    signed_in: bool


class VerdictJson(TypedDict):
    """Whether the worker is well."""

    status: str
    checks: dict[str, str]


class QuantilesJson(TypedDict):
    """Of seconds."""

    p50_s: float | None
    p99_s: float | None


class SearchableJson(QuantilesJson):
    """How long lines took to be found."""

    lines: Count
    since_start: NotRequired[bool]


class CanaryJson(QuantilesJson):
    """What became of the canary's lines."""

    found: Count
    lost: Count


class EngineJson(TypedDict):
    """The engine, and what it does."""

    name: str
    model: str
    is_up: bool
    busy_share: float | None
    templates: Count
    tokens: Count
    restarts: NotRequired[Count]


class RatesJson(TypedDict):
    """Of the last seconds."""

    lines_per_s: float | None


class SavedJson(TypedDict):
    """What templates save of a topic."""

    topic: str
    lines: Count
    chunks: Count
    tokens: Count
    tokens_saved: Count
    saved_share: float | None


class IndexJson(TypedDict):
    """What is stored."""

    blocks: Count | None
    templates: Count | None
    lines: Count | None
    written_lines: NotRequired[Count]


class DependencyJson(TypedDict):
    """What the worker needs."""

    name: str
    state: Literal["ok", "away"]
    reason: str
    since_ms: Ms | None


class AssignedJson(TypedDict):
    """A partition that the worker reads."""

    group: str
    topic: str
    partition: Count


class FaultJson(TypedDict):
    """A warning or an error of the log."""

    time_ms: Ms | None
    level: str
    event: str
    count: Count


class ConditionJson(TypedDict):
    """A condition of the alert rules."""

    name: str
    severity: Literal["warning", "critical"]
    state: Literal["ok", "firing"]
    summary: str
    what_to_do: str
    look_at: NotRequired[str]
    since_ms: Ms | None


class ServedModelJson(TypedDict):
    """A model of the embedding service."""

    name: str
    state: Literal["absent", "loading", "ready", "draining", "failed"]
    bytes: Annotated[Count | None, Says("description", "of the budget; null for the default model, which is beside it")]
    requests: Annotated[Count, Says("description", "that have got their vectors")]
    backlog_s: Annotated[Seconds, Says("description", "of work that waits for it")]
    error: Annotated[str, Says("description", "why the last attempt to load it failed; empty if it did not")]


class StatusJson(TypedDict):
    """Of `/api/status`."""

    version: str
    worker: Annotated[str, Says("description", "the process that answers")]
    phase: Literal["starting", "running", "stopping"]
    indexes: Annotated[bool, Says("description", "whether it reads the log topics; false: it only answers (kafka.index)")]
    now_ms: Ms
    uptime_s: Seconds
    ready: VerdictJson
    alive: VerdictJson
    searchable: SearchableJson | None
    canary: CanaryJson | None
    engine: EngineJson
    rates: RatesJson
    savings: list[SavedJson]
    index: IndexJson
    masks: str
    dependencies: list[DependencyJson]
    assignments: list[AssignedJson]
    errors: list[FaultJson]
    conditions: list[ConditionJson]
    served_models: Annotated[list[ServedModelJson], Says("description", "of the embedding service; empty where it is off")]
    index_models: Annotated[Count, Says("description", "2 while its model changes, or the one before is kept: see /api/reindex")]


class PeerJson(TypedDict):
    """A worker of `http.peers`, as the one that is asked sees it."""

    address: str
    worker: Annotated[str, Says("description", "its process; empty if it is away")]
    version: str
    state: Literal["ready", "not_ready", "away"]
    reason: Annotated[str, Says("description", "what it lacks, or why there is no answer")]
    firing: Annotated[list[str], Says("description", "conditions that fire")]
    partitions: Count
    lines_per_s: float | None
    is_self: Annotated[bool, Says("description", "whether it is the one that is asked")]


class WorkersJson(TypedDict):
    """Of `/api/workers`."""

    workers: list[PeerJson]


class BehindJson(OutlookJson):
    """How far a partition, or a group, is behind."""

    records: Count
    seconds: float | None


class MemberJson(TypedDict):
    """A consumer of a group."""

    member: str
    host: str
    partitions: list[str]


class PartitionLagJson(BehindJson):
    """One partition."""

    topic: str
    partition: Count
    committed: int | None
    end: int | None
    member: str | None
    history: Annotated[list[tuple[int, int]], Says("description", "[milliseconds since 1970, records], oldest first")]


class GroupLagJson(BehindJson):
    """One consumer group."""

    group: str
    kind: Literal["logs", "queries"]
    state: str
    protocol: str | None
    members: list[MemberJson]
    most_records: NotRequired[Annotated[Count, Says("description", "of the partition that is furthest behind")]]
    read_ms: NotRequired[Annotated[Ms | None, Says("description", "when Kafka last answered")]]
    partitions: list[PartitionLagJson]


class LagJson(TypedDict):
    """Of `/api/lag`."""

    asked_ms: Ms
    groups: list[GroupLagJson]
    error: Annotated[str | None, Says("description", "why Kafka does not answer; the figures are the last known ones then")]


class LetterJson(TypedDict):
    """A dead letter."""

    id: Annotated[str, Says("description", "PARTITION/OFFSET in the dead-letter topic")]
    topic: str
    partition: Annotated[Count | None, Says("description", "null if the letter does not say")]
    offset: Count | None
    time_ms: Ms
    stage: str
    kind: str
    reason: str
    preview: str
    size_bytes: Count
    pieces: NotRequired[Count | None]
    replayable: bool
    obstacle: Annotated[str, Says("description", "why it cannot be replayed; empty if it can")]
    setting: Annotated[str, Says("description", "which setting decides that such a record is refused; empty if none does")]
    way_back: Annotated[str, Says("description", "how it is replayed, where it does not hold all of its record; else empty")]
    replayed: bool
    partly_replayed: NotRequired[bool]


class ReasonCountJson(TypedDict):
    """How many letters have one reason."""

    reason: str
    topic: str
    letters: Count


class DeadLettersJson(TypedDict):
    """Of `/api/dead-letters`."""

    letters: list[LetterJson]
    by_reason: list[ReasonCountJson]
    total: Count
    replayed: NotRequired[Count]
    complete: bool
    dead_letter_topic: str


class ReplayJson(TypedDict):
    """A request to replay."""

    ids: Annotated[list[Annotated[str, Says("pattern", r"^\d+/\d+$")]], Says("minItems", 1), Says("maxItems", 100)]


class UnresolvedJson(TypedDict):
    """A letter that was not replayed."""

    id: str
    reason: str


class ReplayedJson(TypedDict):
    """What became of it."""

    replayed: Count
    already: NotRequired[Count]
    partly: Count
    left: Count
    lines: Count
    unresolved: list[UnresolvedJson]


class CheckJson(TypedDict):
    """One check of the doctor."""

    name: str
    group: str
    state: Doctored
    found: str
    what_to_do: str


class DoctorJson(TypedDict):
    """Of `/api/doctor`."""

    checks: list[CheckJson]
    worst: Doctored
    seconds: Seconds
    asked_ms: Ms


class SuggestedJson(TypedDict):
    """A mask that could be added."""

    name: str
    pattern: str
    replacement: str
    templates: Annotated[Count, Says("description", "that become `templates_after` ones")]
    templates_after: Count
    lines: Annotated[Count, Says("description", "of the sample, that have these templates")]
    words: Annotated[Count, Says("description", "distinct words that it takes out")]
    examples: list[str]
    template: Annotated[str, Says("description", "the most frequent one that results")]


class SuggestionsJson(TypedDict):
    """Of `/api/suggestions`."""

    topic: Annotated[str, Says("description", "whose own masks hold; empty: those of [mask] do")]
    table: Literal["mask", "topic.mask"]
    masks: str
    families: Annotated[Count, Says("description", "that differ in one word, and would become fewer")]
    lines: Annotated[Count, Says("description", "that were looked at: one of each of the most frequent families")]
    templates: Count
    templates_after: Count
    suggestions: list[SuggestedJson]
    toml: Annotated[str, Says("description", "the suggestions as tables for the settings file; empty without any")]
    complete: bool
