"""How near a question and a line of one model must be to have to do with each other: measured when the model is prepared.

Cosines of two models cannot be compared: one gives .4 to what belongs together, another .85. So a fixed set of questions is embedded by the
reference model: some with a line that answers them, and some that no log answers. Questions about anything but operations are told apart
better by two signs than by the best cosine alone: `bearing` is the direction from those to the others, and a share of a question's
component along it is added to its cosines. `worker.querying.similarity` judges hits by what is found here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.vectors import Vectors

_BEARING_SHARE: Final = 0.5
_DEVIATIONS: Final = 2.75
"""Above the mean of unrelated questions: if they are spread normally, one of three hundred is nearer."""
_TOLD_APART: Final = 0.1
"""Of the questions with an answer so many may be no nearer than that; else the model does not tell them apart."""
_DIGITS: Final = 5
_Matrix = NDArray[np.float64]


class Cuts(NamedTuple):
    """From which cosine on a line has to do with one question."""

    near: float
    strong: float
    floor: float
    """What a line has that has nothing to do with it."""


class Nearness(NamedTuple):
    """What was measured of a model.

    Thread: any.
    """

    near: float
    """Least sum of a question's cosine and its share of the bearing at which a line has to do with the question."""
    strong: float
    """The sum that half of the questions have with the line that answers them."""
    floor: float
    """Mean cosine of a question and a line that answers another one."""
    bearing: tuple[float, ...]
    """Of length 1, one number for each dimension."""

    def cuts(self, question: NDArray[np.float32]) -> Cuts:
        """Return the cuts for a question, float32[dim] of length 1."""
        credit = _BEARING_SHARE * float(question @ np.array(self.bearing, np.float32))
        return Cuts(self.near - credit, self.strong - credit, self.floor)


def measure_nearness(
    embed_questions: Callable[[Sequence[str]], Vectors], embed_lines: Callable[[Sequence[str]], Vectors]
) -> Nearness | None:
    """Measure a model, given what embeds n texts to float32[n, dim] of length 1; None if it does not tell the questions apart.

    Each question is judged by a bearing that was made without it.
    """
    questions, answers = zip(*_PAIRS, strict=True)
    lines = embed_lines(answers).astype(np.float64)
    asked, others = (embed_questions(texts).astype(np.float64) for texts in (questions, _UNRELATED))
    related = _sums(asked, lines, _without_each(asked) - others.mean(axis=0))
    unrelated = _sums(others, lines, asked.mean(axis=0) - _without_each(others))
    near = float(unrelated.mean() + _DEVIATIONS * unrelated.std())
    if not near < np.quantile(related, _TOLD_APART):
        return None
    cosines = asked @ lines.T
    bearing = _units(asked.mean(axis=0) - others.mean(axis=0))
    return Nearness(
        near=round(near, _DIGITS),
        strong=round(float(np.median(related)), _DIGITS),
        floor=round(float(cosines[~np.eye(len(asked), dtype=np.bool_)].mean()), _DIGITS),
        bearing=tuple(round(float(one), _DIGITS) for one in bearing),
    )


def read_nearness(written: Any) -> Nearness | None:  # noqa: ANN401 - JSON
    """Return what `Nearness._asdict` wrote as JSON. Raises KeyError, TypeError, ValueError."""
    if written is None:
        return None
    near, strong, floor = (float(written[name]) for name in ("near", "strong", "floor"))
    return Nearness(near, strong, floor, tuple(map(float, written["bearing"])))


def _sums(questions: _Matrix, lines: _Matrix, bearings: _Matrix) -> _Matrix:
    """Return of each question its best cosine and its share of its bearing, summed up."""
    best = (questions @ lines.T).max(axis=1)
    return np.asarray(best + _BEARING_SHARE * (questions * _units(bearings)).sum(axis=1), np.float64)


def _without_each(rows: _Matrix) -> _Matrix:
    """Return of each row the mean of all others."""
    return np.asarray((rows.sum(axis=0) - rows) / (len(rows) - 1), np.float64)


def _units(rows: _Matrix) -> _Matrix:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12), np.float64)


_PAIRS: Final = (
    ("somebody entered a wrong password", "authentication failed for account from terminal: bad password"),
    ("a user has signed in", "session opened for account by login service"),
    ("the disk is full", "write to volume failed: no space left on device"),
    ("the process needed more memory than it may have", "worker killed: memory limit exceeded"),
    ("the other side closed the connection", "connection reset by peer while reading from socket"),
    ("a host cannot be reached", "connect to upstream failed: no route to host"),
    ("a request took too long", "request timed out after waiting for response from backend"),
    ("a certificate is about to expire", "TLS certificate for domain is valid for less than days"),
    ("the program has started", "server ready, listening on port"),
    ("the service is shutting down", "received signal, stopping gracefully"),
    ("a backup could not be made", "snapshot of volume aborted: cannot write archive"),
    ("two transactions block each other", "deadlock found when trying to get lock; restarting transaction"),
    ("a replica lags behind", "follower is records behind the leader of partition"),
    ("who became the new leader", "elected as leader for term with votes"),
    ("a file does not exist", "cannot open config: no such file or directory"),
    ("access was refused", "permission denied for role on object"),
    ("the configuration is wrong", "invalid value for option in section, using default"),
    ("a scheduled job did not finish", "cron: run of task ended with exit status"),
    ("the cache throws entries away", "evicting keys from store, usage above threshold"),
    ("a message could not be delivered", "dead letter: giving up on event after attempts"),
    ("hardware is too hot", "CPU temperature above limit, clock throttled"),
    ("a network interface went down", "link is not ready on eth"),
    ("slow database query", "statement duration: ms select from where order by"),
    ("data was damaged", "checksum mismatch in block, marking replica as corrupt"),
    ("someone looks for open ports", "refused probe from address on closed port"),
    ("too many requests from one client", "rate limit reached for api key"),
    ("a name could not be looked up", "getaddrinfo failed: temporary failure in name resolution"),
    ("garbage collection took long", "GC pause (young) freed heap in seconds"),
    ("a new version was installed", "package upgraded from to by installer"),
    ("the virtual machine was created", "instance spawned successfully on hypervisor"),
    ("the clock is wrong", "time stepped by seconds to server"),
    ("a queue is full", "buffer capacity exceeded, dropping oldest batch"),
)
"""Questions, and lines that answer them."""
_UNRELATED: Final = (
    "how do I bake bread",
    "the best wine for fish",
    "a walk with the puppy",
    "our hamster sleeps all day",
    "who scored the first goal",
    "tickets for the tennis match",
    "a short poem about the moon",
    "she sings in the church choir",
    "what is the highest mountain in Africa",
    "cities on the Danube",
    "roses in the garden need water",
    "the apples are ripe",
    "my aunt is getting married",
    "a present for a five year old",
    "will it snow at Christmas",
    "he broke his leg while skiing",
    "how far away is the sun",
    "the history of ancient Rome",
    "new curtains for the bedroom",
    "a cabin by the lake",
    "the baker sells fresh rolls",
    "noodles with cheese and butter",
    "an old oak in the park",
    "the kitten plays with wool",
    "swimming lessons for toddlers",
    "a biography of the queen",
    "dancing at the summer party",
    "the museum shows Dutch painters",
    "sailing around Sicily",
    "how tall is a giraffe",
    "he lost his wallet on the bus",
    "a red dress with short sleeves",
    "which tea helps against a sore throat",
    "the train to the seaside was full",
    "my grandmother knits warm socks",
    "a birthday cake with candles",
    "how many strings has a violin",
    "the farmer milks his cows at dawn",
    "a guide to mushrooms in the forest",
    "learning Italian before the holidays",
    "he proposed to her on a bridge",
    "the dentist pulled a tooth",
    "a ferry to the northern islands",
    "children build castles of sand",
    "the price of strawberries this week",
    "what to wear at a funeral",
    "an actor forgot his text on stage",
    "the chess player gave up his queen",
    "paint the kitchen wall yellow",
    "a blackbird nests in the hedge",
    "why is the sky blue",
    "the king was crowned in the cathedral",
    "a film about two brothers",
    "she teaches mathematics at a school",
    "rain ruined the wheat harvest",
    "a recipe without eggs or milk",
    "my bicycle has a flat tyre",
    "the marriage of my parents",
    "a haircut for the wedding",
    "where do penguins live",
    "the bride wore white",
    "he swims every morning before work",
    "our neighbours have twins",
    "a hotel with a view of the bay",
    "the thief was sentenced to two years",
    "it is too hot to sleep",
    "how old is the oldest tree",
    "the orchestra plays a waltz",
    "a carpet from Persia",
    "is honey good for babies",
    "the moon rises behind the hills",
    "grandfather tells of the war",
    "who invented the printing press",
    "the shop sells shoes and bags",
    "a kiss under the mistletoe",
    "the juice of two lemons",
    "an essay on human rights",
    "the parliament voted on taxes",
    "a donkey carries wood",
    "how to fold a paper crane",
)
"""Questions that no log answers."""
