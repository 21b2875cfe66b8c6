"""The errors that name what the user must change about a model."""


class ModelError(Exception):
    """The user must choose another model or repair this one; the message is one line and names the folder or file."""


class WrongVectors(ModelError):
    """A model that was loaded gives other vectors than its files say: trying again does not help."""
