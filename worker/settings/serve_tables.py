"""The tables of the settings file about the embedding service: `[serve]` and `[[serve.model]]`.

`worker.settings.settings` reads them from file, environment and flags. Each setting's docstring is its entry in `docs/settings.md`.
"""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from consumers.registry_settings import BearerToken
from worker.settings.tables import INSTALLED_NAMES, InstalledModel, ModelTable, Table
from worker.settings.template_tables import check_name

_MIB: Final = 1024 * 1024

ServedName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_name)]


class ServedModelTable(Table):
    """A model of the embedding service: it is loaded when a request names it, and unloaded when its memory is needed."""

    name: ServedName
    """What requests call it."""
    folder: Path | None = None
    """Its folder, as in `model.folder`. Not set: the installed model of that name."""
    aliases: tuple[ServedName, ...] = ()
    """Other names that requests may use for it, so that a client need not be changed: `text-embedding-3-small`."""
    pin: bool = False
    """Whether it is loaded at the start and stays loaded."""
    dimensions: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Numbers of components that a request may ask for, besides those for which the model was trained (Matryoshka)."""
    allow_cut: bool = False
    """Whether a request may ask for any number of components. Cut vectors of a model that was not trained for it find less."""
    idle_s: float | None = Field(default=None, gt=0)
    """Seconds without a request after which it is unloaded. Not set: it stays until its memory is needed."""

    def as_model(self, cache: Path) -> ModelTable:
        """Return how it is prepared and loaded: as its files say, kept in `cache`."""
        installed: Literal["auto", InstalledModel] = next((name for name in INSTALLED_NAMES if name == self.name), "auto")
        return ModelTable(folder=self.folder, name="auto" if self.folder else installed, cache=cache)

    @model_validator(mode="after")
    def _check_folder(self) -> Self:
        if self.pin and self.idle_s is not None:
            raise ValueError(f"{self.name!r} has both pin and idle_s; a pinned model stays loaded")
        if self.folder is None and self.name not in INSTALLED_NAMES:
            raise ValueError(f"{self.name!r} has no folder; without one a model is {' or '.join(INSTALLED_NAMES)}")
        return self


class ServeTable(Table):
    """The embedding service: vectors over HTTP, as OpenAI's API and Text Embeddings Inference give them."""

    enabled: bool = False
    """Whether a worker answers `/v1/embeddings`, `/v1/models`, `/embed` and `/info` on `http.port`."""
    token: BearerToken = SecretStr("")
    """Opens these paths and no others: with it nobody reads your logs. Empty: only `http.token` opens them, if that is set."""
    openai_tokens: Path | None = None
    """The rank file of `cl100k_base` (`.tiktoken`). With it, token ids that OpenAI's clients send are turned back into text, as those of
    LangChain do unless told otherwise. Not set: such requests are refused, with the reason."""
    max_wait_s: float = Field(default=10.0, gt=0, le=3600)
    """Most seconds of work that may wait for a model; a request that comes then is refused (429), and told when to come back."""
    max_body_bytes: int = Field(default=16 * _MIB, ge=1024, le=1024 * _MIB)
    """Largest body of a request in bytes."""
    memory_bytes: int = Field(default=1024 * _MIB, ge=_MIB)
    """Most bytes of all loaded models together. For room, the models that nobody has asked for the longest are unloaded."""
    load_wait_s: float = Field(default=30.0, ge=1, le=600)
    """Seconds that a request waits until its model is loaded, or until there is room for it; then it is refused (503)."""
    model: tuple[ServedModelTable, ...] = ()
    """Models, as `[[serve.model]]` tables."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [name for model in self.model for name in (model.name, *model.aliases)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name!r} stands twice among the names and aliases of [[serve.model]]")
        return self
