"""Laws of languages, spacing and words on the outputs and inputs of the real sets; the slow ones on all of them."""

from pathlib import Path

import pytest

from csl.languages import Spacing, detect, language
from csl.languages.words import cut

from . import laws, real

EXPECTED = {
    "atis_lambda": "sexpr",
    "home_assistant_en": "json",
    "home_assistant_en_chat": "json",
    "nlmaps": "calls",
    "overnight_calendar": "sexpr",
    "pizza": "sexpr",
    "schema2qa_restaurants": "tokens",
    "scholar_sql_query_split": "sql",
    "smcalflow_cs": "sexpr",
    "topv2_reminder_25spis_decoupled": "top",
}
every = pytest.mark.parametrize("name", real.SETS)
some_or_all = pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])


@every
@some_or_all
def test_all_outputs_parse_and_come_back(shared_data: Path, name: str, step: int) -> None:
    outputs = [output for part in ("train", "dev", "test") for _, output in real.read(shared_data, name, part)][::step]
    found = detect(outputs)
    assert found.language.name == EXPECTED.get(name, "calls")
    assert found.share == 1
    for output in outputs:
        laws.check(found.language.read(output), output)


@every
@some_or_all
def test_every_output_comes_back_as_code(shared_data: Path, name: str, step: int) -> None:
    for _, output in real.read(shared_data, name, "train")[::step]:
        laws.check(language("code").read(output), output)


@every
@pytest.mark.slow
def test_spacing_is_learnt(shared_data: Path, name: str) -> None:
    outputs = [[output for _, output in real.read(shared_data, name, part)] for part in ("train", "test")]
    found = detect(outputs[0]).language
    train, test = ([found.read(output) for output in part] for part in outputs)
    spacing = Spacing.learn(train, found.quotes)
    other = [str(program) for program in (*train, *test) if spacing.write(program.tokens) != str(program)]
    assert len(other) <= 0.001 * (len(train) + len(test)) + 2, other  # people are not quite consistent


@every
@some_or_all
def test_inputs_come_back(shared_data: Path, name: str, step: int) -> None:
    for source, _ in real.read(shared_data, name, "train")[::step]:
        text = cut(source)
        assert str(text) == source
        assert not any(map(str.isspace, "".join(text.tokens)))
