"""Every reader. `test_readers` damages their files; `atheris_readers` lets a coverage-guided fuzzer do it."""

from . import commands, run_readers, seq2seq_readers, set_readers, text_readers

PARTS = (text_readers, run_readers, set_readers, seq2seq_readers, commands)
READERS = [reader for part in PARTS for reader in part.READERS]
