"""Options: presets, files and settings; what is mistyped is named, with the nearest that is known."""

from pathlib import Path

import pytest

from csl.errors import InputError
from csl.induction.config import PRESETS, InductionConfig
from csl.options import changed, find_preset, parse_setting, read_options


def refusal(function: object, *arguments: object) -> str:
    with pytest.raises(InputError) as error:
        function(*arguments)  # type: ignore[operator]
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "options.toml"


def test_presets_have_the_weights_of_the_paper() -> None:
    weights = {name: (c.k_alpha, c.k_beta, c.k_t, c.partitions) for name, c in PRESETS.items()}
    assert weights == {
        "scan": (0, 100, 4, 16),
        "cogs": (1, 5, 8, 1),
        "geoquery": (4, 16, 8, 1),
        "smcalflow": (4, 16, 8, 1),
    }
    assert find_preset(PRESETS, "scan") is PRESETS["scan"]


def test_an_unknown_preset_is_refused_with_the_nearest_or_all() -> None:
    assert "did you mean 'geoquery'?" in refusal(find_preset, PRESETS, "geoqery")
    assert "known: scan, cogs, geoquery, smcalflow" in refusal(find_preset, PRESETS, "xyz")


@pytest.mark.parametrize("text", ["k_t = 3\nlone_target = false\n", "[induction]\nk_t = 3\nlone_target = false\n"])
def test_a_file_changes_the_options_it_names(text: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    config = changed(PRESETS["scan"], read_options(file, "induction", InductionConfig()))
    assert config == PRESETS["scan"].model_copy(update={"k_t": 3.0, "lone_target": False})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("k_apha = 1\n", "no option 'k_apha'; did you mean 'k_alpha'?"),
        ("[induction]\nmax_nonterminal = 1\n", "did you mean 'max_nonterminals'?"),
        ("colour = 1\n", "known: k_alpha, k_beta"),
        ("k_t = 'many'\n", "k_t = 'many'"),
        ("k_t = 0\n", "greater than 0"),
        ("max_nonterminals = 9\n", "max_nonterminals = 9"),
        ("partitions = 1.5\n", "partitions = 1.5"),
        ("k_beta = nan\n", "finite"),
        ("k_nt = 1e18\n", "k_nt = 1e+18"),
        ("max_units = 9223372036854775808\n", "max_units = 9223372036854775808"),
        ("k_t 3\n", "not valid TOML"),
        ("k_t = " + "[" * 3000, "not valid TOML: nested too deeply"),
        ("k_t = " + "9" * 5000, "not valid TOML"),
        ("induction = 3\n", "`induction` is not a table"),
    ],
)
def test_a_wrong_file_is_refused_by_name(text: str, reason: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    message = refusal(read_options, file, "induction", InductionConfig())
    assert message.startswith(f"{file}: ")
    assert reason in message


def test_a_missing_file_is_refused(file: Path) -> None:
    assert refusal(read_options, file, "induction", InductionConfig()).startswith(f"{file}: cannot be read")


def test_settings_are_read_as_their_option_wants_them() -> None:
    settings = ["k_t=8.5", "steps = 7", "repeated_target=no", "drop_duplicates=true"]
    config = changed(InductionConfig(), map(parse_setting, settings))
    assert (config.k_t, config.steps, config.repeated_target, config.drop_duplicates) == (8.5, 7, False, True)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("kt=8", "no option 'kt'; did you mean 'k_t'?"),
        ("k_t", "expected key=value"),
        ("k_t=", "k_t = ''"),
        ("steps=0", "greater than or equal to 1"),
        ("lone_target=maybe", "lone_target = 'maybe'"),
        ("seed=-1", "seed = '-1'"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting: str, reason: str) -> None:
    assert reason in refusal(lambda: changed(InductionConfig(), [parse_setting(setting)]))
