"""Every reader. `test_readers` damages their files; `atheris_readers` lets a coverage-guided fuzzer do it."""

from . import commands, run_readers, set_readers, text_readers

READERS = [*text_readers.READERS, *run_readers.READERS, *set_readers.READERS, *commands.READERS]
