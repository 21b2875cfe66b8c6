"""`vectail version`."""

import json
import platform

from tests.worker.cli.conftest import RunHere
from worker.runtime.process import vectail_version

NAMES = ["vectail", "masks", "python", "librdkafka", "confluent-kafka", "pymilvus", "milvus-lite", "llama-cpp-python", "onnxruntime"]


def test_every_library_that_matters_is_named(run_here: RunHere) -> None:
    lines = run_here("version").out.splitlines()

    assert [line.split()[0] for line in lines] == NAMES
    assert lines[0].split() == ["vectail", vectail_version()]


def test_as_json_it_is_one_object(run_here: RunHere) -> None:
    versions = json.loads(run_here("version", "--json").out)

    assert list(versions) == NAMES
    assert versions["python"] == platform.python_version()
    assert versions["librdkafka"].startswith("2.")
    assert "not installed" not in versions.values()
