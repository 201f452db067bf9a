"""Small sets of raw pairs, in several output languages."""

import json

NAMES = ["Texas", "Ohio", "Utah", "Iowa", "New York", "Maine"]
CITIES = ["Rome", "Paris", "Austin", "Bonn"]


def _geo() -> list[tuple[str, str]]:
    def state(name: str) -> str:
        return f"stateid('{name.lower()}')"

    pairs = [("What is the largest state?", "answer(largest(state(all)))")]
    for name in NAMES:
        pairs += [
            (f"How big is {name}?", f"answer(size({state(name)}))"),
            (f"What rivers are in {name}?", f"answer(river(loc_2({state(name)})))"),
            (f"What cities are in {name}?", f"answer(city(loc_2({state(name)})))"),
            (f"What states border {name}?", f"answer(state(next_to({state(name)})))"),
            (f"What is the capital of {name}?", f"answer(capital(loc_2({state(name)})))"),
        ]
    pairs += [(f"How big is {c}?", f"answer(size(cityid('{c.lower()}', _)))") for c in CITIES]
    a, b = NAMES[:2]
    both = f"intersection(state(next_to({state(a)})), state(next_to({state(b)})))"
    pairs += [
        ("What is the largest city?", "answer(largest(city(all)))"),
        (f"What rivers are in states that border {a}?", f"answer(river(loc_2(state(next_to({state(a)})))))"),
        (
            f"What states border {a} and {b}?",
            f"answer({both})",
        ),
    ]
    return pairs


def _home() -> list[tuple[str, str]]:
    rooms, lamps = ["kitchen", "bed room", "hall", "attic"], ["ceiling lamp", "desk light", "fan"]
    pairs = []
    for room in rooms:
        for level in (10, 20, 50):
            pairs.append((f"set the {room} to {level} percent", {"intent": "Dim", "area": room, "level": level}))
        pairs.append((f"open the door of the {room}", {"intent": "Open", "area": room}))
        for lamp in lamps:
            pairs.append((f"turn on the {lamp} in the {room}", {"intent": "On", "area": room, "names": [lamp]}))
    return [(text, json.dumps(output)) for text, output in pairs]


def _remind() -> list[tuple[str, str]]:
    things, times = ["buy eggs", "call Mum", "feed the cat", "sleep"], ["at noon", "tonight", "on Friday"]
    return [
        (f"Remind me to {thing} {time}", f"[IN:CREATE [SL:TODO {thing} ] [SL:TIME {time} ] ]")
        for thing in things
        for time in times
    ]


def _sexpr() -> list[tuple[str, str]]:
    pairs = []
    for name in ("weekly standup", "review", "launch party", "one on one"):
        entity = f"en.meeting.{name.replace(' ', '_')}"
        pairs += [
            (f"when is the {name}", f'(call get {entity} (string "start"))'),
            (f"meetings after the {name}", f'(call filter (call get {entity} (string "end")) (string ">"))'),
            (f"how long is the {name}", f'(call get {entity} (string "length"))'),
        ]
    return pairs


def _sql() -> list[tuple[str, str]]:
    authors = ["Ann Lee", "Bob Ray", "Cyd Fox"]
    return [
        *((f"papers by {a}", f"SELECT p.id FROM papers AS p WHERE p.author = '{a}'") for a in authors),
        *((f"how many papers by {a}", f"SELECT COUNT(p.id) FROM papers AS p WHERE p.author = '{a}'") for a in authors),
        *((f"papers in {y}", f"SELECT p.id FROM papers AS p WHERE p.year = {y}") for y in (2001, 2005, 2009)),
    ]


SETS = {"calls": _geo(), "json": _home(), "top": _remind(), "sexpr": _sexpr(), "sql": _sql()}
"""By the name of the language of their outputs."""
GEO = SETS["calls"]
