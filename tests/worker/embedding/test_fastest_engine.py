"""`auto` measures once on a machine, and whatever is wrong with an engine or the record costs at most another measurement."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from worker.embedding.engine.engine import Engine
from worker.embedding.fastest_engine import CpuEngine, Rates, SpeedRecord, fastest_engine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import Golden
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds, Vectors

IDS = [np.array([101, 2000 + number, 102], dtype=np.int32) for number in range(4)]
GOLDEN = Golden(IDS, FakeEngine().embed(IDS))


class Clock:
    """Time goes on only while an engine computes."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Paced(FakeEngine):
    """A batch takes as long as the next of its seconds says; after the last one, always as long as that."""

    def __init__(self, clock: Clock, *seconds: float) -> None:
        super().__init__()
        self._clock = clock
        self._seconds = list(seconds)

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        self._clock.now_s += self._seconds.pop(0) if len(self._seconds) > 1 else self._seconds[0]
        return super().embed(batch)


def with_wrong_vectors(clock: Clock) -> Engine:
    engine = Paced(clock, 0.01)
    engine.wrong = True
    return engine


def out_of_order(clock: Clock) -> Engine:
    engine = Paced(clock, 0.01)
    engine.raises_on = {2000}
    return engine


def refused(_clock: Clock) -> Engine:
    raise ModelError("no such file")


class Machine:
    """Two engines, what was said of them, and how often they were loaded."""

    def __init__(self, record: SpeedRecord, **engines: Callable[[Clock], Engine]) -> None:
        self.said: list[tuple[CpuEngine, Rates]] = []
        self.opened: list[Paced] = []
        self._record = record
        self._clock = Clock()
        self._engines = engines

    def _open(self, name: str) -> Engine:
        engine = self._engines[name](self._clock)
        assert isinstance(engine, Paced)
        self.opened.append(engine)
        return engine

    def fastest(self) -> CpuEngine:
        engines: dict[CpuEngine, Callable[[], Engine]] = {"llama": lambda: self._open("llama"), "onnx": lambda: self._open("onnx")}
        return fastest_engine(engines, GOLDEN, self._record, say=lambda chosen, rates: self.said.append((chosen, rates)), clock=self._clock)


@pytest.fixture
def record(plain_model: PreparedModel, tmp_path: Path) -> SpeedRecord:
    return SpeedRecord(tmp_path / "cache", plain_model, 2)


def test_the_faster_one_is_measured_once_said_once_and_remembered(record: SpeedRecord) -> None:
    machine = Machine(record, llama=lambda clock: Paced(clock, 0.04), onnx=lambda clock: Paced(clock, 0.02))
    assert [machine.fastest() for _ in range(3)] == ["onnx"] * 3
    ((chosen, rates),) = machine.said
    assert chosen == "onnx"
    assert rates == pytest.approx({"llama": 100, "onnx": 200})
    assert record.read() == pytest.approx(rates)
    assert [engine.closed for engine in machine.opened] == [True, True]


@pytest.mark.parametrize("turns_s", [(0.1, 0.04), (0.04, 0.1), (0.04, 9.0)])
def test_a_slow_first_batch_and_a_turn_that_other_work_disturbs_do_not_count(record: SpeedRecord, turns_s: tuple[float, ...]) -> None:
    machine = Machine(record, llama=lambda clock: Paced(clock, 0.05), onnx=lambda clock: Paced(clock, 9.0, *turns_s))
    assert machine.fastest() == "onnx"


@pytest.mark.parametrize("broken", [with_wrong_vectors, out_of_order, refused])
def test_an_engine_that_cannot_be_used_is_passed_over_and_tried_again_next_time(
    record: SpeedRecord, broken: Callable[[Clock], Engine]
) -> None:
    assert Machine(record, llama=broken, onnx=lambda clock: Paced(clock, 0.5)).fastest() == "onnx"
    assert not record.file.exists()
    assert Machine(record, llama=lambda clock: Paced(clock, 0.1), onnx=lambda clock: Paced(clock, 0.5)).fastest() == "llama"


def test_where_none_can_be_loaded_the_first_is_left_to_say_why(record: SpeedRecord) -> None:
    assert Machine(record, llama=refused, onnx=refused).fastest() == "llama"


@pytest.mark.parametrize("rates", ['{"llama": 3}', *(f'{{"llama": 3, "onnx": {rate}}}' for rate in ("NaN", "0", '"x"', "null")), "[]", "3"])
def test_rates_that_make_no_sense_are_measured_again(record: SpeedRecord, rates: str) -> None:
    record.file.parent.mkdir()
    record.file.write_text(f'{{"texts_per_s": {rates}}}', encoding="utf-8")
    assert record.read() == {}


@pytest.mark.parametrize("damaged", ["", "{", "[]", "{}"])
def test_a_damaged_record_is_measured_again(record: SpeedRecord, damaged: str) -> None:
    record.file.parent.mkdir()
    record.file.write_text(damaged, encoding="utf-8")
    machine = Machine(record, llama=lambda clock: Paced(clock, 0.04), onnx=lambda clock: Paced(clock, 0.02))
    assert machine.fastest() == "onnx"
    assert json.loads(record.file.read_text(encoding="utf-8"))["texts_per_s"] == pytest.approx({"llama": 100, "onnx": 200})


def test_a_cache_that_cannot_be_written_costs_a_measurement_and_no_start(plain_model: PreparedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for cache in (tmp_path / "file", tmp_path / "file" / "below"):
        record = SpeedRecord(cache, plain_model, 2)
        machine = Machine(record, llama=lambda clock: Paced(clock, 0.02), onnx=lambda clock: Paced(clock, 0.04))
        assert [machine.fastest(), machine.fastest()] == ["llama", "llama"]
        assert len(machine.said) == 2


def test_another_processor_number_of_threads_or_model_has_a_record_of_its_own(plain_model: PreparedModel, tmp_path: Path) -> None:
    def file(cpuinfo: str, *, model: PreparedModel = plain_model, threads: int = 2) -> Path:
        (tmp_path / "cpuinfo").write_text(cpuinfo, encoding="utf-8")
        return SpeedRecord(tmp_path, model, threads, cpuinfo=tmp_path / "cpuinfo").file

    one = "processor\t: 0\nmodel name\t: Xeon\ncpu MHz\t\t: 2100\nflags\t\t: fpu avx2\n\nprocessor\t: 1\n"
    assert file(one) == file(one.replace("2100", "3300").replace(": 1\n", ": 7\n")), "how fast it runs just now is not part of it"
    others = [
        file(one.replace("Xeon", "Epyc")),
        file(one.replace("avx2", "avx2 avx512f")),
        file(one, threads=4),
        file(one, model=replace(plain_model, weights_sha256="0" * 64)),
        file("processor: 0\nCPU part: 0xd40\nFeatures: asimd\n"),
        SpeedRecord(tmp_path, plain_model, 2, cpuinfo=tmp_path / "none").file,
    ]
    assert len({file(one), *others}) == 7
