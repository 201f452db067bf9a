"""The regular expression of words and punctuation in any script."""

import unicodedata
from itertools import pairwise


def _marks() -> str:
    """Combining marks, as ranges of a character class: `re` does not count them among the characters of words."""
    codes = [code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M"]
    starts = [b for a, b in pairwise([-1, *codes]) if b != a + 1]
    ends = [a for a, b in pairwise([*codes, -1]) if b != a + 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


MARKS = _marks() + "\N{ZERO WIDTH NON-JOINER}\U000e0100-\U000e01ef"
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # scripts without spaces
CHARACTER = rf"[^\W{_ALONE}]|[{MARKS}]"
JOINT = r"[-'’.&_]"
_MODIFIERS = rf"(?:[{MARKS}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d\S)*+"
_CLITIC = rf"['’](?:[sdmSDM]|ll|LL|ve|VE|re|RE)(?!{CHARACTER})"


def words_pattern(character: str = CHARACTER, joint: str = JOINT) -> str:
    """Return a regular expression for one token: `character` is what words consist of, `joint` what joins them."""
    character = f"(?:{character})"
    number = rf"\d++(?:[.,:/]\d++)*+(?!{character})"
    address = r"https?://[^\s\"'<>]*[\w/]|[\w.+-]+@\w[\w-]*+(?:\.[\w-]++)++"
    word = rf"{character}++(?:(?!{_CLITIC}){joint}{character}++)*+"
    abbreviation = r"(?:[^\W\d_]\.){2,}"
    alone = rf"[{_ALONE}][{MARKS}]*+"
    punctuation = rf"\.++|-++|[!?]++|'++|\"++|[\U0001f1e6-\U0001f1ff]{{2}}|\S{_MODIFIERS}"
    return "|".join([address, number, abbreviation, word, alone, _CLITIC, punctuation])
