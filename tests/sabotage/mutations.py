"""The mutations: each changes one place, and names the tests that must fail because of it.

Each is a known bug of similar programs, or a plausible one here. `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.command_mutations import COMMAND_MUTATIONS
from tests.sabotage.decode_mutations import DECODE_MUTATIONS
from tests.sabotage.embeddings_mutations import EMBEDDINGS_MUTATIONS
from tests.sabotage.engine_mutations import ENGINE_MUTATIONS
from tests.sabotage.indexing_mutations import INDEXING_MUTATIONS
from tests.sabotage.kubernetes_mutations import KUBERNETES_MUTATIONS
from tests.sabotage.mutation import mutations_of
from tests.sabotage.pool_mutations import POOL_MUTATIONS
from tests.sabotage.query_mutations import QUERY_MUTATIONS
from tests.sabotage.reindex_mutations import REINDEX_MUTATIONS
from tests.sabotage.service_mutations import SERVICE_MUTATIONS
from tests.sabotage.sink_mutations import SINK_MUTATIONS
from tests.sabotage.source_mutations import SOURCE_MUTATIONS
from tests.sabotage.vector_mutations import VECTOR_MUTATIONS

MUTATIONS = mutations_of(
    SOURCE_MUTATIONS,
    DECODE_MUTATIONS,
    SINK_MUTATIONS,
    INDEXING_MUTATIONS,
    VECTOR_MUTATIONS,
    ENGINE_MUTATIONS,
    POOL_MUTATIONS,
    QUERY_MUTATIONS,
    COMMAND_MUTATIONS,
    SERVICE_MUTATIONS,
    EMBEDDINGS_MUTATIONS,
    KUBERNETES_MUTATIONS,
    REINDEX_MUTATIONS,
)
