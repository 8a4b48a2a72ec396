"""Lints of what a scenario says: a vague expectation, a noun or a year that the question does not ask for (G19).

Heuristics, so that they warn and never refuse. Each looks for a contradiction or an emptiness that can be pointed at,
not for good style; docs/ground-truth.md says how often each is wrong on the 152 public scenarios.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.findings import FindingClass, Level
from gauntlet_scoring.validation.structure import Draft

_WORD: Final = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_FACT: Final = re.compile(r"(?:\b(?P<before>[^\W\d_]+)\W*)?(?<!\w)(?P<number>\d+(?:[.,]\d+)*)(?!\w)")
_IDENTIFIER: Final = re.compile(r"\b(?=\w*[^\W\d])(?=\w*[\d_])\w{3,}\b")  # such as ttm_96_28 or MT010
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_PLACE: Final = ("characteristic_form",)

# Words that say nothing about the answer itself: any expectation may have them.
_EMPTY: Final = """
    a an the this that these those it its is are was were be been being will would shall should must may can could
    of for to from in on at by with about into as and or not no yes any some all one more each every other such which
    what when where who how why whether if then than so there their them they i you we me my your our do does did has
    have had expected expectation response answer answers result results output outputs value values return returned
    returns reference contain contains include includes including provide provides give gives get list lists listed
    show shows describe describes display retrieve retrieves correct correctly right proper properly appropriate
    appropriately suitable good valid accurate accurately relevant meaningful useful reasonable clear clearly complete
    completely detailed detail details information data necessary required need needs agent user query question
    successfully success ensuring ensure asset assets either both also only just new based using used use
"""
_EMPTY_WORDS: Final = frozenset(_EMPTY.split())
_HEDGES: Final = re.compile(
    r"\b(?:(?:the|an?) )?(?:appropriate|suitable|meaningful|reasonable|sensible|proper|correct|right|good|useful)"
    r" (?:answers?|responses?|results?|outputs?|information|data|values?|actions?|lists?|recommendations?)\b"
    r"|\bas (?:expected|needed|appropriate|required)\b|\b(?:etc|and so on)\b",
    re.IGNORECASE,
)
_ANY_OUTCOME: Final = re.compile(r"\bdepend\w* (?:up)?on the (?:[\w-]+ )?(?:llm|model)s?\b", re.IGNORECASE)
_DECIDES: Final = re.compile(r"\b(?:yes|no|none|not|cannot|unsupported|abstain\w*|declin\w*)\b", re.IGNORECASE)
_LEAST_NEW: Final = 2  # new words that make an expectation say something of its own

# What questions of the domain ask for. Words of one group are the same thing to the lint.
_NOUNS: Final = {
    "sensor": r"sensors?|metrics?|measurements?|points?",
    "failure mode": r"failure modes?|failures?|failure mechanisms?",
    "work order": r"work ?orders?|maintenance orders?",
    "alert": r"alerts?|alarms?",
    "anomaly": r"anomal(?:y|ies)",
    "event": r"events?",
    "site": r"sites?|locations?|facilit(?:y|ies)",
    "asset": r"assets?|equipments?|machines?|chillers?|air handlers?|ahus?",
    "model": r"models?|checkpoints?",
    "rule": r"rules?",
    "failure code": r"(?:primary |failure )?codes?",
}
_NOUN: Final = "|".join(f"(?P<n{at}>{words})" for at, words in enumerate(_NOUNS.values()))
_GAP: Final = r"(?:(?!of\b|for\b|that\b|in\b|at\b|by\b|from\b|with\b|on\b|to\b|is\b|if\b)[\w%'-]+ ){0,4}?"
_ASKED: Final = re.compile(
    r"\b(?:list|enumerate|name|show|which|how many|what are|what is|what|get|find|retrieve|provide|return|give me"
    rf"|give|provide me|a list of)(?: me)? (?:(?:a|the) list of )?{_GAP}(?:{_NOUN})\b",
    re.IGNORECASE,
)
_EXPECTED: Final = re.compile(
    r"(?:\b(?:answer|response|output|result)\b(?: \w+){0,2} (?:contains?|includes?|lists?|names?|be|is|are)"
    rf" (?:one or more|one of more|zero or more|a list of|the list of|all|the|an?)?\s*{_GAP}(?:{_NOUN})\b)",
    re.IGNORECASE,
)
_FULL_YEAR: Final = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.]\d)(?!\d)")
_SHORT_YEAR: Final = re.compile(r"(?:\d{1,2}/\d{1,2}/|')(\d\d)\b")


def check_wording(draft: Draft, collector: Collector) -> None:
    """Note a vague expectation, and one that contradicts the question."""
    question, form = draft.text("text"), draft.text("characteristic_form")
    if not question.strip() or not form.strip():
        return
    for message, rule in (*_vague(question, form), *_other_noun(question, form), *_other_year(question, form)):
        collector.add(Level.WARNING, FindingClass.SEMANTIC, _PLACE, message, rule=rule)


def _vague(question: str, form: str) -> Iterator[tuple[str, str]]:
    if says_nothing_new(question, form):
        yield "is vague: it says nothing that the question does not say; give counts, values, fields or limits", "G19"
        return
    outcome = _ANY_OUTCOME.search(form)
    if outcome is not None:
        yield f"is vague: {outcome[0]!r} lets any outcome pass; say what every right answer has", "G19"
        return
    hedge = _HEDGES.search(form)
    if hedge is not None and not new_facts(question, form):
        yield f"is vague: {hedge[0]!r} can be read in any way; give counts, values, fields or limits", "G19"


def says_nothing_new(question: str, form: str) -> bool:
    """Whether an expectation only repeats the question: no number and hardly a word of its own."""
    asked = {_stem(word) for word in _WORD.findall(question.casefold())}
    said = {_stem(word) for word in _WORD.findall(form.casefold()) if word not in _EMPTY_WORDS and not word.isdigit()}
    return not new_facts(question, form) and not _decides(form) and len(said - asked) < _LEAST_NEW


def new_facts(question: str, form: str) -> set[str]:
    """Numbers, identifiers and quoted texts of an expectation that the question does not have.

    A number is that of the question only behind the same word: "6 alerts" is new to a question about Chiller 6. A year
    is the question's wherever it stands.
    """
    asked = _numbers(question)
    years = {number for _, number in asked if _YEAR.fullmatch(number)}
    numbers = {number for before, number in _numbers(form) - asked if number not in years}
    quoted = {each for pair in re.findall(r"'([^']{2,})'|\"([^\"]{2,})\"", form) for each in pair if each}
    named = {*quoted, *_IDENTIFIER.findall(form)}
    return numbers | {each for each in named if each.casefold() not in question.casefold()}


def _numbers(text: str) -> set[tuple[str, str]]:
    """Each number with the word before it."""
    return {((match["before"] or "").casefold(), match["number"]) for match in _FACT.finditer(text)}


def _decides(form: str) -> bool:
    """Whether it answers yes or no, or says that something is not there: that is an answer."""
    return _DECIDES.search(form) is not None


def _stem(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s") if len(word) > 3 else word


def _other_noun(question: str, form: str) -> Iterator[tuple[str, str]]:
    """The question asks for one kind of thing, and the expectation names another and never the first (issue 311)."""
    asked = _noun_of(_ASKED.search(question))
    expected = _noun_of(_EXPECTED.search(form))
    if asked is None or expected is None or asked == expected:
        return
    if re.search(rf"\b(?:{_NOUNS[asked]})\b", form, re.IGNORECASE) is None:
        yield f"expects a {expected}, while the question asks for a {asked}, of which it says nothing", "noun"


def _noun_of(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return next(name for at, name in enumerate(_NOUNS) if match[f"n{at}"] is not None)


def _other_year(question: str, form: str) -> Iterator[tuple[str, str]]:
    """Both name years, and no year is in both. What an answer declines with may be the years that there are."""
    asked, said = _years(question), _years(form)
    if asked and said and not asked & said and not _decides(form):
        years = ", ".join(sorted(said))
        yield f"speaks of {years}, while the question speaks of {', '.join(sorted(asked))}", "year"


def _years(text: str) -> set[str]:
    return {*_FULL_YEAR.findall(text), *(f"20{short}" for short in _SHORT_YEAR.findall(text))}
