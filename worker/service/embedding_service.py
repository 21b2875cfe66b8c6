"""The embedding service: the default model, the pool of the others, and what is told of them.

A worker has one where `serve.enabled` is set, with its index's model as the default one; `vectail serve` has nothing else.
"""

from collections.abc import Iterator, Sequence

from worker.asking.worker_answers import ServedModelJson
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.encoded_text import TextQueue
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.pool.model_facts import MODEL_STATES, ModelFacts
from worker.embedding.pool.model_pool import ModelPool
from worker.embedding.pool.served_models import ServedModels, known_served
from worker.runtime.fair_lock import FairLock
from worker.runtime.stage import Crash
from worker.runtime.surroundings import Surroundings
from worker.service.opened_model import OpenedModel
from worker.serving.embeddings.embedding_api import EmbeddingApi, EmbeddingRules
from worker.serving.embeddings.embedding_models import EmbeddingModels, ModelRules
from worker.serving.embeddings.models_document import ServedFacts
from worker.serving.embeddings.openai_tokens import OpenAITokens, RankFileError, read_openai_tokens
from worker.serving.embeddings.served_model import ServedModel
from worker.serving.embeddings.served_tally import UNKNOWN_MODEL, ServedTally
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings, SettingsError
from worker.watching import metrics as m
from worker.watching.metrics import Sample


class EmbeddingService:
    """Every model that the settings name can be asked for, by name or alias; the default one is always loaded.

    Thread: main; what is only read from any.
    """

    def __init__(
        self,
        settings: Settings,
        default_name: str,
        *,
        redis: RedisCache | None,
        surroundings: Surroundings,
        on_crash: Crash,
    ) -> None:
        """Loads nothing yet. Raises SettingsError."""
        self._settings = settings
        self.memory = MemoryCache(settings.cache.memory_bytes)
        """Vectors of all models."""
        self._redis = redis
        self._surroundings = surroundings
        self._on_crash = on_crash
        others = tuple(table for table in settings.serve.model if table.name != default_name)
        default = next((table for table in settings.serve.model if table.name == default_name), None)
        self._tables = {table.name: table for table in others}
        self._tables[default_name] = default or ServedModelTable.model_construct(name=default_name)
        self._default_name = default_name
        self.tallies = {name: ServedTally() for name in (*self._tables, UNKNOWN_MODEL)}
        self._rules = EmbeddingRules(
            tokens=_tokens(settings),
            max_body_bytes=settings.serve.max_body_bytes,
            max_wait_s=settings.serve.max_wait_s,
            openai_tokens=_openai_tokens(settings),
        )
        self._opened: dict[str, OpenedModel] = {}
        source: ServedModels[OpenedModel] = ServedModels(settings, self._open_pooled, self._close_pooled)
        self.pool: ModelPool[OpenedModel] = ModelPool(
            others,
            source,
            budget_bytes=settings.serve.memory_bytes,
            load_wait_s=settings.serve.load_wait_s,
            on_crash=on_crash,
            say=surroundings.say,
        )

    @property
    def slot(self) -> FairLock:
        """Held by the model that computes."""
        return self.pool.slot

    def open_default(self, loaded: LoadedModel) -> OpenedModel:
        """Open the default model, where no index has it already. Raises ModelError."""
        return self._open(self._tables[self._default_name], loaded, self.slot)

    def served_of(self, loaded: LoadedModel, embedder: TextQueue, levels: Levels) -> ServedModel:
        """Return the default model, where the index's embedder computes it; whoever runs its stage closes it. Raises ModelError."""
        return ServedModel(self._default_name, loaded, embedder, levels, self.tallies[self._default_name], self._surroundings.clock)

    def start(self) -> None:
        """Load the pinned models. Raises ModelError."""
        self.pool.start()

    def close(self, within_s: float) -> None:
        """Close the pool."""
        self.pool.close(within_s)

    def guarded_engines(self) -> list[GuardedEngine]:
        """Return the engines of the pool's loaded models."""
        return [opened.guarded_engine for opened in list(self._opened.values())]

    def api(self, default: ServedModel) -> EmbeddingApi:
        """Return what answers requests; `default` is the model of that name."""
        names = {alias: name for name, table in self._tables.items() for alias in (name, *table.aliases)}
        rules = {name: ModelRules(dimensions=table.dimensions, allow_cut=table.allow_cut) for name, table in self._tables.items()}
        models = EmbeddingModels(
            default=default,
            names=names,
            rules=rules,
            tallies=self.tallies,
            ask_pool=self.pool.ask,
            facts=lambda: self._facts(default),
        )
        return EmbeddingApi(models, self._rules, clock=self._surroundings.clock)

    def samples(self, default: ServedModel) -> Iterator[Sample]:
        """Return the values of the service's metrics."""
        for name, tally in self.tallies.items():
            for status, count in sorted(tally.requests.items()):
                yield Sample(m.SERVE_REQUESTS_TOTAL, count, (name, str(status)))
            if name == UNKNOWN_MODEL:
                continue
            for source, tokens in sorted(tally.tokens.items()):
                yield Sample(m.SERVE_TOKENS_TOTAL, tokens, (name, source))
            for urgency, seconds in tally.seconds.items():
                yield Sample(m.SERVE_SECONDS, seconds.seen(), (name, urgency))
        for name, backlog_s in self._backlogs_s(default).items():
            yield Sample(m.SERVE_BACKLOG_SECONDS, backlog_s, (name,))
        yield Sample(m.SERVE_MAX_WAIT_SECONDS, self._rules.max_wait_s)
        for name, facts in self.pool.facts().items():
            for state in MODEL_STATES:
                yield Sample(m.MODEL_STATE, float(facts.state == state), (name, state))
            yield Sample(m.MODEL_BYTES, facts.size_bytes, (name,))
            yield Sample(m.MODEL_LOADS_TOTAL, facts.loads, (name, "loaded"))
            yield Sample(m.MODEL_LOADS_TOTAL, facts.failed_loads, (name, "failed"))
            yield Sample(m.MODEL_EVICTIONS_TOTAL, facts.evictions, (name,))

    def figures(self, default: ServedModel) -> list[ServedModelJson]:
        """Return what the page shows of each model."""
        pooled, backlogs_s = self.pool.facts(), self._backlogs_s(default)
        return [
            {
                "name": name,
                "state": pooled[name].state if name in pooled else "ready",
                "bytes": pooled[name].size_bytes if name in pooled else None,
                "requests": self.tallies[name].answers,
                "backlog_s": round(backlog_s, 3),
                "error": pooled[name].error if name in pooled else "",
            }
            for name, backlog_s in backlogs_s.items()
        ]

    def _open_pooled(self, table: ServedModelTable, loaded: LoadedModel, slot: FairLock) -> OpenedModel:
        self._opened[table.name] = opened = self._open(table, loaded, slot)
        return opened

    def _close_pooled(self, opened: OpenedModel) -> None:
        del self._opened[opened.served.name]
        opened.close()

    def _backlogs_s(self, default: ServedModel) -> dict[str, float]:
        """Return the seconds of work that wait for each model; nothing waits for the engine of one that is not loaded."""
        opened = self._opened.copy()
        pooled = {name: opened[name].served.backlog_s() if name in opened else 0.0 for name in self._tables if name != default.name}
        return {default.name: default.backlog_s(), **pooled}

    def _open(self, table: ServedModelTable, loaded: LoadedModel, slot: FairLock) -> OpenedModel:
        redis = None if self._redis is None else self._redis.for_space(loaded.space)
        return OpenedModel(
            table.name,
            loaded,
            levels=Levels(memory=self.memory, redis=redis, index=lambda _templates: {}),
            tally=self.tallies[table.name],
            slot=slot,
            target_batch_s=self._settings.query.target_batch_s,
            surroundings=self._surroundings,
            on_crash=self._on_crash,
        )

    def _facts(self, default: ServedModel) -> Sequence[ServedFacts]:
        pooled = self.pool.facts()
        return [_default_facts(self._tables[default.name], default), *(self._pooled_facts(name, facts) for name, facts in pooled.items())]

    def _pooled_facts(self, name: str, facts: ModelFacts) -> ServedFacts:
        table = self._tables[name]
        try:
            model = known_served(self._settings, table)
        except ModelError:
            model = None
        if model is None:  # it takes seconds to prepare, which its first request does
            return ServedFacts(name=name, aliases=table.aliases, state=facts.state, created_s=0, pinned=table.pin, error=facts.error)
        return ServedFacts(
            name=name,
            aliases=table.aliases,
            state=facts.state,
            created_s=int(model.gguf.stat().st_mtime),
            dim=model.dim,
            dimensions="any" if table.allow_cut else tuple(sorted({*table.dimensions, *model.matryoshka})),
            max_tokens=model.max_tokens,
            space=space_of(model).id,
            document_prefix=model.document_prefix,
            query_prefix=model.query_prefix,
            pooling=model.pooling,
            memory_bytes=facts.size_bytes or None,
            pinned=table.pin,
            error=facts.error,
        )


def _default_facts(table: ServedModelTable, default: ServedModel) -> ServedFacts:
    model = default.loaded.prepared
    return ServedFacts(
        name=default.name,
        aliases=table.aliases,
        state="ready",
        created_s=int(model.gguf.stat().st_mtime),
        dim=default.dim,
        dimensions="any" if table.allow_cut else tuple(sorted({*table.dimensions, *model.matryoshka})),
        max_tokens=model.max_tokens,
        space=default.loaded.space.id,
        document_prefix=model.document_prefix,
        query_prefix=model.query_prefix,
        pooling=model.pooling,
        pinned=True,
    )


def _tokens(settings: Settings) -> tuple[str, ...]:
    """Return what opens the API. Where the worker's own token is empty, an empty `serve.token` leaves it open as the rest is."""
    given = (settings.serve.token.get_secret_value(), settings.http.token.get_secret_value())
    return tuple(token for token in given if token)


def _openai_tokens(settings: Settings) -> OpenAITokens | None:
    file = settings.serve.openai_tokens
    try:
        return None if file is None else read_openai_tokens(file.expanduser())
    except RankFileError as error:
        raise SettingsError(f"setting serve.openai_tokens: {error}") from error
