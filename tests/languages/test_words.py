"""Natural language cut into words, and the case of words."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csl.languages import Casing, Spacing
from csl.languages.words import cut, normal


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("What's up?", "What 's up ?"),
        ("I don't know the co-worker's name...", "I don't know the co-worker 's name ..."),
        ("rock’n’roll isn’t dead, they’re fine", "rock’n’roll isn’t dead , they ’re fine"),
        ("at 5:30pm on 3/4/20: $1,000.50!", "at 5:30pm on 3/4/20 : $ 1,000.50 !"),
        ("snake_case x2 en.person.alice", "snake_case x2 en.person.alice"),
        ("mail a.b@d-e.org, see https://x.org/a?b=c.", "mail a.b@d-e.org , see https://x.org/a?b=c ."),
        ("the U.S. has (many) states", "the U.S. has ( many ) states"),
        ("我想去北京2008。", "我 想 去 北 京 2008 。"),
        ("مَرْحَبًا، كيف حالك؟", "مَرْحَبًا ، كيف حالك ؟"),
        ("नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
        ("cafe\u0301 👩🏽‍🚀🇩🇪👍🏽!", "cafe\u0301 👩🏽‍🚀 🇩🇪 👍🏽 !"),
    ],
)
def test_words_and_punctuation(text: str, tokens: str) -> None:
    assert cut(text).tokens == tuple(tokens.split())
    assert str(cut(text)) == text


@given(st.text() | st.text(st.sampled_from("aé漢\u0301\u200d👩 '-.,1:@_/\n"), max_size=20))
def test_any_text_comes_back(text: str) -> None:
    cut_text = cut(text)
    assert str(cut_text) == text
    assert all(token and not any(map(str.isspace, token)) for token in cut_text.tokens)


@given(st.text(st.characters(exclude_categories=("Zs", "Cc")), min_size=1))
def test_normal_forms_are_stable_and_ignore_unicode_forms(token: str) -> None:
    assert normal(normal(token)) == normal(token)
    assert normal(unicodedata.normalize("NFD", token)) == normal(unicodedata.normalize("NFC", token))


def test_case_is_ignored_unless_kept() -> None:
    assert normal("Straße") == normal("STRASSE")
    assert normal("ＡＢＣ", keep_case=True) == "ABC"


TRAINING = ["What states border Texas?", "Which city in New York is big?", "I like the new city.", "Texas is big."]


def rewrite(text: str) -> str:
    texts = [cut(line) for line in TRAINING]
    casing = Casing.from_json(json.loads(json.dumps(Casing.learn(texts).to_json())))
    return Spacing.learn(texts, '"').write(casing.write([normal(token) for token in cut(text).tokens]))


@pytest.mark.parametrize("text", [*TRAINING, "Border New York?", "States like Texas.", "City in the new Texas?"])
def test_normal_tokens_get_the_case_and_the_spaces_of_training(text: str) -> None:
    assert rewrite(text) == text


def test_inputs_in_lower_case_stay_so() -> None:
    texts = [cut("show me flights"), cut("list Boston hotels")]
    assert Casing.learn(texts).write(("flights", "show", "boston")) == ("flights", "show", "Boston")
