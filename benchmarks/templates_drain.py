"""Drain3, as a product would run it: its defaults and three masks.

The masks are those of Drain3's own example (addresses, hexadecimal numbers, numbers). Only this file imports the library, which comes from
`benchmarks/drain3.lock`; its callers look first whether it is there.
"""

from collections.abc import Sequence

from drain3 import TemplateMiner
from drain3.masking import MaskingInstruction
from drain3.template_miner_config import TemplateMinerConfig

MASKS = (
    (r"((?<=[^A-Za-z0-9])|^)(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})((?=[^A-Za-z0-9])|$)", "IP"),
    (r"((?<=[^A-Za-z0-9])|^)(0x[a-f0-9A-F]+)((?=[^A-Za-z0-9])|$)", "HEX"),
    (r"((?<=[^A-Za-z0-9])|^)([\-\+]?\d+)((?=[^A-Za-z0-9])|$)", "NUM"),
)


def new_miner() -> TemplateMiner:
    """Return a miner that has seen no line."""
    config = TemplateMinerConfig()
    config.masking_instructions = [MaskingInstruction(pattern, name) for pattern, name in MASKS]
    return TemplateMiner(config=config)


def final_templates(texts: Sequence[str]) -> list[str]:
    """Return for each text the template that its cluster has after the last text; one miner sees them in this order."""
    miner = new_miner()
    clusters = [miner.add_log_message(text)["cluster_id"] for text in texts]
    templates = {cluster.cluster_id: cluster.get_template() for cluster in miner.drain.clusters}
    return [templates[cluster] for cluster in clusters]
