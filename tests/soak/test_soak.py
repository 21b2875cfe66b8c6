"""The soak's schedule of faults, and what counts as growing memory. The soak itself is `make soak`."""

import pytest

from tests.soak.plan import KINDS, LONG_AWAY, plan
from tests.soak.samples import WARM_S, Sample, growth_of

MIB = 1024 * 1024


@pytest.mark.parametrize("minutes", [1, 5, 30, 120])
@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_fault_comes_and_all_are_over_before_the_end(minutes: int, seed: int) -> None:
    total_s = minutes * 60.0
    faults = plan(total_s, seed)
    assert faults == plan(total_s, seed) != plan(total_s, seed + 1)
    assert faults == sorted(faults)
    assert all(0 < fault.at_s <= fault.until_s <= 0.9 * total_s for fault in faults)
    if minutes >= 5:
        assert {fault.kind for fault in faults} == {*KINDS, LONG_AWAY}
    (away,) = [fault for fault in faults if fault.kind == LONG_AWAY]
    assert away.until_s - away.at_s == {1: 15.0, 5: 75.0}.get(minutes, 600.0)
    meanwhile = [fault.kind for fault in faults if fault.at_s < away.until_s and fault.until_s > away.at_s and fault is not away]
    assert not {"kill", "milvus silent", "milvus refused"} & set(meanwhile)


def sample(at_s: float, rss_mib: float, *, life: int = 1, age_s: float | None = None, fault: str = "") -> Sample:
    return Sample(at_s, life, at_s if age_s is None else age_s, round(rss_mib * MIB), 20, 40, 0, fault)


def test_growth_is_over_the_base_of_the_same_worker_and_a_start_is_no_growth() -> None:
    first = [sample(at_s, mib) for at_s, mib in ((2.0, 50), (WARM_S, 300), (40.0, 310), (60.0, 305))]
    second = [sample(70.0 + age_s, mib, life=2, age_s=age_s) for age_s, mib in ((2.0, 60), (WARM_S, 350), (40.0, 355))]
    assert growth_of(first + second, LONG_AWAY) == (10 * MIB, 0)
    assert growth_of([sample(2.0, 50)], LONG_AWAY) == (0, 0)


@pytest.mark.parametrize(("each_mib", "late_mib"), [((100, 120, 120, 120), 0), ((100, 120, 140, 160), 40)], ids=["flat", "growing"])
def test_memory_that_still_grows_late_in_the_outage_is_seen(each_mib: tuple[int, ...], late_mib: int) -> None:
    samples = [sample(WARM_S + number, mib, fault=f"member+{LONG_AWAY}") for number, mib in enumerate(each_mib)]
    assert growth_of(samples, LONG_AWAY).late_bytes == late_mib * MIB
