"""Where new templates are stored while the index changes its model."""

from sinks.index_spaces import VectorSpace
from tests.template_ids import id_of
from tests.worker.chain import Chain


def test_a_template_goes_to_the_view_of_the_model_that_embedded_it(chain: Chain) -> None:
    before = chain.sink.templates
    other = chain.sink.open_view(VectorSpace(384, "space-2"), create=True)
    chain.feed("disk full")
    chain.embed()
    chain.template_view = other
    chain.sink.prefer("space-2")
    chain.feed("network down")
    chain.run()
    assert before.keys() == {id_of("disk full")}
    assert other.keys() == {id_of("network down")}
