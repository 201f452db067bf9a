"""Prompts: what stands around the input and the output of a decoder.

A tokenizer with a chat template says it: the input is the turn of the user, the output that of the assistant. Others
get the input as a line. The frame is found once and stored with the model, as some templates change from day to day.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from csl.errors import InputError
from csl.hub import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

INPUT, OUTPUT = "csl-input", "csl-output"  # words that no template has


@dataclass(frozen=True)
class Frame:
    """The texts before an input, and between it and its output; and the token that ends an output."""

    before: str
    after: str
    end: str


def frame_of(tokenizer: "PreTrainedTokenizerBase", system: str | None = None) -> Frame:
    """Find the frame of a tokenizer; `system` is the first message of every chat."""
    frame = _chat_frame(tokenizer, system) if tokenizer.chat_template else _line_frame(tokenizer, system)
    if not frame.end:
        raise InputError("the model's tokenizer has no end token: set eos_token in its tokenizer_config.json")
    return frame


def _chat_frame(tokenizer: "PreTrainedTokenizerBase", system: str | None) -> Frame:
    messages = [{"role": "system", "content": system}] if system is not None else []
    messages.append({"role": "user", "content": INPUT})
    answered = [*messages, {"role": "assistant", "content": OUTPUT}]
    try:
        prompt: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        whole: str = tokenizer.apply_chat_template(answered, tokenize=False)
    except Exception as error:  # templates are programs, and raise what they like
        raise InputError(f"the chat template of the model fails: {first_line(error)}") from error
    before, _, after = prompt.partition(INPUT)
    rest = _ids(tokenizer, whole.rpartition(OUTPUT)[2].lstrip())
    ends = bool(rest) and rest[0] in tokenizer.added_tokens_decoder  # else the template leaves turns open
    return Frame(before, after, tokenizer.convert_ids_to_tokens(rest[0]) if ends else tokenizer.eos_token)


def _line_frame(tokenizer: "PreTrainedTokenizerBase", system: str | None) -> Frame:
    """End the input with a newline or, where the tokenizer drops it, with the end token."""
    if system is not None:
        raise InputError("the model has no chat template, and so no place for the option system; use prefix")
    lead = [i for i in tokenizer("").input_ids if i != tokenizer.eos_token_id]
    newline = _ids(tokenizer, "a\n") != _ids(tokenizer, "a")
    return Frame(tokenizer.decode(lead), "\n" if newline else tokenizer.eos_token, tokenizer.eos_token)


def _ids(tokenizer: "PreTrainedTokenizerBase", text: str) -> Any:
    return tokenizer(text, add_special_tokens=False).input_ids
