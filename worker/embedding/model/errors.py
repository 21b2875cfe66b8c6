"""The error that names what the user must change about a model."""


class ModelError(Exception):
    """The user must choose another model or repair this one; the message is one line and names the folder or file."""
