"""What loggers usually write as JSON is read by the fast path, in few steps for a whole batch."""

import json

import numpy as np
import pytest

from consumers.decode.json_columns import JsonColumns
from consumers.decode.json_roles import RoleRules
from consumers.decode.rules import DecodeRules
from tests.consumers.decode.json_flavours import FLAVOURS

KAFKA_MS = 1_767_323_045_678
NEVER_FAST = {"fluent_bit_of_json", "fluent_bit_of_cri", "vector_native_json", "clef_to_render", "no_message", "falco"}


@pytest.mark.parametrize("name", sorted(FLAVOURS.keys() - NEVER_FAST))
def test_what_loggers_usually_write_takes_the_fast_path(name: str) -> None:
    document = FLAVOURS[name].document
    columns = JsonColumns(DecodeRules(), RoleRules(DecodeRules()))
    assert columns.form.learn([document])
    groups, others = columns.read([json.dumps(document).encode()] * 9, np.full(9, KAFKA_MS))
    assert [group.row.tolist() for group in groups] == [list(range(9))]
    assert not others
