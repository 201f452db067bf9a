"""Every reader, whose files `test_readers` damages."""

from . import commands, run_readers, seq2seq_readers, set_readers, text_readers

PARTS = (text_readers, run_readers, set_readers, seq2seq_readers, commands)
READERS = [reader for part in PARTS for reader in part.READERS]
