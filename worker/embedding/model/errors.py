"""What the user must change about a model before a start can succeed."""


class ModelError(Exception):
    """The user must name another model or repair this one; the message is one line and names the folder or the file."""
