"""A filter is declared in one file, and everything that offers or applies filters follows."""

import json
import subprocess
import sys

import pytest


@pytest.mark.process
def test_a_filter_that_is_declared_is_offered_everywhere_and_finds_its_lines() -> None:
    ended = subprocess.run([sys.executable, "-m", "tests.worker.asking.one_more_filter"], check=True, capture_output=True, text=True)
    seen = json.loads(ended.stdout)
    offered = {"options": ["search", "templates", "counts"], "mcp": "Only lines of this pod.", "openapi": True, "page": True}
    assert seen == {**offered, "found": [2]}
