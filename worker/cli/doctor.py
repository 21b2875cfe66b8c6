"""`vectail doctor`: looks at everything that the settings name and says what is wrong and what to do about it.

The work is in `worker.audit.doctor`. `--json` prints what `GET /api/doctor` answers too.
"""

from worker.audit.doctor import Report, examine
from worker.audit.doctor_looks import looks_of_tool
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings


def diagnose(settings: Settings) -> Report:
    """Look at everything, side by side."""
    configure_logs(quiet=True)
    return examine(looks_of_tool(settings))
