"""The grammar formalism: symbols, rules, grammars, output CFGs and their text forms."""

from csl.grammar.notation import parse_grammar, parse_rule, read_grammar, write_grammar
from csl.grammar.output_cfg import OutputCfg
from csl.grammar.symbols import Grammar, Nt, Rule, Symbol, compose

__all__ = [
    "Grammar",
    "Nt",
    "OutputCfg",
    "Rule",
    "Symbol",
    "compose",
    "parse_grammar",
    "parse_rule",
    "read_grammar",
    "write_grammar",
]
