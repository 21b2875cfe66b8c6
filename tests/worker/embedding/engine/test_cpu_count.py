"""The processor count from the files of both versions of control groups."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from worker.embedding.engine.cpu_count import cpu_count

MACHINE = 16
V2, V1 = "0::/kubepods/pod1/worker\n", "4:memory:/\n3:cpu,cpuacct:/docker/worker\n"
V1_CPU = "sys/fs/cgroup/cpu,cpuacct"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, MACHINE),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, MACHINE),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "5000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "6400000 100000\n"}, MACHINE),
        ({"proc/self/cgroup": V2, "sys/fs/cgroup/kubepods/pod1/cpu.max": "300000 100000", "sys/fs/cgroup/cpu.max": "max 100000"}, 3),
        (
            {
                "proc/self/cgroup": V2,
                "sys/fs/cgroup/kubepods/pod1/worker/cpu.max": "400000 100000",
                "sys/fs/cgroup/kubepods/cpu.max": "8 1",
            },
            4,
        ),
        ({"proc/self/cgroup": V1, f"{V1_CPU}/cpu.cfs_quota_us": "250000", f"{V1_CPU}/cpu.cfs_period_us": "50000"}, 5),
        ({"proc/self/cgroup": V1, f"{V1_CPU}/docker/worker/cpu.cfs_quota_us": "-1", f"{V1_CPU}/docker/worker/cpu.cfs_period_us": "1"}, 16),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "garbage"}, MACHINE),
        ({"proc/self/cgroup": "garbage\n\n0::/../../etc\n", "sys/fs/cgroup/cpu.max": "100000 0"}, MACHINE),
    ],
)
def test_as_many_as_it_may_run_on_and_no_more_than_its_quota_pays_for(tmp_path: Path, files: Mapping[str, str], expected: int) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert cpu_count(tmp_path, affinity=lambda: MACHINE) == expected
