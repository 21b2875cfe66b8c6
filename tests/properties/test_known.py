"""Known templates against a dict that keeps everything, for additions and lookups in any order, at any time."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sinks.row import TemplateId
from worker.indexing.known_templates import KnownTemplates, halves_of

MOST = 17
KEEP_S = 50.0
TEMPLATES = [TemplateId(f"{high:016x}{low:016x}") for high in (0, 1, 2**63, 2**64 - 1) for low in range(8)]


class KnownMachine(RuleBasedStateMachine):
    """Each hit was added in time with its tokens; the newest are always found, unless two share their first half."""

    def __init__(self) -> None:
        super().__init__()
        self.known = KnownTemplates(most=MOST, keep_s=KEEP_S)
        self.now_s = 1000.0
        self.added: dict[str, tuple[int, float]] = {}
        """In the order of their last addition."""

    @rule(template=st.sampled_from(TEMPLATES), tokens=st.integers(2, 256))
    def add(self, template: TemplateId, tokens: int) -> None:
        self.known.add_template(template, tokens, self.now_s)
        self.added.pop(template, None)
        self.added[template] = (tokens, self.now_s)

    @rule(seconds=st.floats(0.0, 30.0))
    def wait(self, seconds: float) -> None:
        self.now_s += seconds

    @rule()
    def forget_all(self) -> None:
        self.known.forget_all()
        self.added.clear()

    @rule(most=st.sampled_from([3, 2 * MOST]))
    def samples_go_round_all_that_are_known(self, most: int) -> None:
        rounds = {template for _ in range(2 * MOST // most + 1) for template in self.known.sample(most, self.now_s)}
        assert self._found().keys() <= rounds
        assert all(self.now_s - self.added[template][1] <= KEEP_S + 1e-6 for template in rounds)

    @invariant()
    def nothing_is_found_that_was_not_added_in_time(self) -> None:
        for template, tokens in self._found().items():
            added = self.added[template]
            assert tokens == added[0]
            assert self.now_s - added[1] <= KEEP_S + 1e-6

    @invariant()
    def they_are_bounded(self) -> None:
        assert len(self._found()) <= MOST

    @invariant()
    def what_was_added_last_is_found(self) -> None:
        for template, (tokens, added_s) in list(self.added.items())[-1:]:
            if self.now_s - added_s < KEEP_S:
                assert self._found()[template] == tokens

    def _found(self) -> dict[str, int]:
        tokens = self.known.find_tokens(TEMPLATES, halves_of(TEMPLATES), self.now_s).tolist()
        return {template: one for template, one in zip(TEMPLATES, tokens, strict=True) if one >= 0}


TestKnown = KnownMachine.TestCase
TestKnown.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)


class UniqueHalves(RuleBasedStateMachine):
    """With different first halves, as hashes have, it equals a dict of the newest, except for what one fold drops."""

    def __init__(self) -> None:
        super().__init__()
        self.known = KnownTemplates(most=MOST)
        self.order: list[TemplateId] = []

    @rule(number=st.integers(0, 60))
    def add(self, number: int) -> None:
        template = TemplateId(f"{number * 2654435761:032x}"[::-1])
        self.known.add_template(template, number, 0.0)
        self.order = [one for one in self.order if one != template] + [template]

    @invariant()
    def the_newest_are_found(self) -> None:
        newest = self.order[-(MOST - 2 * (MOST // 8)) :]
        assert -1 not in self.known.find_tokens(newest, halves_of(newest), 0.0)


TestUniqueHalves = UniqueHalves.TestCase
TestUniqueHalves.settings = settings(max_examples=100, stateful_step_count=80, deadline=None)
