import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.datasets import smcalflow
from csl.datasets.lispress import (
    WHOLE,
    Call,
    Literal,
    detokenise,
    literals_of,
    parse_program,
    split_word,
    tokenise,
    tokenise_sentence,
)
from csl.datasets.lispress_cfg import output_cfg
from csl.datasets.task import Task
from csl.errors import InputError
from csl.examples import Example
from csl.grammar import parse_rule
from csl.grammar.output_cfg import Typing

BY_NAME = "Execute :intension ( refer ( extensionConstraint ( RecipientWithNameLike :name # ( PersonName ' {} ' ) ) ) )"
EVENT = "( Yield :output ( Create :event ( Constraint[Event] {} ) ) )"


def program(text: str) -> str:
    return text.replace("'", '"')


PROGRAMS = [
    program(text)
    for text in (
        "( Yield :output ( FindManager :recipient ( toRecipient ( CurrentUser ) ) ) )",
        f"( Yield :output ( FindManager :recipient ( {BY_NAME.format('Ann')} ) ) )",
        EVENT.format(f":attendees ( AttendeeListHasRecipient :recipient ( {BY_NAME.format('Bo Li')} ) )"),
        EVENT.format(":attendees ( andConstraint ( Me ) ( You ) ) :subject ( ?= # ( String ' a talk ' ) )"),
        EVENT.format(":start ( ?= ( Tomorrow ) ) :subject ( ?= # ( String ' tea ' ) )"),
        EVENT.format(":attendees ( Me ) :start ( Constraint[DateTime] :date ( NextWeek ) )"),
    )
]


@pytest.fixture(scope="session")
def fifth(shared_data: Path) -> Task:
    return smcalflow.prepare_fifth(shared_data / "smcalflow_cs", "8")


def turns(shared_data: Path) -> list[dict[str, Any]]:
    folder = shared_data / "smcalflow_cs"
    return [
        json.loads(line)
        for name in ("valid.jsonl", "train_fifth.jsonl")
        for line in (folder / name).open(encoding="utf-8")
    ]


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("co-worker", "co - worker"),
        ("doctor's", "doctor 's"),
        ("don't", "do n't"),
        ("50th", "50 th"),
        ("#Party", "# Party"),
        ("up-all-nighter!", "up - all - nighter !"),
        ("Schemel's,", "Schemel 's ,"),
        ("D&D", "D&D"),
        ("10,000", "10,000"),
        ("-", "-"),
    ],
)
def test_words_split_at_clitics_and_punctuation(word: str, pieces: str) -> None:
    assert split_word(word) == pieces.split()


def test_a_literal_becomes_a_sequence_of_the_tokens_of_the_sentence() -> None:
    sentence = tokenise_sentence("schedule Ann 's co - worker sync on the 8 th")
    literal = tokenise('# ( String " Ann\'s co-worker sync " )')[4:-2]
    assert literal == sentence[1:7]


@pytest.mark.parametrize("text", ["co - worker", "8 th grade", "Mr.X", "what ?", "▁ x", "# 4", "a -", "- a"])
def test_literals_that_do_not_join_by_rule_come_back_all_the_same(text: str) -> None:
    plan = f'( Yield # ( String " {text} " ) )'
    assert detokenise(tokenise(plan)) == plan


words = st.text(st.sampled_from("aB1'.-/#!,▁s th&"), min_size=1).map(str.split).filter(bool)


@given(st.lists(words, min_size=1))
def test_detokenise_undoes_tokenise(literals: list[list[str]]) -> None:
    plan = "( f " + " ".join(f'# ( String " {" ".join(literal)} " )' for literal in literals) + " )"
    assert detokenise(tokenise(plan)) == plan


def test_programs_are_read_as_trees() -> None:
    tree = parse_program(tokenise('( f :a # ( Number 3 ) ( g ) :b ( h # ( String " x y " ) ) )'))
    assert isinstance(tree, Call)
    assert [a.slot for a in tree.arguments] == [":a", None, ":b"]
    assert list(literals_of(tree)) == [
        Literal("Number", ("3",), quoted=False),
        Literal("String", ("x", "y"), quoted=True),
    ]


@pytest.mark.parametrize(
    "text", ["", "f", "(", "( )", "( f", "( f ) )", "( f :a )", "( f # )", "( f :a b )", '( f " x )']
)
def test_broken_programs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unexpected|starts with"):
        parse_program(tuple(text.split()))


def test_cfg_accepts_its_programs_and_recombines_what_fills_a_slot() -> None:
    cfg = output_cfg(tokenise(p) for p in PROGRAMS)
    cfg.check()
    assert all(cfg.accepts(tokenise(p)) for p in PROGRAMS)
    new = (
        EVENT.format(":attendees ( AttendeeListHasRecipient :recipient ( toRecipient ( CurrentUser ) ) )"),
        EVENT.format(":attendees ( andConstraint ( You ) ( andConstraint ( Me ) ( You ) ) )"),
        EVENT.format(":attendees ( Me ) :start ( ?= ( Tomorrow ) ) :subject ( ?= # ( String ' a tea ' ) )"),
        "( Yield :output ( FindManager :recipient ( " + BY_NAME.format("Ann Bo") + " ) ) )",
    )
    assert [p for p in map(program, new) if not cfg.accepts(tokenise(p))] == []


@pytest.mark.parametrize(
    "text",
    [
        EVENT.format(":subject ( ?= ( Tomorrow ) )"),
        EVENT.format(":subject ( ?= # ( String ' tea ' ) ) :start ( ?= ( Tomorrow ) )"),
        EVENT.format(":start ( ?= ( Tomorrow ) ) :start ( ?= ( Tomorrow ) )"),
        EVENT.format(":attendees ( toRecipient ( CurrentUser ) )"),
        "( Yield :output ( FindManager :recipient ( Me ) ) )",
        "( Yield :output ( FindManager :recipient ( toRecipient ( CurrentUser ) ) )",
        "( Yield :output ( ) )",
    ],
)
def test_cfg_refuses_what_no_slot_takes(text: str) -> None:
    cfg = output_cfg(tokenise(p) for p in PROGRAMS)
    assert not cfg.accepts(tokenise(program(text)))


def test_seeds_copy_literals_and_numbers_with_their_type() -> None:
    train = [
        Example.of("add a sales meeting for 30 minutes", '( f # ( String " sales meeting " ) # ( Number 30.0 ) )'),
        Example.of("add lunch on monday", '( f # ( String " Lunch " ) # ( DayOfWeek " MONDAY " ) # ( Number 4 ) )'),
    ]
    assert [str(rule) for rule in smcalflow.copy_rules(train)] == [
        "30 ### Number 30.0",
        'sales meeting ### String " sales meeting "',
    ]


@pytest.mark.parametrize(
    ("sentence", "literal", "kept"),
    [
        ("meet Ann Lee", 'PersonName " Ann Lee "', True),
        ("meet ann lee", 'PersonName " Ann Lee "', True),
        ("meet Mr . X", 'PersonName " Mr.X "', True),
        ("meet her", 'PersonName " Ann Lee "', False),
        ("meet on tues", 'DayOfWeek " TUESDAY "', True),
    ],
)
def test_filter_wants_the_words_of_free_text_in_the_sentence(sentence: str, literal: str, kept: bool) -> None:
    assert smcalflow.copies_its_literals(Example.of(sentence, f"( f # ( {literal} ) )")) is kept


def write_turns(path: Path, count: int, prefix: str, **fields: object) -> list[str]:
    turns = [
        {"dialogue_id": f"{prefix}{i}", "turn_index": 0, "utterance": f"tea {i}", "plan": f"( f # ( Number {i} ) )"}
        | fields
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return [f"{prefix}{i}.0" for i in range(count)]


def test_official_splits_go_by_ids(tmp_path: Path) -> None:
    train = write_turns(tmp_path / "train.jsonl", 3, "t", tags=["events"])
    valid = write_turns(tmp_path / "valid.jsonl", 2, "v", tags=["events_with_orgchart"])
    test = write_turns(tmp_path / "test.jsonl", 2, "e", tags=["events"])
    ids = {"train": train[1:], "valid_s": [], "valid": valid, "test_s": test, "test": [], "split_name": "x"}
    (tmp_path / "split_num8.json").write_text(json.dumps(ids))
    task = smcalflow.prepare(tmp_path, "8")
    assert [e.source_text for e in task.train] == ["tea 1", "tea 2"]
    assert [e.meta["category"] for e in task.dev] == ["cross", "cross"]
    assert len(task.test) == 2
    assert "the paper's table says" in task.notes[1]
    (tmp_path / "split_num8.json").write_text(json.dumps(ids | {"train": ["nobody.7"]}))
    with pytest.raises(InputError, match=r"split_num8.json: 1 ids.*nobody.7"):
        smcalflow.prepare(tmp_path, "8")


def test_a_folder_of_the_archive_is_a_split(tmp_path: Path) -> None:
    own = tmp_path / "source_domain_with_target_num8"
    own.mkdir()
    write_turns(own / "train.jsonl", 3, "t", tags=["events"])
    write_turns(own / "valid.jsonl", 2, "v", tags=["events_with_orgchart"])
    lines = (own / "valid.jsonl").read_text()
    write_turns(own / "valid.jsonl", 2, "s", tags=["events"])
    (own / "valid.jsonl").write_text(lines + (own / "valid.jsonl").read_text())
    write_turns(own / "test.jsonl", 1, "e", tags=["events"])
    task = smcalflow.prepare(tmp_path, "8")
    assert [len(part) for part in (task.train, task.dev, task.test)] == [3, 4, 1]
    assert [e.meta["category"] for e in task.dev] == ["single", "single", "cross", "cross"]
    assert smcalflow.prepare(own, "8").dev == task.dev
    with pytest.raises(InputError, match="the archive's folder source_domain_with_target_num16"):
        smcalflow.prepare(tmp_path, "16")


def test_fifth_draws_more_shots_on_top_of_the_fewer(tmp_path: Path) -> None:
    write_turns(tmp_path / "train_fifth.jsonl", 3, "t", in_num=[0, 8])
    single = (tmp_path / "train_fifth.jsonl").read_text()
    write_turns(tmp_path / "train_fifth.jsonl", 20, "c", in_num=[8])
    (tmp_path / "train_fifth.jsonl").write_text(single + (tmp_path / "train_fifth.jsonl").read_text())
    write_turns(tmp_path / "valid.jsonl", 40, "v", tags=["events_with_orgchart"])
    few, more = (smcalflow.prepare_fifth(tmp_path, n) for n in ("8", "16"))
    assert [len(few.train), len(few.dev), len(few.test)] == [3 + 8, 0, 40]
    assert set(few.train) < set(more.train)
    with pytest.raises(InputError, match=r"train_fifth.jsonl: has 20 cross-domain"):
        smcalflow.prepare_fifth(tmp_path, "32")


TURN = '{"utterance": "%s", "plan": "%s", "in_num": [0], "dialogue_id": "d", "turn_index": 0}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "train_fifth.jsonl:1"),
        ("[]", "expected a JSON object with"),
        ("[" * 3000, "nested too deeply"),
        (TURN % ("a", "( f " * 3000), "nested more than"),
        (TURN % ("\\ud800", "( f )"), "half of a surrogate pair"),
        ("\n".join([TURN % ("a", "( f )")] * 2), "train_fifth.jsonl:2: turn d.0 is in the file twice"),
        (" ", "no turns in the file"),
        ((TURN % ("a", "( f )")).replace("[0]", "[8]"), "has 1 cross-domain examples"),
        ('{"utterance": "a"}', "expected a JSON object with"),
        ('{"utterance": "a", "plan": "( f", "in_num": [0], "dialogue_id": "d", "turn_index": 0}', "closing bracket"),
        (
            '{"utterance": "", "plan": "( f )", "in_num": [0], "dialogue_id": "d", "turn_index": 0}',
            "utterance is empty",
        ),
    ],
)
def test_a_broken_line_is_an_input_error(tmp_path: Path, line: str, message: str) -> None:
    write_turns(tmp_path / "valid.jsonl", 1, "v", tags=[])
    (tmp_path / "train_fifth.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=re.escape(message)):
        smcalflow.prepare_fifth(tmp_path, "8")


def test_a_number_without_digits_is_not_copied() -> None:
    assert smcalflow.copy_rules([Example.of("a", '( f :n # ( Number " " ) )')]) == []


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train.jsonl: not found.*smcalflow-cs-fifth"):
        smcalflow.prepare(tmp_path, "8")
    with pytest.raises(InputError, match=r"(valid|train_fifth).jsonl: cannot be read"):
        smcalflow.prepare_fifth(tmp_path, "8")


def test_all_plans_come_back_exactly(shared_data: Path) -> None:
    plans = [turn["plan"] for turn in turns(shared_data)]
    assert len(plans) == 1324 + 5459
    assert [plan for plan in plans if detokenise(tokenise(plan)) != plan] == []


def test_nearly_all_free_text_can_be_copied_token_by_token(shared_data: Path) -> None:
    copied = total = 0
    for turn in turns(shared_data):
        sentence = " " + " ".join(tokenise_sentence(turn["utterance"])) + " "
        for literal in literals_of(parse_program(tokenise(turn["plan"]))):
            if literal.head in smcalflow.FREE_TEXT:
                total += 1
                copied += f" {' '.join(literal.tokens)} " in sentence
    assert (copied, total) == (8565 - 61, 8565)


def test_fifth_has_the_expected_sizes(fifth: Task) -> None:
    kinds = [e.meta["category"] for e in fifth.train]
    assert (kinds.count("single"), kinds.count("cross")) == (5424 - 15, 8)
    assert len(fifth.test) == 1324
    assert "the 35" in "".join(fifth.notes)
    assert len(fifth.seed_rules) == len(set(fifth.seed_rules))


def test_the_domain_of_a_pair_is_that_of_the_published_split(shared_data: Path) -> None:
    for name in ("valid", "train_fifth"):
        examples = smcalflow.read_turns(shared_data / "smcalflow_cs" / f"{name}.jsonl").values()
        assert [e for e in examples if smcalflow.domain(e) != e.meta["category"]] == []


def test_hallucinated_fragments_are_those_of_the_programs(shared_data: Path) -> None:
    plans = "\n".join(turn["plan"] for turn in turns(shared_data))
    for rule in smcalflow.HALLUCINATIONS:
        before, after = (re.escape(part) for part in str(rule).removeprefix("NT_1 ### ").split("NT_1"))
        assert re.search(before + r"[^\n]*" + after, plans)


def test_fifth_cfg_accepts_all_training_and_most_test_programs(fifth: Task) -> None:
    assert fifth.output_cfg is not None
    fifth.output_cfg.check()
    assert all(fifth.output_cfg.accepts(e.target) for e in fifth.train)
    accepted = sum(fifth.output_cfg.accepts(e.target) for e in fifth.test)
    assert accepted == 994  # most others have a word that no training literal has
    assert not any(token.startswith(WHOLE) for e in fifth.train for token in e.target)


@pytest.mark.parametrize(
    ("target", "category", "children"),
    [
        ("( Yield :output ( NT_1 ) )", "ROOT", ("output",)),
        ("FindManager :recipient ( NT_1 )", "recipient", ("recipient",)),
        ("AttendeeListHasPeople :people ( NT_1 )", "attendees", ("people",)),
        ("Constraint[Event] :attendees ( NT_1 ) :subject ( ?= # ( NT_2 ) )", "constraint", ("attendees", "String")),
        ("Number 45", "Number", ()),
    ],
)
def test_fifth_cfg_types_the_fragments_of_rules(
    fifth: Task, target: str, category: str, children: tuple[str, ...]
) -> None:
    assert fifth.output_cfg is not None
    symbols = parse_rule(f"NT_1 NT_2 ### {target} NT_1 NT_2").target[:-2]
    assert Typing(category, children) in fifth.output_cfg.typings(symbols)


def test_fifth_cfg_types_every_seed_but_no_loose_fragment(fifth: Task) -> None:
    assert fifth.output_cfg is not None
    assert [rule for rule in fifth.seed_rules if not fifth.output_cfg.typings(rule.target)] == []
    for fragment in (") :start", "( Yield", "FindManager :recipient", ":recipient ("):
        assert fifth.output_cfg.typings(tuple(fragment.split())) == ()
