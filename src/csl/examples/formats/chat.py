"""Chat messages: the last user turn is the input, the assistant's turn after it the output.

Tool calls become a JSON text, `{"name": …, "arguments": {…}}`, or a list of these when there are several. What
synthetic rows take over from a file is its template: an entry with the most frequent system prompt and tools.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from csl.examples.formats.columns import as_json
from csl.files import parse_json

SHARED = ("tools", "functions")  # fields beside the messages that say what the assistant can do
CALL = {"type": "function", "function": {"name": "", "arguments": ""}}
TEMPLATE: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
}


def is_chat(fields: Mapping[str, Any]) -> bool:
    """Tell whether an entry has messages; a prompt and a completion may be messages, too."""
    return "messages" in fields or all(isinstance(fields.get(name), list) for name in ("prompt", "completion"))


def turns_of(fields: Mapping[str, Any], *, inputs_only: bool = False) -> tuple[str, str, bool]:
    """Give input, output, and whether the conversation has other turns; ValueError where it has not these."""
    messages = _messages(fields)
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        raise ValueError("no message of the user; add one, or remove the line")
    after = messages[users[-1] + 1 :]
    answer = next((message for message in after if message["role"] == "assistant"), None)
    if answer is None and not inputs_only:
        raise ValueError("no message of the assistant after the last one of the user; add it, or remove the line")
    output = "" if answer is None else _answer_text(answer)
    return _text(messages[users[-1]]), output, len(users) > 1 or len(after) > 1


def _messages(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not is_chat(fields):
        raise ValueError(f"no messages; the row has {', '.join(fields) or 'no columns'}")
    messages = fields["messages"] if "messages" in fields else [*fields["prompt"], *fields["completion"]]
    if not isinstance(messages, list):
        raise ValueError("`messages` is not a list")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError("a message without a role; each is an object with role and content")
    return messages


def _text(message: Mapping[str, Any]) -> str:
    """Give the text of a message, which may be in parts."""
    content = message.get("content")
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(str(part.get("text", "")) for part in content)
    if not isinstance(content, str):
        raise ValueError(f"the message of the {message['role']} has no text; images and sound cannot be learnt from")
    return content


def _answer_text(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    if not calls:
        return _text(message)
    if not isinstance(calls, list):
        raise ValueError("`tool_calls` is not a list")
    texts = [_call_text(call) for call in calls]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _call_text(call: Any) -> str:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ValueError("a tool call without a name; expected {function: {name, arguments}}")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            valid = isinstance(parse_json(arguments), dict)
        except ValueError as error:
            raise ValueError(f"the arguments of {function['name']} are not valid JSON ({error})") from error
    else:
        valid, arguments = arguments is None or isinstance(arguments, dict), as_json(arguments or {})
    if not valid:
        raise ValueError(f"the arguments of {function['name']} are not a JSON object")
    return f'{{"name": {json.dumps(function["name"], ensure_ascii=False)}, "arguments": {arguments.strip()}}}'


# writing


def template_of(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Make the template of a file from its first entries, which are known to be good."""
    frames = [json.dumps(_frame(fields), sort_keys=True, default=str) for fields in entries]
    common = Counter(frames).most_common(1)[0][0]
    alike = [fields for fields, frame in zip(entries, frames, strict=True) if frame == common]
    turns = [_last_turns(_messages(fields)) for fields in alike]
    user, answer = next((turn for turn in turns if turn[1].get("tool_calls")), turns[0])
    frame = _frame(alike[0])
    system = frame.pop("system")
    if "messages" in alike[0]:
        return {"messages": [*system, user, answer], **frame}
    return {"prompt": [*system, user], "completion": [answer], **frame}


def has_calls(template: Mapping[str, Any]) -> bool:
    """Tell whether the assistant of a template calls tools."""
    return bool(_messages(template)[-1].get("tool_calls"))


def _frame(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an entry has beside its turns: the messages before the first one of the user, and the tools."""
    system = []
    for message in _messages(fields):
        if message["role"] in ("user", "assistant"):
            break
        system.append(message)
    return {"system": system, **{name: fields[name] for name in SHARED if name in fields}}


def _last_turns(messages: list[Mapping[str, Any]]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    place = max(k for k, message in enumerate(messages) if message["role"] == "user")
    answers = (message for message in messages[place + 1 :] if message["role"] == "assistant")
    return messages[place], next(answers, {"role": "assistant", "content": ""})


def fields_of(source: str, target: str, template: Mapping[str, Any]) -> dict[str, Any]:
    """Make an entry like the template, with another input and output."""
    messages = _messages(template)
    turns = [_with_text(messages[-2], source), _answer(messages[-1], target)]
    if "messages" in template:
        return {**template, "messages": [*messages[:-2], *turns]}
    return {**template, "prompt": [*messages[:-2], turns[0]], "completion": turns[1:]}


def _with_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    parts = isinstance(message.get("content"), list)
    return {**message, "content": [{"type": "text", "text": text}] if parts else text}


def _answer(like: Mapping[str, Any], output: str) -> dict[str, Any]:
    """Make the assistant's message: with tool calls if the output is some, and the template has any."""
    calls = _calls(output) if like.get("tool_calls") else None
    if calls is None:
        return _with_text({name: value for name, value in like.items() if name != "tool_calls"}, output)
    empty = like.get("content") if like.get("content") in ("", None) else None
    made = {**like, "tool_calls": [_call(like["tool_calls"][0], *call, k) for k, call in enumerate(calls, 1)]}
    return {name: empty if name == "content" else value for name, value in made.items()}


def _calls(output: str) -> list[tuple[str, dict[str, Any]]] | None:
    """Read an output as tool calls, if it is a JSON text of some."""
    try:
        value = parse_json(output)
    except ValueError:
        return None
    found = [
        (call["name"], call["arguments"])
        for call in (value if isinstance(value, list) else [value])
        if isinstance(call, dict)
        and call.keys() == {"name", "arguments"}
        and isinstance(call["name"], str)
        and isinstance(call["arguments"], dict)
    ]
    return found if found and len(found) == (len(value) if isinstance(value, list) else 1) else None


def _call(like: Mapping[str, Any], name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    own = like.get("function", like)
    as_text = not isinstance(own.get("arguments"), dict)
    function = {**own, "name": name, "arguments": json.dumps(arguments, ensure_ascii=False) if as_text else arguments}
    call = {**like, "function": function} if "function" in like else function
    return {**call, "id": f"call_{number}"} if "id" in like else call
