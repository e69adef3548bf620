"""Rules against what a line would run → who speaks, and who was silenced by what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from interlock.commands.programs import places
from interlock.commands.programs.globs import WordSet
from interlock.commands.shell import provenance
from interlock.commands.shell.command import Command, Effect, EffectKind
from interlock.commands.shell.words import Word
from interlock.commands.values.addresses import (
    ELSEWHERE,
    FETCHED,
    SHORTHAND,
    origin_of,
    origin_of_host,
    origin_of_index,
)
from interlock.policy.actions.rule_packs import Pack, Rule
from interlock.policy.actions.service_grammar import Grammar, Reading
from interlock.policy.actions.service_requests import is_tried_out

_QUIET: Final = ("--help", "--dry-run", "--dryrun", "--what-if", "--whatif")
_HOW_TO: Final = frozenset(("-h", "-help"))
_TELLS_OF_ITSELF: Final = frozenset(("--version", "-version"))
"""Words that ask for no more, where nothing else stands behind the program: `shutdown -h` halts."""
_OPTION_WITH_VALUE: Final = re.compile(r"--[\w-]+=.")
_NOT_REALLY: Final = frozenset(("false", "none", "no", "0", "off"))


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that spoke, or would have: `silenced` says what kept it quiet."""

    rule_id: str
    rule: Rule
    command: Command
    target: str = ""
    silenced: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """Why the rule speaks, and what to do instead."""
        thing = [word.text for word in self.command.invocation.operands[1:2]]
        usual = (self.rule.reason, self.rule.remediation)
        return self.rule.worded.get(thing[0], usual) if thing and self.rule.worded else usual


class Matcher:
    """One rule, made ready to be held against commands and effects."""

    def __init__(
        self, rule_id: str, rule: Rule, branches: Sequence[str], *, is_undoable: bool
    ) -> None:
        self.id = rule_id
        self.rule = rule
        self._is_undoable = is_undoable
        self._verbs = _by_length([verb for verb in rule.verbs if "*" not in verb])
        self._unless_verbs = _by_length(rule.unless_verbs)
        self._wild_verbs = [tuple(verb.split()) for verb in rule.verbs if "*" in verb]
        # Where no branch is protected, a rule about those is about none, not about all.
        named = _with_branches(rule.operands, branches)
        self._operands = WordSet(named) if rule.operands else None
        self._unless_operands = _globs(rule.unless_operands)
        self._last_operand = _globs(rule.last_operand)
        self._words = _globs(rule.words)
        self._joins_values = any(map(_OPTION_WITH_VALUE.match, rule.words))
        self._unless_words = _globs(rule.unless_words)
        self._targets = _globs(rule.targets)
        self._variables = _globs(rule.variables)
        self._values = {
            option: WordSet(_with_branches(patterns, branches)) if patterns else None
            for option, patterns in rule.values.items()
        }
        self._places = _bits(rule.places, places.NAMES)
        self._unless_places = _bits(rule.unless_places, places.NAMES)
        self._labels = _bits(rule.labels, provenance.NAMES)
        counts = rule.min_operands or rule.max_operands is not None
        conditions = (
            (rule.flags or rule.all_flags or rule.values, self._flags_fit),
            (rule.printed or rule.bare or rule.via, self._surroundings_fit),
            (rule.operands or rule.last_operand or counts, self._operands_fit),
            (rule.words or rule.variables, self._words_fit),
            (rule.origins or rule.hosts or rule.unless_origins, self._origins_fit),
        )
        self._conditions = [fits for is_set, fits in conditions if is_set]

    def of_command(self, command: Command, operands: Sequence[str]) -> Hit | None:
        """Return the hit on a command, silenced or not; None if the rule is not about it.

        Its operands are given in lower case, because most rules are about the same few commands.
        """
        verbs = self._verb_count(operands) if self.rule.verbs else 0
        if verbs is None or (self._unless_verbs and _leading(self._unless_verbs, operands)):
            return None
        for fits in self._conditions:
            if not fits(command, operands[verbs:]):
                return None
        behind = command.invocation.operands[verbs:]
        return Hit(
            rule_id=self.id,
            rule=self.rule,
            command=command,
            silenced=_quieted(command, has_verb=verbs > 0) or self._silencer(command, behind),
        )

    def of_effect(self, effect: Effect) -> Hit | None:
        """Return the hit on an effect; None if the rule is not about it."""
        rule = self.rule
        where = places.as_project(effect.places) if self._is_undoable else effect.places
        if self._places and not where & self._places:
            return None
        if self._labels and not effect.labels & self._labels:
            return None
        if rule.recursive not in (None, effect.recursive) or rule.forced not in (
            None,
            effect.forced,
        ):
            return None
        if self._targets is not None and not self._targets.matches(effect.target.lower()):
            return None
        program = effect.command.program
        if program in rule.unless_programs or (
            rule.programs and not _named(program, rule.programs)
        ):
            return None
        silenced = ""
        if self._unless_places and where & self._unless_places:
            names = [
                name for name, bit in places.NAMES.items() if bit & where & self._unless_places
            ]
            silenced = f"`{effect.target}` is {' and '.join(names)}"
        else:
            silenced = self._silencer(effect.command, effect.command.invocation.operands)
        return Hit(
            rule_id=self.id,
            rule=rule,
            command=effect.command,
            target=effect.target,
            silenced=silenced,
        )

    def _verb_count(self, operands: Sequence[str]) -> int | None:
        """Return how many operands the verbs take up, or None if they do not stand there."""
        if length := _leading(self._verbs, operands):
            return length
        for verb in self._wild_verbs:
            pairs = zip(verb, operands, strict=False)
            if len(operands) >= len(verb) and all(want in {"*", have} for want, have in pairs):
                return len(verb)
        return None

    def _flags_fit(self, command: Command, _operands: Sequence[str]) -> bool:
        rule = self.rule
        invocation = command.invocation
        if rule.flags and not invocation.has(*rule.flags):
            return False
        if rule.all_flags and not all(invocation.has(*flag.split("|")) for flag in rule.all_flags):
            return False
        for option, patterns in self._values.items():
            values = invocation.all_values(*option.split("|"))
            if patterns is not None and not any(
                patterns.matches(each.text.lower()) for each in values
            ):
                return False
        return True

    def _surroundings_fit(self, command: Command, _operands: Sequence[str]) -> bool:
        rule = self.rule
        if rule.printed and not command.frame.printed:
            return False
        if rule.bare and len(command.argv) > 1:
            return False
        return not rule.via or any(name in command.frame.via for name in rule.via)

    def _operands_fit(self, _command: Command, operands: Sequence[str]) -> bool:
        rule = self.rule
        if len(operands) < rule.min_operands:
            return False
        if rule.max_operands is not None and len(operands) > rule.max_operands:
            return False
        if self._last_operand is not None and not (
            operands and self._last_operand.matches(operands[-1])
        ):
            return False
        return self._operands is None or any(map(self._operands.matches, operands))

    def _words_fit(self, command: Command, _operands: Sequence[str]) -> bool:
        words = command.argv[1:]
        if self._words is not None:
            texts = [word.text.lower() for word in words]
            if self._joins_values:
                # `--opt value` is `--opt=value`.
                texts += [f"{one}={two}" for one, two in pairwise(texts) if one[:2] == "--"]
            if not any(map(self._words.matches, texts)):
                return False
        if self._variables is None:
            return True
        return any(
            self._variables.matches(name)
            for word in words
            if not word.known
            for name in _variables_in(word.text)
        )

    def _origins_fit(self, command: Command, operands: Sequence[str]) -> bool:
        """Whether what the command names comes from where the rule is about."""
        rule = self.rule
        found: set[str] = set()
        if rule.origin_options and command.invocation.values:
            options = command.invocation.all_values(*rule.origin_options)
            leads_to = origin_of_index if rule.unless_origins else origin_of
            found.update(leads_to(word.text.lstrip("=")) for word in options)
            found.discard(SHORTHAND)
        texts = operands[:1] if rule.only_first else operands
        addresses = [text for text in texts if "/" in text or ":" in text]
        found.update(map(origin_of_host if rule.hosts else origin_of, addresses))
        if command.fetched and self._names_fetched(command, texts):
            found.add(FETCHED)
        if rule.unless_origins and not found.isdisjoint(rule.unless_origins):
            return not found.isdisjoint(ELSEWHERE)
        wanted = rule.origins or rule.hosts
        return not wanted or not found.isdisjoint(wanted)

    def _names_fetched(self, command: Command, operands: Sequence[str]) -> bool:
        """Whether one of the words is a file that was fetched before."""
        options = command.invocation.all_values(*self.rule.origin_options)
        named = [*operands, *(word.text.lower().lstrip("=") for word in options)]
        return not command.fetched.isdisjoint(named)

    def _silencer(self, command: Command, operands: Sequence[Word]) -> str:
        invocation = command.invocation
        for flag in self.rule.unless_flags:
            if invocation.has(flag) and not _is_switched_off(flag, command):
                return f"does not apply with `{flag}`"
        # Another setting beside it may lead elsewhere: `RAILS_ENV=test DATABASE_URL=…`.
        if self.rule.unless_settings and len(command.assignments) == 1:
            name, value = command.assignments[0]
            if f"{name}={value.text}".lower() in self.rule.unless_settings:
                return f"does not apply where `{name}` is `{value.text}`"
        for globs, words in ((self._unless_operands, operands), (self._unless_words, command.argv)):
            for word in words if globs is not None else ():
                if globs is not None and globs.matches(word.text.lower()):
                    return f"does not apply to `{word.text}`"
        return ""


class Rulebook:
    """All rules that are switched on, found by program and by effect."""

    def __init__(
        self,
        packs: Iterable[Pack],
        *,
        branches: Sequence[str] = (),
        off: frozenset[str] = frozenset(),
        undoable: frozenset[str] = frozenset(),
    ) -> None:
        """Take the rules; those that are `undoable` guard a project in a temporary folder too."""
        self.rules: dict[str, Rule] = {}
        self._branches = branches
        self._undoable = undoable
        self._matchers: dict[str, Matcher] = {}
        self._ids_by_program: dict[str, list[str]] = {}
        self._ids_by_prefix: list[tuple[str, str]] = []
        self._ids_by_effect: dict[EffectKind, list[str]] = {}
        self._by_effect: dict[EffectKind, list[Matcher]] = {}
        """The same, of effects that were asked about."""
        self._by_verb: dict[str, dict[str | None, list[Matcher]]] = {}
        """By program and first verb, of programs that were asked about; None is any verb."""
        self._grammars: list[tuple[Grammar, str]] = []
        for pack in packs:
            for rule in pack.rules:
                rule_id = f"{pack.id}.{rule.id}"
                if rule_id not in off:
                    self._add(rule_id, rule)
            if pack.grammar is not None:
                self._grammars.append((pack.grammar, pack.id))
        self._prefixes = tuple(prefix for prefix, _ in self._ids_by_prefix)

    def _add(self, rule_id: str, rule: Rule) -> None:
        self.rules[rule_id] = rule
        if rule.effect is not None:
            self._ids_by_effect.setdefault(rule.effect, []).append(rule_id)
            return
        for program in rule.programs:
            if program.endswith("*"):
                self._ids_by_prefix.append((program[:-1], rule_id))
            else:
                self._ids_by_program.setdefault(program, []).append(rule_id)

    def hits(self, commands: Iterable[Command], effects: Iterable[Effect]) -> list[Hit]:
        """Return every hit, silenced ones included, in the order of the line."""
        hits: list[Hit | None] = []
        for command in commands:
            program = command.program
            if program in self._ids_by_program or program.startswith(self._prefixes):
                operands = [word.text.lower() for word in command.invocation.operands]
                matchers = self._matchers_for(program, operands)
                hits += [each.of_command(command, operands) for each in matchers]
            for grammar, pack in self._grammars:
                reading = grammar.reading_of(command)
                if reading is not None:
                    hits.append(self._hit_by_grammar(reading, pack, command))
        for effect in effects:
            matchers = self._by_effect.get(effect.kind) or self._sort_by_effect(effect.kind)
            hits += [each.of_effect(effect) for each in matchers]
        return [hit for hit in hits if hit is not None] if hits else []

    def _matchers_for(self, program: str, operands: Sequence[str]) -> Sequence[Matcher]:
        """Return the rules that can be about a command: by its program, and its first verb."""
        matchers: list[Matcher] = []
        if program in self._ids_by_program:
            by_verb = self._by_verb.get(program) or self._sort_by_verb(program)
            matchers += by_verb.get(None, ())
            if operands:
                matchers += by_verb.get(operands[0], ())
        if program.startswith(self._prefixes):
            matchers += [
                self._matcher(rule_id)
                for prefix, rule_id in self._ids_by_prefix
                if program.startswith(prefix)
            ]
        return matchers

    def _sort_by_verb(self, program: str) -> dict[str | None, list[Matcher]]:
        by_verb: dict[str | None, list[Matcher]] = {}
        for rule_id in self._ids_by_program[program]:
            verbs = {verb.partition(" ")[0] for verb in self.rules[rule_id].verbs}
            for verb in verbs if verbs and "*" not in verbs else (None,):
                by_verb.setdefault(verb, []).append(self._matcher(rule_id))
        # Only what is whole is kept: if a rule breaks the reader, it does so every time.
        self._by_verb[program] = by_verb
        return by_verb

    def _sort_by_effect(self, kind: EffectKind) -> list[Matcher]:
        matchers = [self._matcher(rule_id) for rule_id in self._ids_by_effect.get(kind, ())]
        self._by_effect[kind] = matchers
        return matchers

    def _matcher(self, rule_id: str) -> Matcher:
        # Of 400 rules a process that judges one command needs a handful.
        found = self._matchers.get(rule_id)
        if found is None:
            is_undoable = rule_id in self._undoable
            found = Matcher(rule_id, self.rules[rule_id], self._branches, is_undoable=is_undoable)
            self._matchers[rule_id] = found
        return found

    def _hit_by_grammar(self, reading: Reading, pack: str, command: Command) -> Hit | None:
        rule_id = f"{pack}.{reading.kind}"
        if rule_id not in self.rules:
            return None
        return Hit(
            rule_id=rule_id,
            rule=self.rules[rule_id],
            command=command,
            target=command.line,
            silenced=reading.silenced or _quieted(command, has_verb=True),
        )


def _by_length(verbs: Sequence[str]) -> list[tuple[int, frozenset[str]]]:
    """Sort verbs by how many words they have, the longest first."""
    lengths = sorted({len(verb.split()) for verb in verbs}, reverse=True)
    return [
        (length, frozenset(verb for verb in verbs if len(verb.split()) == length))
        for length in lengths
    ]


def _leading(verbs: Sequence[tuple[int, frozenset[str]]], operands: Sequence[str]) -> int:
    """Return how many of the operands are one of the verbs; 0 if none of them stands there."""
    for length, known in verbs:
        if len(operands) >= length and " ".join(operands[:length]) in known:
            return length
    return 0


def _quieted(command: Command, *, has_verb: bool) -> str:
    """Say what keeps a command from doing harm, such as an option that makes it only tell.

    Effects are not asked: whoever found one knows the program, and an interpreter takes such
    an option for its script.
    """
    invocation = command.invocation
    if invocation.harmless:
        return invocation.harmless
    for flag in _QUIET:
        if flag in invocation.flags and not _is_switched_off(flag, command):
            return f"`{flag}` only shows what would happen"
    *others, last = command.argv
    if has_verb and last.text in _HOW_TO and others[-1].text[:1] != "-":
        # Where `-h` is a host, one stands behind it; behind an option it may be a value.
        return f"`{last.text}` only tells how the verb is used"
    if has_verb and is_tried_out(command):
        return "it speaks to an emulator on this machine"
    if len(command.argv) == 2 and command.argv[1].text in _TELLS_OF_ITSELF:
        return f"`{command.argv[1].text}` only tells of the program itself"
    return ""


def _named(program: str, names: Sequence[str]) -> bool:
    return any(
        program == name or (name.endswith("*") and program.startswith(name[:-1])) for name in names
    )


def _with_branches(patterns: Sequence[str], branches: Sequence[str]) -> list[str]:
    """Put each protected branch of the policy where a rule says `{branch}`."""
    return [
        pattern.replace("{branch}", branch.lower())
        for pattern in patterns
        for branch in (branches if "{branch}" in pattern else ("",))
    ]


def _is_switched_off(flag: str, command: Command) -> bool:
    """`--dry-run=none` is no dry run, nor is `--dry-run false`; `--dry-run=$X` may be none."""
    if values := command.invocation.values.get(flag):
        return not values[-1].known or values[-1].text.lower() in _NOT_REALLY
    behind = [two.text.lower() for one, two in pairwise(command.argv) if one.text == flag]
    return not _NOT_REALLY.isdisjoint(behind)


def _bits(names: Sequence[str], table: dict[str, int]) -> int:
    bits = 0
    for name in names:
        bits |= table[name]
    return bits


def _globs(patterns: Sequence[str]) -> WordSet | None:
    return WordSet(patterns) if patterns else None


def _variables_in(text: str) -> list[str]:
    """Return the names behind each `$` of an unresolved word."""
    names: list[str] = []
    for part in text.split("$")[1:]:
        name = part.lstrip("{")
        end = 0
        while end < len(name) and (name[end].isalnum() or name[end] == "_"):
            end += 1
        if end:
            names.append(name[:end])
    return names
