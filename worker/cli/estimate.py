"""`vectail estimate`: what vectail will need for a user's files, before anything is run.

Reads a sample, sends nothing, writes nothing. The model is loaded to count tokens and to try the engine for a moment; Kafka, Redis and
Milvus are not asked, so their figures are reckoned. `--json` prints what `estimate_files` returns.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from consumers.text.chunk import Chunker
from consumers.text.mask import MaskMode
from producers.lines import FileUnreadable, check_files
from worker.cli.exits import must_change
from worker.embedding.cache.frame import FrameCodec
from worker.embedding.cache.memory import ENTRY_BYTES
from worker.embedding.engine.engine import Engine
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import Digester, EmbeddingSpace
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.engine_measurement import EngineMeasurement, try_engine
from worker.estimate.estimate import RESTS_ON, EstimateInputs, Scale, estimate_mode
from worker.estimate.sampling import Sample
from worker.estimate.survey import Survey
from worker.indexing.pieces import new_chunker, new_decoder
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

SAMPLE_LINES = 20_000
RATE_LINES_PER_S = 1_000.0
_MODES: tuple[MaskMode, ...] = ("template", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """What the user asked for.

    Thread: main.
    """

    files: tuple[str, ...]
    sample_lines: int = SAMPLE_LINES
    rate_lines_per_s: float = RATE_LINES_PER_S
    trial_s: float = 2.0
    """How long the engine is tried."""


def estimate_files(settings: Settings, options: EstimateOptions, *, new_engine: Callable[[], Engine] | None = None) -> dict[str, Any]:
    """Survey the files, try the engine, reckon; returns what `--json` prints. Raises CommandFailed.

    `new_engine` stands for the one that the settings choose.
    """
    configure_logs()
    try:
        check_files(options.files)
        sample = Sample(options.files, sample_lines=options.sample_lines, max_record_bytes=settings.decode.max_record_bytes)
        model = model_of(settings)
        tokenizer = Tokenizer(model)
        try:
            survey = new_survey(settings, model, tokenizer)
            for stretches in sample.lists():
                survey.add(stretches)
        finally:
            tokenizer.close()
        engine = new_engine() if new_engine is not None else load_model(settings).engine
    except (FileUnreadable, ModelError) as error:
        raise must_change(error) from error
    try:
        trial = try_engine(engine, survey.modes["template"].kept, clock=time.perf_counter, least_s=options.trial_s)
    finally:
        engine.close()
    space = space_of(model, settings.model.dims)
    return _reckoned(settings, options, sample, survey, space, trial) | {"engine": _engine_facts(engine.name, trial)}


def new_survey(settings: Settings, model: PreparedModel, tokenizer: Tokenizer) -> Survey:
    """Make a survey that decodes, redacts, masks and chunks as the worker with these settings would, in both modes."""
    prefix = model.document_prefix

    def chunker(mode: MaskMode) -> Chunker:
        return new_chunker(settings.mask.model_copy(update={"mode": mode}), settings.decode, model, tokenizer)

    return Survey(
        decoder=new_decoder(settings.decode),
        redact=new_redactor(settings.redact).redact,
        chunkers={mode: chunker(mode) for mode in _MODES},
        encode=lambda texts: tokenizer.encode([prefix + text for text in texts]),
    )


def _reckoned(
    settings: Settings,
    options: EstimateOptions,
    sample: Sample,
    survey: Survey,
    space: EmbeddingSpace,
    trial: EngineMeasurement,
) -> dict[str, Any]:
    total_bytes = survey.size_bytes if sample.total_bytes is None else sample.total_bytes
    factor = total_bytes / survey.size_bytes if sample.basis == "sample" and survey.size_bytes else 1.0
    scale = Scale(
        factor=factor, lines=round(survey.lines * factor), entries=round(survey.entries * factor), stretches=survey.stretches
    )  # fmt: skip
    around = EstimateInputs(
        dim=space.dim,
        redis_key_bytes=len(f"vectail:{space.id}:{Digester(space, space.document_prefix).digest('')}"),
        redis_value_bytes=FrameCodec(space.dim, normalized=space.normalize).frame_bytes,
        vector_bytes=4 * space.dim + ENTRY_BYTES,
        topic=settings.kafka.topics[0],
        rate_lines_per_s=options.rate_lines_per_s,
        engine_tokens_per_s=trial.tokens_per_s,
    )
    modes: dict[str, Any] = {
        mode: asdict(estimate_mode(found, scale, around, text_bytes=survey.text_bytes, label_bytes=survey.label_bytes))
        for mode, found in survey.modes.items()
    }
    return {
        "files": len(options.files),
        "bytes": total_bytes,
        "basis": sample.basis,
        "lines": scale.lines,
        "entries": scale.entries,
        "sampled": {
            "lines": survey.lines,
            "entries": survey.entries,
            "bytes": survey.size_bytes,
            "stretches": survey.stretches,
            "empty_lines": survey.empty_lines,
            "undecodable_lines": survey.undecodable_lines,
            "too_large_lines": survey.too_large_lines,
            "not_utf8_lines": survey.not_utf8_lines,
        },
        "rate_lines_per_s": options.rate_lines_per_s,
        "mode": settings.mask.mode,
        **modes,
        "rests_on": RESTS_ON,
    }


def _engine_facts(name: str, trial: EngineMeasurement) -> dict[str, Any]:
    speed = trial.tokens_per_s
    return {
        "name": name,
        "tokens_per_s": None if speed is None else round(speed, 1),
        "measured_tokens": trial.tokens,
        "measured_s": round(trial.seconds, 3),
        "failed_batches": trial.failed_batches,
    }
