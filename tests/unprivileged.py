"""Commands without root's right to read every file, so that tests of unreadable files run as root too, as they do in CI."""

import os
from collections.abc import Sequence

_CAPABILITIES = "-dac_override,-dac_read_search"


def unprivileged(command: Sequence[str]) -> list[str]:
    """Return the command, behind util-linux's `setpriv` where the user is root: an owner without these two meets the mode of a file."""
    as_root = ["setpriv", f"--bounding-set={_CAPABILITIES}", f"--inh-caps={_CAPABILITIES}"]
    return [*(as_root if os.geteuid() == 0 else []), *command]
