"""Every condition that somebody should know of, in one table: a worker judges it of itself, shows it on its page, and exports it.

Prometheus alerts on what workers export (`worker.watching.alert_rules` writes `deploy/prometheus/rules/vectail.yml`), and judges itself
only what no worker can say: that none answers.
"""

from typing import Final, Literal, NamedTuple

from worker.watching import judges
from worker.watching.judges import Judge

Severity = Literal["warning", "critical"]


class Condition(NamedTuple):
    """One of them; two of one name differ in severity."""

    name: str
    """Of the alert."""
    severity: Severity
    summary: str
    """While it holds, in one line, as a template of Prometheus: `$labels.about` is what it is about, `$labels.instance` the worker."""
    fine: str
    """While it does not hold, in one line."""
    description: str
    """What it means, and what to do."""
    runbook: str
    """Commands and places to look at."""
    judge: Judge | None = None
    """None: only Prometheus can judge."""
    expr: str = ""
    """What Prometheus is asked where there is no judge; else whether any worker says that it holds."""
    for_s: int = 0
    """How long it must hold."""


LAG: Final = (
    Condition(
        name="VectailLagGrowing",
        severity="warning",
        for_s=600,
        summary="{{ $labels.about }} is more than 5 minutes behind, and further than 10 minutes ago",
        fine="no partition is more than 5 minutes behind and further than 10 minutes ago",
        description='Lines arrive faster than they are indexed. On the dashboard "Pipeline", the stage that is busy nearly all the time is '
        "the bottleneck: add workers (no more than partitions), give the engine more cores or a GPU, or check the index.",
        runbook="vectail lag --watch; docker compose up --detach --scale worker=2",
        judge=judges.growing_lag,
    ),
    Condition(
        name="VectailStalled",
        severity="critical",
        for_s=300,
        summary="{{ $labels.about }} is behind and makes no progress",
        fine="every partition that is behind makes progress",
        description="A worker owns the partition and has committed nothing for minutes. Either a dependency does not answer (see "
        "VectailDependencyDown), or one record has been open all the time: `vectail_oldest_open_record_seconds` says how long, and the "
        "worker's log says what it waits for. Uncommitted records are read again, so a restart loses nothing.",
        runbook="vectail offsets show; the worker's log; then restart the worker",
        judge=judges.stalled,
    ),
    Condition(
        name="VectailOffsetRewound",
        severity="warning",
        summary="The committed offset of {{ $labels.about }} went back",
        fine="no committed offset went back in the last 10 minutes",
        description="vectail itself never moves an offset back. Either the group was reset, the topic was deleted and created again, or "
        "the broker lost commits. Records that are read again write the same rows, so nothing is stored twice; it only takes time.",
        runbook="vectail offsets show; vectail verify when it has caught up",
        judge=judges.rewound,
    ),
    Condition(
        name="VectailRecordsExpired",
        severity="critical",
        summary="Records of {{ $labels.about }} were deleted by Kafka before they were read",
        fine="Kafka deleted no record before it was read in the last 10 minutes",
        description="The topic's retention was shorter than the lag: these records are lost to the index. Raise the topic's retention now, "
        "then find out why the lag grew so large.",
        runbook="kafka-configs.sh --alter --entity-type topics --add-config retention.ms=…; vectail lag",
        judge=judges.counted_lately("vectail_expired_records_total", ("topic",)),
    ),
    Condition(
        name="VectailRetentionPassedCommitted",
        severity="critical",
        for_s=60,
        summary="{{ $labels.about }} begins after the committed offset",
        fine="every partition still holds the record at its committed offset",
        description='Kafka has deleted records that were not indexed yet. With kafka.on_expired_offset = "stop" the worker exits and '
        "leaves the decision to you: continue at the first remaining record, and raise the topic's retention.",
        runbook="vectail offsets show; vectail offsets reset --to earliest",
        judge=judges.passed_by_retention,
    ),
    Condition(
        name="VectailPartitionsPaused",
        severity="warning",
        for_s=600,
        summary="Partitions of the group {{ $labels.about }} have been paused on {{ $labels.instance }} for 15 minutes",
        fine="no partition has been paused for 15 minutes",
        description="The limits of records or bytes in flight are reached all the time: the worker is at its limit, or the index does not "
        "accept rows. During a back-fill that is normal; otherwise add a worker, or check the index and the busiest stage.",
        runbook='dashboard "Pipeline", rows Stages and Index; limits.max_in_flight_records and limits.max_in_flight_bytes in vectail.toml',
        judge=judges.paused,
    ),
)
GROUP: Final = (
    Condition(
        name="VectailPartitionsLost",
        severity="warning",
        summary="{{ $labels.instance }} lost partitions of the group {{ $labels.about }} without a chance to commit",
        fine="no partition was lost without a chance to commit in the last 10 minutes",
        description="Kafka considered the worker dead: it did not poll or send heartbeats in time, or could not reach the broker. Another "
        "worker reads the uncommitted records again. Look for pauses of the machine (swap, CPU limits) and of the network.",
        runbook="the worker's log around that time; kafka.max_poll_interval_s",
        judge=judges.counted_lately("vectail_rebalances_total", ("group",), event="lost"),
    ),
    Condition(
        name="VectailCommitsRefused",
        severity="warning",
        summary="Kafka refused a commit of {{ $labels.instance }} for the group {{ $labels.about }}",
        fine="Kafka refused no commit in the last 10 minutes",
        description="Nothing is lost: uncommitted records are read again. If it continues, two members use the same identity, the group is "
        "deleted and created again and again, or the permissions for it are missing.",
        runbook="the worker's log; kafka-consumer-groups.sh --describe --members --group vectail",
        judge=judges.counted_lately("vectail_commits_total", ("group",), result="refused"),
    ),
)
RECORDS: Final = (
    Condition(
        name="VectailDeadLetters",
        severity="warning",
        for_s=600,
        summary="More than 1% of the records of {{ $labels.about }} cannot be indexed",
        fine="at most 1% of the records of each topic cannot be indexed",
        description="They are in the dead-letter topic, each with its reason. Usually a producer has changed what it writes: another "
        "encoding, another format, larger records. Fix that, then replay them.",
        runbook="vectail dlq ls; vectail dlq show 0/17; vectail dlq replay --reason …",
        judge=judges.many_dead_letters,
    ),
    Condition(
        name="VectailCanaryLost",
        severity="critical",
        summary="A test line of {{ $labels.instance }} (its canary) was not found by a search within 60 s",
        fine="every canary of the last 10 minutes was found within 60 s",
        description="New lines need longer than 60 s until a search finds them. That may be lag alone: while the queue is 4 minutes long, "
        "a line is found after 4 minutes, the canary too, and nothing is lost. If `vectail lag` shows less than that, something between "
        "Kafka, the engine, the index and search is broken or too slow. If no other alert says where, compare the topics with the index.",
        runbook="vectail lag; vectail verify; vectail search",
        judge=judges.counted_lately("vectail_canary_total", (), result="lost"),
    ),
)
WORK: Final = (
    Condition(
        name="VectailQueriesSlow",
        severity="warning",
        for_s=300,
        summary="One query in a hundred takes {{ $labels.instance }} more than a second",
        fine="99 queries in a hundred are answered within a second",
        description='The row "Queries" of the dashboard "Pipeline" shows where: waiting for the engine (lower query.target_batch_s, or '
        "keep log lines off this worker), embedding, or searching the index.",
        runbook='dashboard "Pipeline", row Queries; query.target_batch_s in vectail.toml',
        judge=judges.slow_queries,
    ),
    Condition(
        name="VectailEngineRestarted",
        severity="warning",
        summary="The engine of {{ $labels.instance }} failed and was restarted",
        fine="the engine did not fail in the last 10 minutes",
        description="The batch was tried again, so nothing is lost. If it keeps happening, memory runs out (engine.memory_share, "
        "engine.batch_tokens), or one text makes the engine fail, which ends as a dead letter.",
        runbook="the worker's log; vectail dlq ls; memory of the machine and of the GPU",
        judge=judges.counted_lately("vectail_engine_restarts_total", ()),
    ),
    Condition(
        name="VectailVectorsDiffer",
        severity="warning",
        summary="A stored vector that {{ $labels.instance }} looked at is not the one that the model gives (cosine below 0.998)",
        fine="the stored vectors that were looked at last are the model's",
        description="Each day a worker embeds 100 stored templates again. Lines of a template whose vector is another one are all there, "
        "but searches by meaning miss them. Either an engine or its libraries were upgraded, rows were damaged, or something else writes "
        "into the index. It is judged again a day later, or 10 minutes after a restart.",
        runbook="vectail verify --vectors --sample 1000; with --repair it writes the model's vectors",
        judge=judges.wrong_vectors,
    ),
    Condition(
        name="VectailCacheCorrupt",
        severity="warning",
        summary="Damaged vectors were found in the cache level {{ $labels.about }}",
        fine="no damaged vector was found in a cache in the last 10 minutes",
        description="Their checksums are wrong, so they were computed again instead of used. Something else writes under the same keys, or "
        "memory or the network corrupts the data.",
        runbook="who else uses this Redis? redis.url with a database of its own; FLUSHDB loses nothing but time",
        judge=judges.counted_lately("vectail_cache_requests_total", ("level",), result="corrupt"),
    ),
)
SERVE: Final = (
    Condition(
        name="VectailEmbeddingBacklog",
        severity="warning",
        for_s=120,
        summary="Too much work waits on {{ $labels.instance }} for vectors of {{ $labels.about }}",
        fine="less work waits for vectors than half of serve.max_wait_s, if clients may ask for any",
        description="More than half of serve.max_wait_s waits all the time: clients get their vectors late, and those that ask for much "
        "are refused (429) and come back later. Nothing is lost. One client that sends many texts does not delay the others; if it goes "
        "on, add a `vectail serve`, or give this one more cores or a GPU.",
        runbook='dashboard "Pipeline", row Embedding service; serve.max_wait_s in vectail.toml',
        judge=judges.much_waits_for_vectors,
    ),
    Condition(
        name="VectailModelFailed",
        severity="warning",
        summary="The model {{ $labels.about }} cannot be loaded on {{ $labels.instance }}",
        fine="every model that clients asked for in the last 10 minutes could be loaded",
        description="Requests that name it are refused (503); other models go on. Its files are missing or damaged, its vectors are wrong, "
        "or serve.memory_bytes has no room for it beside the pinned models. The doctor and the worker's log have the reason. It is tried "
        "again when somebody asks for it, 30 s later at the earliest.",
        runbook="vectail doctor; vectail model check; [[serve.model]] in vectail.toml",
        judge=judges.counted_lately("vectail_model_loads_total", ("model",), result="failed"),
    ),
)
UP: Final = (
    Condition(
        name="VectailNoWorker",
        severity="critical",
        expr='absent(up{job="vectail"} == 1)',
        for_s=120,
        summary="No vectail worker answers",
        fine="a worker answers",
        description="Nothing is indexed and no query is answered. Kafka keeps the records until their retention ends.",
        runbook="docker compose ps worker; docker compose logs worker; the exit code says why it ended",
    ),
    Condition(
        name="VectailWorkerDown",
        severity="warning",
        expr='up{job="vectail"} == 0',
        for_s=120,
        summary="The worker {{ $labels.instance }} does not answer Prometheus",
        fine="every worker answers",
        description="It hangs, is starting, or its port cannot be reached. Its partitions go to other workers once Kafka misses its "
        "heartbeats too.",
        runbook="GET /healthz on that instance; its log",
    ),
    Condition(
        name="VectailDependencyDown",
        severity="critical",
        for_s=30,
        summary="{{ $labels.about }} does not answer the worker {{ $labels.instance }}",
        fine="kafka and index answer",
        description="Nothing is lost: the worker keeps its records and resumes by itself when {{ $labels.about }} is back. Until then "
        "no new line is searchable; without the index no query is answered.",
        runbook="is {{ $labels.about }} up? docker compose ps; its log; then GET /readyz of the worker",
        judge=judges.dependency_down(("kafka", "index")),
    ),
    Condition(
        name="VectailDependencyDown",
        severity="warning",
        for_s=30,
        summary="{{ $labels.about }} does not answer the worker {{ $labels.instance }}",
        fine="redis answers, if there is one",
        description="The worker continues without it and is only slower: vectors that other workers computed are computed again or read "
        "from the index.",
        runbook="docker compose ps redis; its log and its memory",
        judge=judges.dependency_down(("redis",)),
    ),
    Condition(
        name="VectailRegistryDown",
        severity="warning",
        for_s=30,
        summary="the schema {{ $labels.about }} does not answer the worker {{ $labels.instance }}",
        fine="registry answers, if there is one",
        description="Nothing is lost: records whose schema the worker does not know yet wait, and those behind them in their partitions. "
        "Everything else goes on.",
        runbook="is the registry up? registry.url and its credentials; the worker's log says what it answers",
        judge=judges.dependency_down(("registry",)),
    ),
    Condition(
        name="VectailNotReady",
        severity="warning",
        for_s=120,
        summary="The worker {{ $labels.instance }} is not ready",
        fine="the worker is ready",
        description="/readyz says what is missing: Kafka, the index, the engine, or assigned partitions. During the first start, it is "
        "preparing the model.",
        runbook="GET /readyz on that instance",
        judge=judges.not_ready,
    ),
)
CONDITIONS: Final = (*LAG, *GROUP, *RECORDS, *WORK, *SERVE, *UP)
"""All of them."""
