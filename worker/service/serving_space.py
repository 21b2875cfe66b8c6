"""All that depends on the model in a worker: how templates and questions become vectors, and which view these belong to."""

from sinks.sink import TemplateView
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.encoded_text import Submit
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import Digester
from worker.indexing.template_space import TemplateEncoder, TemplateSpace
from worker.querying.query_text import QuerySpace, new_query_encoder
from worker.querying.ranking import Meaning
from worker.settings.settings import Settings


class ServingSpace:
    """Both halves are of one model; a worker has one, and two while the index changes its model.

    Thread: `templates` and `tokenizer` prepare's, `queries` the query prepare thread's.
    """

    def __init__(
        self,
        settings: Settings,
        loaded: LoadedModel,
        view: TemplateView,
        *,
        levels: Levels,
        submit: Submit,
        submit_queries: Submit | None = None,
    ) -> None:
        """`submit_queries`: of the engine that queries have of their own, if they have one."""
        self.loaded = loaded
        self.view = view
        self.tokenizer = loaded.new_tokenizer()
        prefix = loaded.prepared.document_prefix
        encoder = TemplateEncoder(tokenizer=self.tokenizer, digester=Digester(loaded.space, prefix), prefix=prefix)
        self.templates = TemplateSpace(encoder=encoder, levels=levels, submit=submit, view=view)
        self._query_encoder = new_query_encoder(settings, loaded)
        meaning = Meaning(view, loaded.nearness)
        self.queries = QuerySpace(self._query_encoder, levels, submit if submit_queries is None else submit_queries, meaning)

    @property
    def id(self) -> str:
        """Of the embedding space."""
        return self.loaded.space.id

    def close(self) -> None:
        """Free the tokenizers; only after the stages that use them have ended."""
        self.tokenizer.close()
        self._query_encoder.tokenizer.close()
