"""The grammar that pairs are drawn from has phrases, and no argument that nobody said."""

from csl.grammar import Nt, Rule
from csl.preparing.phrases import learn_phrases

from .conftest import Learnt


def test_arguments_that_nobody_said_are_left_out(learnt: Learnt) -> None:
    prepared, unsaid = learnt.prepared, Rule((Nt(1),), (Nt(1), "(", "all", ")"))
    phrases = learn_phrases(prepared.examples, [*prepared.seed_rules, unsaid], prepared.categories.cfg)
    assert unsaid not in phrases.grammar
    assert all(phrases.parse(example.source_text) for example in prepared.examples)


def test_it_is_the_same_every_time(learnt: Learnt) -> None:
    prepared = learnt.prepared
    one, two = (learn_phrases(prepared.examples, prepared.seed_rules, prepared.categories.cfg) for _ in range(2))
    assert one.grammar == two.grammar
    assert (one.theta_rule == two.theta_rule).all()
