"""The processor count from the files of both versions of control groups."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.rows import rows
from worker.embedding.engine.cpu_count import cpu_count

MACHINE = 16


@pytest.mark.parametrize(("files", "expected"), rows("engine/cpu_quotas"))
def test_as_many_as_it_may_run_on_and_no_more_than_its_quota_pays_for(tmp_path: Path, files: Mapping[str, str], expected: int) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert cpu_count(tmp_path, affinity=lambda: MACHINE) == expected
