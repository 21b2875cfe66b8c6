"""How a verb fails: one line on standard error, and a documented exit code."""


class CommandFailed(Exception):
    """The message is the one line that the user sees; `exit_code` as in `worker.service`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
