"""The mutations of clocks: a wall clock that is wrong for a while makes nothing older.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

CLOCK_MUTATIONS: Changes = {
    "sinks/milvus/index_time.py: a clock that is set while the worker runs makes blocks older": (
        "    if abs(set_ms) <= slack:\n",
        "    if set_ms <= slack or set_ms > slack:\n",
        "sinks/test_index_time.py::no_block_goes_before_its_time_and_all_go_at_last_whatever_the_clock_does",
    ),
    "sinks/milvus/index_time.py: a clock that is ahead at the start makes blocks older": (
        "if abs(passed_ms) <= slack else Moment(int(index), now, passed_ms)",
        "if passed_ms >= -slack else Moment(int(index), now, passed_ms)",
        "sinks/test_index_time.py::no_block_goes_before_its_time_and_all_go_at_last_whatever_the_clock_does",
    ),
    "sinks/milvus/index_time.py: a clock that was behind at the start, before the first mark, is believed when it is right": (
        "dates.oldest_ms <= now.wall_ms <= dates.newest_ms + slack",
        "dates.oldest_ms <= now.wall_ms",
        "sinks/test_index_time.py",
    ),
    "sinks/milvus/index_time.py: after a clock was set, time stands still, and nothing goes any more": (
        "    passed_ms = 1000 * (now.monotonic_s - last.clocks.monotonic_s)\n",
        "    passed_ms = 0.0\n",
        "sinks/test_index_time.py",
    ),
    "sinks/milvus/index_time.py: a block goes without the tenth that pays for small errors of the clock": (
        "round(index_ms - 1000 * retention_s - slack_ms(retention_s))",
        "round(index_ms - 1000 * retention_s)",
        "sinks/test_index_time.py",
    ),
    "worker/pipeline.py: blocks are dated by the wall clock, whatever the clock of the index says": (
        "date_ms=self._connections.sink.date_ms,",
        "date_ms=_wall_ms,",
        "worker/test_pipeline.py::blocks_bear_the_date_that_the_sink_gives_them",
    ),
    "worker/indexing/upkeep.py: how many blocks were dropped is not said": (
        "        if self._dropped and now_s >= self._dropped_said_s + _HOUR_S:\n",
        "        if self._dropped < 0:\n",
        "worker/indexing/test_expiry.py::how_many_blocks_were_dropped_is_said_once_an_hour",
    ),
    "worker/observability/lag_history.py: after a clock was set back, the history of lag waits until it is as late again": (
        "            while points and points[-1][0] - at_ms > _SET_BACK_MS:\n                points.pop()\n",
        "",
        "worker/observability/test_group_lag.py::a_clock_that_was_set_back_stops_no_history",
    ),
}
