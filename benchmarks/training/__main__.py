"""Trains all-MiniLM-L6-v2-logs: writes its difference to the installed model, or says what it finds in programs that it has not seen.

    python -m benchmarks.training [--questions DIR] [--out FILE] [--leave-out FOLDS] [--rank N] [--threads N] [--json]

Caveats first. Questions and messages are ours, written from what each program is known to log, by two people in their manner of asking.
With `--leave-out`, every FOLDS-th program is left out of one training, which then searches the messages of those that were left out;
nothing is written. Without it, all programs are trained on, and FILE (default: the one that vectail ships) is written: the figures are
then those of the training data. `benchmarks.questions`, whose systems are in neither, says what is found in logs. Needs torch (`make vllm`
or `make bench-deps`). Seed and settings are fixed (`benchmarks.training.trainer`).
"""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.program import Figures, option, program
from benchmarks.questions.scores import Results, Score, difference, score
from benchmarks.race import Missing
from benchmarks.training.batches import Corpus
from benchmarks.training.graded import FOLDER, Program, read_programs
from benchmarks.training.low_rank import save_difference
from consumers.text.mask import Masker
from worker.embedding.model.difference import LOGS, add_difference
from worker.embedding.model.folder import PLAIN, default_folder, read_folder
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer, read_tokenizer_json
from worker.embedding.model.split_words import split_words
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.embedding.model.weights import Weights, read_weights

RANK = 32
Encode = Callable[[Sequence[str]], list[TokenIds]]


def train(programs: Sequence[Program], out: Path, *, rank: int, threads: int) -> None:
    """Train on the programs and write the difference. Raises Missing without torch."""
    trainer_module = _trainer()
    folder = read_folder(default_folder(), PLAIN)
    weights = read_weights(folder.weights)
    corpus, encode = Corpus(programs), encoder()
    trainer = trainer_module.Trainer(folder, weights, threads=threads)
    after = trainer.train(corpus, encode(corpus.questions), encode(corpus.messages), lambda line: print(line, file=sys.stderr))
    save_difference(weights, after, out, rank=rank)


def scores_of(weights: Weights, programs: Sequence[Program], encode: Encode, *, threads: int) -> list[Score]:
    """Ask every question of the programs about all of their messages."""
    corpus = Corpus(programs)
    trainer = _trainer().Trainer(read_folder(default_folder(), PLAIN), weights, threads=threads)
    messages: Vectors = trainer.embed(encode(corpus.messages))
    results = Results(messages, np.arange(len(messages)), np.eye(len(messages)))
    found = []
    for vector, grades in zip(trainer.embed(encode(corpus.questions)), corpus.grades, strict=True):
        worth = np.zeros(len(messages))
        worth[list(grades)] = list(grades.values())
        found.append(score(vector, results, worth))
    return found


def encoder() -> Encode:
    """Return what makes token ids of texts as a worker does for this model: masked, names split."""
    masker, tokenizer = Masker(), ReferenceTokenizer(read_tokenizer_json(default_folder()))
    return lambda texts: tokenizer.encode([split_words(text) for text in masker.mask(texts)])


def compare(folds: Sequence[tuple[Path, Sequence[Program]]], *, threads: int) -> dict[str, Any]:
    """Return the figures of the plain model and of each difference on the programs beside it."""
    weights, encode = read_weights(read_folder(default_folder(), PLAIN).weights), encoder()
    plain = [one for _, asked in folds for one in scores_of(weights, asked, encode, threads=threads)]
    tuned = [one for file, asked in folds for one in scores_of(add_difference(weights, file), asked, encode, threads=threads)]
    figures: dict[str, Any] = {}
    for measure in ("hit1", "hit5", "ndcg10"):
        one, other = ([getattr(score, measure) for score in scores] for scores in (tuned, plain))
        figures |= {measure: fmean(one), f"{measure}_plain": fmean(other), f"{measure}_apart": difference(one, other)._asdict()}
    return {"questions": len(plain), **figures}


def measure(chosen: Namespace) -> Figures:
    """Train, and compare with the plain model. Raises Missing, ModelError."""
    programs = read_programs(chosen.questions)
    how = {"rank": chosen.rank, "threads": chosen.threads}
    about = {"programs": len(programs), "messages": sum(len(one.messages) for one in programs)}
    if not chosen.leave_out:
        train(programs, chosen.out, **how)
        return {**about, "bytes": chosen.out.stat().st_size, **compare([(chosen.out, programs)], threads=chosen.threads)}
    with tempfile.TemporaryDirectory() as folder:
        folds = []
        for fold in range(chosen.leave_out):
            file = Path(folder) / f"{fold}.safetensors"
            train([one for at, one in enumerate(programs) if at % chosen.leave_out != fold], file, **how)
            folds.append((file, programs[fold :: chosen.leave_out]))
        return {**about, "left_out": chosen.leave_out, **compare(folds, threads=chosen.threads)}


def _trainer() -> Any:  # noqa: ANN401 - a module
    try:
        from benchmarks.training import trainer  # noqa: PLC0415 - torch may be absent
    except ImportError:
        raise Missing("torch is not installed: run `make vllm` or `make bench-deps`") from None
    return trainer


main = program(
    __doc__,
    measure,
    option("--questions", type=Path, default=FOLDER, help="folder of PROGRAM.toml (default: those that are shipped)"),
    option("--out", type=Path, default=LOGS, help="file to write (default: the one that vectail ships)"),
    option("--leave-out", type=int, default=0, metavar="FOLDS", help="train so many times, each time without every FOLDS-th program"),
    option("--rank", type=int, default=RANK, help="of each matrix's difference (default: %(default)s)"),
    option("--threads", type=int, default=2, help="default: %(default)s"),
)

if __name__ == "__main__":
    main()
