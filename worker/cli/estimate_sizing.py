"""The sizing part of `vectail estimate`: reads a rate, and turns the sample's counts and both trials into costs and fleets.

`worker.cli.estimate` calls it; `worker.estimate.costs` and `worker.estimate.fleet` do the arithmetic.
"""

import re
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from worker.cli.exits import user_error
from worker.estimate.costs import StreamFigures, gigabyte_costs
from worker.estimate.estimate import EstimateInputs, redis_bytes
from worker.estimate.fleet import ASSUMPTIONS, RATES_BYTES_PER_S, FleetOptions, fleet_of, group_ends_at_bytes_per_s
from worker.estimate.line_measurement import LineMeasurement
from worker.estimate.sample_tally import ModeTally, SampleTally

_TEMPLATE_ID_BYTES = 32
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(?:([kmgt]?)(b)/s)?", re.IGNORECASE)


class Rate(NamedTuple):
    """How fast logs arrive."""

    per_s: float
    unit: Literal["lines", "bytes"] = "lines"

    def lines_per_s(self, bytes_per_line: float) -> float:
        """Return it in lines a second; 0 if there are no lines to compare with."""
        if self.unit == "lines":
            return self.per_s
        return self.per_s / bytes_per_line if bytes_per_line else 0.0

    def bytes_per_s(self, bytes_per_line: float) -> float:
        """Return it in bytes a second, line ends included."""
        return self.per_s if self.unit == "bytes" else self.per_s * bytes_per_line


def parse_rate(text: str) -> Rate:
    """Return `5000` as lines a second and `50MB/s` as bytes a second; a megabyte is 10^6 bytes. Raises CommandFailed."""
    found = _RATE.fullmatch(text.strip())
    if found is None or not (number := float(found[1])):
        raise user_error(f"--rate {text}: expected lines a second like 5000, or bytes a second like 50MB/s or 1GB/s")
    return Rate(number) if found[3] is None else Rate(number * _UNITS[found[2].lower()], "bytes")


def figures_of(sample: SampleTally, mode: ModeTally, trial: LineMeasurement, inputs: EstimateInputs) -> StreamFigures | None:
    """Return what the sample says about the stream in one mode; None if it holds no line that is indexed."""
    blocks, per_line = mode.blocks, trial.us_per_line
    if not mode.templates or per_line is None:
        return None
    lines = sample.lines
    return StreamFigures(
        bytes_per_line=sample.size_bytes / lines,
        lines_per_block=lines / blocks.blocks,
        build_us_per_line=per_line,
        block_bytes_per_line=blocks.server_bytes / lines,
        resident_bytes_per_line=blocks.resident_bytes / lines,
        folder_bytes_per_line=blocks.folder_bytes / lines,
        tokens_per_template=mode.template_tokens / mode.templates,
        template_row_bytes=_TEMPLATE_ID_BYTES + 4 * inputs.dim + mode.template_text_bytes / mode.templates,
        redis_bytes_per_template=redis_bytes(inputs.redis_key_bytes, inputs.redis_value_bytes),
        engine_tokens_per_s=inputs.engine_tokens_per_s,
        sampled_bytes=sample.size_bytes,
        stretches=sample.stretches,
        templates_by_stretches=mode.templates_by_stretches(),
    )


def sizing_facts(figures: StreamFigures | None, rate: Rate, options: FleetOptions, trial: LineMeasurement) -> dict[str, Any]:
    """Return the keys `worker`, `per_gb`, `fleet`, `fleets`, `group_ends_at_bytes_per_s`, `sized_for` and `assumptions` of `--json`.

    Without figures, those that need them are null, and there are no fleets.
    """
    per_line = trial.us_per_line
    facts: dict[str, Any] = {
        "worker": {
            "us_per_line": None if per_line is None else round(per_line, 3),
            "measured_lines": trial.lines,
            "measured_core_s": round(trial.seconds, 3),
        },
        "sized_for": asdict(options),
        "assumptions": ASSUMPTIONS,
    }
    if figures is None:
        return facts | {"per_gb": None, "fleet": None, "fleets": [], "group_ends_at_bytes_per_s": None}
    asked = rate.bytes_per_s(figures.bytes_per_line)
    return facts | {
        "per_gb": asdict(gigabyte_costs(figures)),
        "fleet": asdict(fleet_of(figures, asked, options)),
        "fleets": [asdict(fleet_of(figures, one, options)) for one in RATES_BYTES_PER_S],
        "group_ends_at_bytes_per_s": round(group_ends_at_bytes_per_s(figures, options.headroom)),
    }
