"""Preparing: from raw text to examples that rules can be learnt from, by what the training pairs show."""

from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

from csl.errors import InputError
from csl.examples import Example, write_examples
from csl.files import read_lines, write_json, write_text
from csl.grammar import write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.induction.auto import rare_words
from csl.languages.registry import detect, language
from csl.log import Log
from csl.preparing.preparation import Prepared, prepare
from csl.preparing.value_lists import with_values
from csl.preparing.writing import decoding_grammar
from csl.runs.folder import Figures
from csl.runs.recipe import AUTO, Recipe
from csl.runs.stage import Stage, Work

log = Log("prepare")
FLAT = "tokens"  # the language of outputs that are tokens between spaces
NONE = "none"  # in place of a language: the data is prepared already
GENERATED = 0.01  # of the examples have a word of their own, at least, if their inputs were written by people
SHOWN = 80  # characters of an output that does not parse
LOOKED_AT = 200  # outputs, to see whether they have structure
ACCEPTED = 0.5  # of the outputs, at least, that an output CFG must accept to be the one for them


class Prepare(Stage):
    """Find out how raw pairs are to be read: language, values, categories; without any structure nothing is done."""

    name = "prepare"
    keeps = True
    reads = ("data/train.tsv",)
    may_read = ("data/seed_rules.txt", "data/output.cfg", "data/values.tsv")
    artefacts = {"prepared/": "the examples that are learnt from: values as placeholders, categories as output.cfg"}

    def applies(self, recipe: Recipe) -> bool:
        data = recipe.data
        return not data.set and data.language != NONE and (bool(data.language) or recipe.induction.preset == AUTO)

    def options(self, work: Work) -> Any:
        return {"language": work.recipe.data.language, "keep_case": work.recipe.data.keep_case}

    def run(self, work: Work) -> Figures:
        data, folder = work.recipe.data, work.folder
        pairs = folder.examples()
        found = find_preparation(pairs, data.language, keep_case=data.keep_case, output_cfg=folder.given_cfg())
        if found is None:
            if data.values:
                raise InputError(
                    "the outputs have no types of values; see `csl types`, or leave --values out", data.values
                )
            return {"language": FLAT}
        if more := folder.file("data/values.tsv"):
            preparation = with_values(found.preparation, read_lines(more), data.values)
            found = replace(found, preparation=preparation)
        if found.unread:
            first = shorten(pairs[found.unread[0]].target_text, SHOWN, placeholder=" …")
            log.warning(
                f"{len(found.unread):,} outputs do not parse as {found.preparation.language.name}, and are taken as "
                f"plain text; the first is that of example {found.unread[0] + 1:,}: {first}"
            )
        place = folder.path / "prepared"
        write_examples(place / "train.tsv", found.examples)
        cfg = folder.given_cfg() or found.categories.cfg
        cfg.write(place / "output.cfg")
        written = folder.given_cfg() or found.any_order
        written.write(place / "decoding.cfg")
        write_text(place / "decoding.lark", decoding_grammar(written, found.preparation))
        write_grammar(place / "seed_rules.txt", [*folder.given_seed_rules(), *found.seed_rules])
        write_json(place / "preparation.json", found.preparation.to_json())
        values = found.preparation.values
        return {
            "language": found.preparation.language.name, "unread": len(found.unread), "examples": len(pairs),
            "types": len({entry.type for entry in values.entries}), "values": len(values.entries),
            "categories": len(cfg.categories),
        }  # fmt: skip

    def summary(self, figures: Figures) -> str:
        if "values" not in figures:
            return "outputs are tokens between spaces, taken as they are"
        unread = f", {figures['unread']:,} of {figures['examples']:,} outputs do not parse" if figures["unread"] else ""
        types = f"{figures['types']:,} type{'' if figures['types'] == 1 else 's'}"
        return (
            f"outputs are {figures['language']}{unread}; {figures['values']:,} values of {types}, "
            f"{figures['categories']:,} categories"
        )


def find_preparation(
    pairs: Sequence[Example], name: str = "", *, keep_case: bool = False, output_cfg: OutputCfg | None = None
) -> Prepared | None:
    """Learn how to prepare pairs; None if their outputs have no structure, or are what an output CFG given is for."""
    log.progress("looking at the language of the outputs …")
    try:
        spoken = language(name) if name else detect([pair.target_text for pair in pairs]).language
    except ValueError as error:
        raise InputError(f"--output-language: {error}, {NONE}") from error
    if spoken.name == FLAT and not name and (rare_words(set(pairs)) < GENERATED or not _has_structure(pairs)):
        return None  # tokens of a generator, or without brackets: others have prepared them
    if output_cfg and _share(output_cfg, [pair.target for pair in pairs]) >= ACCEPTED:
        return None
    log.progress(f"outputs are {spoken.name}; looking for values and categories …")
    found = prepare([(pair.source_text, pair.target_text) for pair in pairs], spoken.name, keep_case=keep_case)
    if output_cfg and _share(output_cfg, [example.target for example in found.examples]) < ACCEPTED:
        raise InputError("the output CFG accepts few of the outputs, neither as they are nor prepared; see `csl types`")
    return found


def _has_structure(pairs: Sequence[Example]) -> bool:
    """Whether most outputs that are tokens between spaces have something in brackets."""
    distinct = sorted({pair.target_text for pair in pairs})[:LOOKED_AT]
    programs = [language(FLAT).read(output) for output in distinct]
    return (
        sum(any(child.children for child in p.root.walk() if child is not p.root) for p in programs) > len(programs) / 2
    )


def _share(cfg: OutputCfg, outputs: Sequence[tuple[str, ...]]) -> float:
    distinct = sorted(set(outputs))
    return sum(map(cfg.accepts, distinct)) / max(1, len(distinct))
