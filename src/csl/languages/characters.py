"""The regular expression of words and punctuation in any script."""

import unicodedata
from itertools import pairwise


def _marks() -> str:
    """Return combining marks as ranges of a character class: for `re` they are not characters of words."""
    categories = map(unicodedata.category, map(chr, range(0x300, 0x1F000)))
    codes = [0x300 + place for place, category in enumerate(categories) if category[0] == "M"]
    starts = [b for a, b in pairwise([-1, *codes]) if b != a + 1]
    ends = [a for a, b in pairwise([*codes, -1]) if b != a + 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


MARKS = _marks() + "\N{ZERO WIDTH NON-JOINER}\U000e0100-\U000e01ef"
ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # scripts without spaces
CHARACTERS = rf"[^\W{ALONE}]++|[{MARKS}]"
JOINT = r"[-'’.&@]|(?<=\d)[,:/](?=\d)"
_MODIFIERS = rf"(?:[{MARKS}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d\S)*+"
_CLITIC = rf"['’](?:[sdmSDM]|ll|LL|ve|VE|re|RE)(?!{CHARACTERS})"


def words_pattern(characters: str = CHARACTERS, joint: str = JOINT) -> str:
    """Return a regular expression for one token: `characters` is what words consist of, `joint` what joins them."""
    characters = f"(?:{characters})"
    address = r"https?://[^\s\"'<>]*[\w/]"
    abbreviation = rf"(?:[^\W\d_]\.){{2,}}+(?!{characters})"
    word = rf"{characters}++(?:(?!{_CLITIC})(?:{joint}){characters}++)*+"
    alone = rf"[{ALONE}][{MARKS}]*+"
    punctuation = rf"\.++|-++|[!?]++|'++|\"++|[\U0001f1e6-\U0001f1ff]{{2}}|\S{_MODIFIERS}"
    return "|".join([address, abbreviation, word, alone, _CLITIC, punctuation])
