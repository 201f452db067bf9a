import re
from pathlib import Path

import pytest

from csl.datasets import geoquery
from csl.datasets.funql import (
    Term,
    format_term,
    from_variant,
    output_cfg,
    parse_term,
    read_operator_types,
    to_variant,
    tokens_of,
)
from csl.errors import InputError
from csl.examples import Example
from csl.files import read_lines
from csl.grammar import parse_rule
from csl.grammar.output_cfg import OutputCfg, Typing
from csl.splits.divergence import divergence, profiles
from csl.splits.programs import DEFAULT_ENTITIES, abstract, entity_pattern

STATES = {"tx": "texas", "ny": "new york"}

TINY_CORPUS = """<?xml version="1.0"?>
<examples>
<example id="0"><nl lang="en"> Which rivers cross Texas ? </nl>
  <mrl lang="geo-funql"> answer(river(traverse_2(stateid('texas')))) </mrl></example>
<example id="1"><nl lang="en"> Name a state . </nl><mrl lang="geo-funql"> answer(state(all)) </mrl></example>
</examples>
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "splits").mkdir()
    (tmp_path / "corpus.xml").write_text(TINY_CORPUS)
    (tmp_path / "geobase").write_text("state('texas','tx','austin',1,2,3).\n")
    (tmp_path / "funql_grammar.txt").write_text(
        "*n:Query -> ({ answer ( *n:State ) })\n*n:State -> ({ state ( all ) })\n"
    )
    (tmp_path / "splits" / "standard.json").write_text('{"train": [1], "test": [0]}')
    return tmp_path


@pytest.fixture(scope="session")
def corpus(shared_data: Path) -> dict[int, Example]:
    folder = shared_data / "geoquery"
    return geoquery.read_corpus(folder / "corpus.xml", geoquery.read_states(folder / "geobase"))


@pytest.fixture(scope="session")
def cfg(shared_data: Path) -> OutputCfg:
    found = geoquery.prepare(shared_data / "geoquery", "standard").output_cfg
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("original", "variant"),
    [
        ("answer(state(all))", "answer ( state )"),
        ("answer(major(city(all)))", "answer ( intersection ( major , city ) )"),
        ("answer(city(loc_2(state(all))))", "answer ( intersection ( city , loc_2 ( state ) ) )"),
        ("answer(largest_one(density_1(state(all))))", "answer ( largest_one ( density_1 , state ) )"),
        ("answer(most(state(loc_1(river(all)))))", "answer ( most ( state , loc_1 , river ) )"),
        ("answer(exclude(river(all), traverse_2(state(all))))", "answer ( exclude ( river , traverse_2 ( state ) ) )"),
    ],
)
def test_variant_makes_arguments_explicit_and_can_be_undone(original: str, variant: str) -> None:
    assert " ".join(tokens_of(to_variant(parse_term(original), {}))) == variant
    assert format_term(from_variant(parse_term(variant), {})) == original


@pytest.mark.parametrize("text", ["", "answer(", "answer(state(all)", "answer(state(all)))", "answer(,)", "a-b(c)"])
def test_broken_terms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"FunQL|expected|bracket"):
        parse_term(text)


@pytest.mark.parametrize(
    ("sentence", "query", "expected"),
    [
        ("How big is Texas ?", "answer(size(stateid('texas')))", "how big is m0"),
        ("How big is Austin Texas ?", "answer(size(cityid('austin', 'tx')))", "how big is m0"),
        ("How big is New York NY ?", "answer(size(cityid('new york', 'ny')))", "how big is m0"),
        ("How big is the US ?", "answer(size(countryid('usa')))", "how big is the m0"),
        ("What US state is big ?", "answer(largest(state(all)))", "what us state is big"),
        (
            "What state 's capital is Dover ?",
            "answer(state(capital_2(cityid('dover', _))))",
            "what states capital is m0",
        ),
        (
            "What borders Maine and New York ?",
            "answer(intersection(next_to_2(stateid('maine')), next_to_2(stateid('new york'))))",
            "what borders m1 and m0",
        ),
    ],
)
def test_sentences_have_placeholders_for_the_entities_of_the_query(sentence: str, query: str, expected: str) -> None:
    example = geoquery.anonymise(sentence, parse_term(query), STATES)
    assert example.source_text == expected
    assert geoquery.restore(example) == query


def test_an_entity_that_is_not_mentioned_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"does not mention stateid\('ohio'\)"):
        geoquery.anonymise("How big is Texas ?", parse_term("answer(size(stateid('ohio')))"), STATES)


def test_two_entities_of_one_name_take_two_mentions() -> None:
    query = parse_term("answer(intersection(loc_2(stateid('ohio')), traverse_2(riverid('ohio'))))")
    example = geoquery.anonymise("What in Ohio is on the Ohio ?", query, {})
    assert example.source_text == "what in m0 is on the m1"
    assert geoquery.restore(example) == format_term(query)


def test_seeds_are_the_tokens_that_both_sides_of_an_example_share() -> None:
    train = [Example.of("the longest river in m0", "longest ( m0 )"), Example.of("a state", "river")]
    assert [str(rule) for rule in geoquery.identity_rules(train)] == ["longest ### longest", "m0 ### m0"]


def test_prepare_reads_the_split(tiny: Path) -> None:
    task = geoquery.prepare(tiny, "standard")
    assert [e.target_text for e in task.train] == ["answer ( state )"]
    assert [e.source_text for e in task.test] == ["which rivers cross m0"]
    assert task.dev == []
    assert "('1', '', '1')" in task.notes[0]


@pytest.mark.parametrize("name", ["corpus.xml", "geobase", "funql_grammar.txt", "splits/standard.json"])
def test_a_missing_file_is_named(tiny: Path, name: str) -> None:
    (tiny / name).unlink()
    with pytest.raises(InputError, match=re.escape(name)):
        geoquery.prepare(tiny, "standard")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("corpus.xml", "<examples>", "not valid XML"),
        ("corpus.xml", "<examples></examples>", "no <example>"),
        ("corpus.xml", TINY_CORPUS.replace("state(all)", "state(all"), "example '1'"),
        ("geobase", "nothing\n", "state"),
        ("corpus.xml", TINY_CORPUS.replace('id="0"', 'id="1"'), "example '1': the id is that of another example"),
        ("corpus.xml", TINY_CORPUS.replace('version="1.0"', 'version="1.0" encoding="utf-7"'), "not valid XML"),
        ("corpus.xml", TINY_CORPUS.replace("'texas'", "''"), "names nothing"),
        ("corpus.xml", TINY_CORPUS.replace("state(", "state(" * 2000), "example '1': brackets are nested"),
        ("funql_grammar.txt", "State -> state\n", "funql_grammar.txt:1: expected"),
        ("funql_grammar.txt", "*n:State -> ({  })\n", "funql_grammar.txt:1: expected"),
        ("funql_grammar.txt", "*n:State -> ({ state ( *n: ) })\n", "funql_grammar.txt:1: expected"),
        (
            "funql_grammar.txt",
            "*n:City -> ({ state ( all ) })\n",
            "funql_grammar.txt: the operators make no",
        ),
    ],
)
def test_a_broken_file_is_an_input_error(tiny: Path, name: str, text: str, message: str) -> None:
    (tiny / name).write_text(text)
    with pytest.raises(InputError, match=message):
        geoquery.prepare(tiny, "standard")


def test_all_examples_equal_the_expected_result(shared_data: Path, corpus: dict[int, Example]) -> None:
    expected = [line for _, line in read_lines(shared_data / "geoquery" / "anonymised_880.tsv")]
    assert [f"{corpus[i].source_text}\t{corpus[i].target_text}" for i in range(880)] == expected


def test_all_queries_can_be_restored(shared_data: Path, corpus: dict[int, Example]) -> None:
    text = (shared_data / "geoquery" / "corpus.xml").read_text()
    originals = re.findall(r'<mrl lang="geo-funql">\s*(.*?)\s*</mrl>', text)
    restored = [geoquery.restore(corpus[i]) for i in range(880)]
    assert [q.replace(" ", "") for q in restored] == [q.replace(" ", "") for q in originals]


@pytest.mark.parametrize("split", geoquery.SIZES)
def test_splits_have_the_sizes_of_the_paper(shared_data: Path, split: str) -> None:
    if not (shared_data / "geoquery" / "splits" / f"{split}.json").is_file():
        pytest.skip(f"no ids for {split}")
    task = geoquery.prepare(shared_data / "geoquery", split)
    assert task.notes == []
    assert len(task.train) + len(task.dev) + len(task.test) == 880


@pytest.mark.parametrize("split", geoquery.OWN)
def test_own_splits_are_those_of_the_split_makers_and_have_a_dev_set(shared_data: Path, split: str) -> None:
    task = geoquery.GEOQUERY.prepare(shared_data / "geoquery", split)
    assert (len(task.dev), len(task.train) + len(task.test)) == (110, 770)
    assert 430 <= len(task.train) <= 440
    pattern = entity_pattern(DEFAULT_ENTITIES)
    if "template" in split:
        seen = {abstract(e.target, pattern) for e in task.train}
        assert not any(abstract(e.target, pattern) in seen for e in (*task.dev, *task.test))
    else:
        measured = divergence(profiles(task.train, pattern), profiles([*task.dev, *task.test], pattern))
        assert measured.rarest_atom >= 2
        assert measured.compound > 0.19


def test_own_splits_differ_by_seed_and_need_no_ids(shared_data: Path, tmp_path: Path) -> None:
    for name in ("corpus.xml", "geobase", "funql_grammar.txt"):
        (tmp_path / name).symlink_to(shared_data / "geoquery" / name)
    first, second = (geoquery.prepare(tmp_path, f"own_template_{seed}").test for seed in (1, 2))
    assert first != second


def test_output_cfg_accepts_all_queries(cfg: OutputCfg, corpus: dict[int, Example]) -> None:
    assert [e.target_text for e in corpus.values() if not cfg.accepts(e.target)] == []


@pytest.mark.parametrize(
    "query",
    [
        "answer ( len ( state ) )",  # only rivers have a length
        "answer ( longest ( city ) )",
        "answer ( population_1 ( river ) )",
        "answer ( elevation_1 ( city ) )",
        "answer ( intersection ( state , river ) )",  # nothing is both
        "answer ( intersection ( state , traverse_2 ( m0 ) ) )",
        "answer ( exclude ( river , city ) )",
        "answer ( loc_2 ( river ) )",  # nothing lies in a river
        "answer ( capital_2 ( river ) )",
        "answer ( next_to_2 ( city ) )",
        "answer ( count ( len ( river ) ) )",  # numbers cannot be counted
        "answer ( sum ( state ) )",
        "answer ( most ( state , traverse_2 , river ) )",  # states do not run through rivers
        "answer ( most ( state , river , loc_1 ) )",
        "answer ( most ( state , loc_1 ) )",  # wrong number of arguments
        "answer ( most ( state ) )",
        "answer ( largest_one ( state ) )",
        "answer ( largest_one ( density_1 ( state ) ) )",
        "answer ( largest_one ( len , state ) )",
        "answer ( intersection ( state ) )",
        "answer ( intersection ( city , city , city ) )",
        "answer ( loc_2 )",
        "answer ( state ( m0 ) )",
        "answer ( major )",  # a filter is not a set
        "answer ( intersection ( city , major ) )",
        "answer ( intersection ( major , state ) )",  # there are no minor states
        "answer ( answer ( state ) )",
        "answer ( state",  # unbalanced
        "answer ( state ) )",
        "answer state",
        "state",
        "",
    ],
)
def test_output_cfg_refuses_ill_typed_queries(cfg: OutputCfg, query: str) -> None:
    assert not cfg.accepts(tuple(query.split()))


@pytest.mark.parametrize(
    ("target", "category", "children"),
    [
        ("answer ( NT_1 )", "ROOT", ("Num",)),
        ("intersection ( NT_1 , NT_2 )", "City", ("Filter", "City")),
        ("intersection ( state , NT_1 )", "State", ("State",)),
        ("loc_2 ( NT_1 )", "River", ("State",)),
        ("NT_1 ( NT_2 )", "State", ("StateFromRiver", "River")),
        ("NT_1 ( m0 )", "Num", ("NumFromCity",)),
        ("answer ( NT_1 ( NT_2 ) )", "ROOT", ("PlaceFromState", "State")),
        ("most ( NT_1 , NT_2 , NT_3 )", "River", ("River", "RiverFromState", "State")),
        ("most ( NT_1 , NT_2 , NT_3 )", "State", ("State", "StateToState", "State")),
        ("largest_one ( NT_1 , NT_2 )", "State", ("StateMeasure", "State")),
        ("traverse_2", "RiverFromState", ()),
        ("next_to_2", "StateToState", ()),
        ("next_to_2", "StateFromState", ()),
        ("largest", "CityFromCity", ()),
        ("len", "NumFromRiver", ()),
        ("population_1", "NumFromState", ()),
        ("population_1", "StateMeasure", ()),
        ("m0", "Place", ()),
    ],
)
def test_output_cfg_types_the_fragments_of_rules(
    cfg: OutputCfg, target: str, category: str, children: tuple[str, ...]
) -> None:
    symbols = parse_rule(f"NT_1 NT_2 NT_3 ### {target} NT_1 NT_2 NT_3").target[:-3]
    assert Typing(category, children) in cfg.typings(symbols)


@pytest.mark.parametrize(
    "fragment", ["( m0", "m0 )", ", state", "state ,", "loc_2 (", "answer", "most", "intersection", "NT_1 ( NT_2"]
)
def test_output_cfg_gives_no_type_to_loose_fragments(cfg: OutputCfg, fragment: str) -> None:
    assert cfg.typings(parse_rule(f"NT_1 NT_2 ### {fragment} NT_1 NT_2").target[:-2]) == ()


TYPES = """
*n:Query -> ({ answer ( *n:State ) })
*n:State -> ({ most ( *n:State ) })
*n:State -> ({ state ( all ) })
*n:State -> ({ next_to_2 ( *n:State ) })
*n:State -> ({ loc_1 ( *n:River ) })
*n:State -> ({ largest ( *n:State ) })
*n:River -> ({ river ( all ) })
"""


def test_operators_of_one_signature_share_a_category_and_relations_have_their_own_where_they_are_fewer(
    tmp_path: Path,
) -> None:
    (tmp_path / "types.txt").write_text(TYPES)
    cfg = output_cfg(read_operator_types(tmp_path / "types.txt"), [], [])
    assert str(cfg).splitlines() == [
        "ROOT => answer ( ##State )",
        "StateToState => next_to_2",
        "State => most ( ##State , ##StateToState , ##State )",
        "StateFromRiver => loc_1",
        "State => most ( ##State , ##StateFromRiver , ##River )",
        "State => state",
        "StateFromState => next_to_2",
        "State => ##StateFromState ( ##State )",
        "State => ##StateFromRiver ( ##River )",
        "StateFromState => largest",
        "River => river",
    ]


def test_entity_terms_compare_by_value() -> None:
    assert parse_term("cityid( 'austin' ,_ )") == Term("cityid", (Term("'austin'"), Term("_")))
