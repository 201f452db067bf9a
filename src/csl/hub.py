"""Loading from a folder or from the Hugging Face hub: without noise, and with one line for whatever goes wrong."""

import importlib.util
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from csl.errors import InputError


@contextmanager
def loading(name: str | Path, failure: str, remedy: str) -> Iterator[None]:
    """Load a model or tokenizer in the block; what a missing, foreign or damaged one raises differs by library."""
    path = Path(name)
    if not path.exists() and (path.is_absolute() or str(name).startswith(".") or len(path.parts) > 2):
        raise InputError(f"no such folder; {remedy}", name)  # the hub cannot have it
    try:
        with quiet():
            yield
    except Exception as error:
        raise InputError(f"{failure}: {first_line(error)}; {remedy}", name) from error


def refuse_gaps(name: str | Path, missing: Iterable[str], remedy: str) -> None:
    """Refuse a checkpoint that lacks weights, which the library fills at random."""
    if keys := sorted(missing):
        raise InputError(f"has no weights for {keys[0]} and {len(keys) - 1} others; {remedy}", name)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the progress bars and hints of the libraries out of our output."""
    from transformers.utils import logging as noise  # noqa: PLC0415 — it takes seconds to import

    hub = logging.getLogger("huggingface_hub")
    bars, level, hub_level = noise.is_progress_bar_enabled(), noise.get_verbosity(), hub.level
    noise.disable_progress_bar()
    noise.set_verbosity(logging.CRITICAL)
    hub.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        hub.setLevel(hub_level)
        noise.set_verbosity(level)
        if bars:
            noise.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """Give the first line of a message, which in other libraries may have many."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")


def need_torch() -> None:
    """Refuse, with what to install, where the libraries of networks are missing."""
    _need("seq2seq", "torch", "transformers", "accelerate", "safetensors")


def need_llguidance() -> None:
    """Refuse, with what to install, where the library that masks tokens is missing."""
    _need("seq2seq", "llguidance")


def need_peft() -> None:
    """Refuse, with what to install, where the library of adapters is missing."""
    _need("lora", "peft")


def _need(extra: str, *names: str) -> None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        package = f"compositional-structure-learner[{extra}]"
        raise InputError(f"not installed: {', '.join(missing)}; install with pip install '{package}'")
