"""The grammar of command lines that speak to services: what destroys, whatever the vendor."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.commands.shell.command import Command
from interlock.commands.shell.words import PART_OF_NAME
from interlock.policy.actions.service_requests import (
    REQUESTERS,
    Request,
    asks_by_hand,
    request_of,
)
from interlock.policy.actions.service_settings import meanings_in, meanings_of

_LOOKED_AT: Final = 5
_SEPARATORS: Final = str.maketrans("-_.:", "    ")
_LOOKING: Final = ("describe-", "list-", "get-", "lookup-", "simulate-", "head-")
_SWITCHES: Final = frozenset(
    "-y --yes -v --verbose -q --quiet -f --force --debug -d --no-color --json".split()
)
"""Options that take no value in most programs."""
_MUTATED: Final = r"\b(_{0,2}[A-Za-z]\w{0,80})\s{0,9}[({]"
_IN_FRONT_OF_QUERY: Final = r"[\s\"'{}:,=]|query|body"
_ORDERED: Final = (
    r"\b(?:action|op|operation|command|method|verb)[\"']?"
    r"\s{0,9}[:=]\s{0,9}[\"']?([A-Za-z_]\w{0,60})"
)
_STATED: Final = r"\b(?:state|status)[\"']?\s{0,9}[:=]\s{0,9}[\"']?([A-Za-z]{1,30})"
_SWITCHED: Final = r"[\"'](\w{1,40})[\"']\s{0,9}:\s{0,9}true"
_CMDLET: Final = r"[A-Z][a-z]{2,14}-[A-Z]\w{1,60}"
_SHELLS_OF_CMDLETS: Final = frozenset(("powershell", "pwsh"))
_DELETING_SWITCH: Final = "(?i)-(?:delete|purge)[a-z]{0,30}"
_WHAT_IF: Final = r"(?i)-wh(?:a(?:t(?:if?)?)?)?"
_KEYED: Final = r"[\"'](\w{1,40})[\"']\s{0,9}:\s{0,9}[{\[]|<(\w{1,40})>"
"""What an order says of what stands in it: `"remove_index": {`, `<delete>`."""
_TYPED: Final = r"\btype[\"']?\s{0,9}[:=]\s{0,9}[\"']?([A-Za-z_]\w{0,60})"
_ACTIONS: Final = frozenset(("action", "actions", "command", "commands", "operations"))
"""Where the address ends so, the type in the body is what is to be done."""
_GIVEN: Final = r"\bpermission[\"']?\s{0,9}[:=]\s{0,9}[\"']?(?:admin|maintain|owner)"
_ADMINISTERS: Final = ("ctl", "adm", "admin")
"""How the names of programs end that rule over a service, whoever made it."""
_POWER: Final = frozenset("off cycle reset down soft".split())
_GLUED: Final = re.compile(
    r"del(?:ete)?(?:users?|groups?|zones?|princs?|pol(?:icy)?|hosts?|keys?|rules?|routes?|db|tables?"
    r"|queues?|topics?|nodes?|vol(?:ume)?s?|snap(?:shot)?s?|images?|roles?|entry|records?|domains?"
    r"|accounts?|services?|members?|chains?|flows?|ports?|vms?|all)"
)
"""A verb and what it is done to, in one word: `delzone`."""
_NAMED_SO: Final = re.compile(
    r"(?:delete|destroy|purge)[a-z0-9]+|[a-z0-9]+[-_]?(?:delete|destroy|purge|wipe|erase)"
)
"""Programs that are called by what they do: `ldapdelete`."""
_DESTROYING: Final = frozenset(("DELETE", "PURGE"))
_CHANGING: Final = frozenset(("PATCH", "PUT"))
_CHANGES: Final = frozenset(("set", "put", "update"))


class Reading(msgspec.Struct, frozen=True):
    """What a command does to a resource: `delete`, `disable`, or ask for it by `http-delete`."""

    kind: str
    silenced: str = ""


class Grammar(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """Which words are programs of services, and which verbs destroy."""

    services: frozenset[str]
    machine: frozenset[str]
    delete_verbs: frozenset[str]
    service_delete_verbs: frozenset[str]
    service_disable_verbs: frozenset[str]
    reading_words: frozenset[str]
    service_flags: frozenset[str]
    quiet_flags: frozenset[str]
    disable_verbs: frozenset[str] = frozenset()
    """Verbs that count whatever the program is."""
    noun_verbs: frozenset[str] = frozenset()
    """The same, but only behind what they are done to: `orders cancel`."""
    making_words: frozenset[str] = frozenset()
    """Of the reading words those that make something: `restore create` restores."""
    acting_nouns: frozenset[str] = frozenset()
    """What is done by being made: `refunds create`."""
    working_words: frozenset[str] = frozenset()
    """Verbs of a workshop: what stands behind them is what they work on, `test DeleteUser`."""
    halting_verbs: frozenset[str] = frozenset()
    """Verbs that count behind a machine: `server stop`."""
    halted_nouns: frozenset[str] = frozenset()
    """What somebody else may be working on: machines and clusters of them."""
    renewed_nouns: frozenset[str] = frozenset()
    """What is made anew when it is needed: caches."""
    renewing_verbs: frozenset[str] = frozenset()
    """What may be done to those."""
    switched_nouns: frozenset[str] = frozenset()
    """What is there to be switched on and off: flags of features."""
    switching_verbs: frozenset[str] = frozenset()
    """What that is called, right behind them."""
    request_marks: tuple[str, ...] = ()
    """Parts of addresses that take something down without such a verb."""
    cmdlet_delete_verbs: frozenset[str] = frozenset()
    """Verbs in the names of PowerShell's commands: `Remove-VM`."""
    cmdlet_disable_verbs: frozenset[str] = frozenset()
    cmdlet_nouns: frozenset[str] = frozenset()
    """What may be removed or stopped there without harm, or is judged elsewhere."""
    groups: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict[str, frozenset[str]])
    """Reading words that are nouns of a program: `gcloud run`."""
    harmless: Mapping[str, frozenset[str]] = msgspec.field(
        default_factory=dict[str, frozenset[str]]
    )
    """Words with which a program does no harm, although they sound like it."""

    def reading_of(self, command: Command) -> Reading | None:
        """Return what the command would do to a resource, if it is destructive."""
        program = command.program
        service = program in self.services
        if not service and program in self.machine:
            return self._requested(command) if program in REQUESTERS else None
        if not service and "-" in program and _is_cmdlet(command):
            return self._cmdlet(command)
        if not service and (command.wraps or not _is_bare(command)):
            return None
        service = service or program.endswith(_ADMINISTERS)
        # Whoever takes away all of something has no file in mind, whatever the program.
        verb = self._verb(command, service=service or "--all" in command.invocation.flags)
        if verb is None and service:
            verb = self._flag(command)
            if verb is None:
                return self._requested(command) if asks_by_hand(command) else self._told(command)
        if verb is None and not service and _is_named_so(command):
            return self._read("delete", command)
        if verb is None:
            return None
        deletes = self._deletes(verb) or verb in self.service_flags
        return self._read("delete" if deletes else "disable", command)

    def _cmdlet(self, command: Command) -> Reading | None:
        """Return what a command of PowerShell does, which its name says: `Remove-ADUser`."""
        verb, _, noun = command.program.partition("-")
        deletes = verb in self.cmdlet_delete_verbs or any(
            re.fullmatch(_DELETING_SWITCH, word.text) for word in command.argv[1:]
        )
        if noun in self.cmdlet_nouns or not (deletes or verb in self.cmdlet_disable_verbs):
            return None
        tells = any(re.fullmatch(_WHAT_IF, word.text) for word in command.argv)
        silenced = "`-WhatIf` only shows what would happen" if tells else ""
        return Reading("delete" if deletes else "disable", silenced)

    def _requested(self, command: Command) -> Reading | None:
        """Return what the command asks a service for over HTTP, if that is destructive."""
        request = request_of(command)
        if request is None or not self._is_destructive(request):
            return None
        return self._read("http-delete", command)

    def _told(self, command: Command) -> Reading | None:
        """Return what the settings do that a service is told, unless it is only looked at."""
        makes = False
        groups = self.groups.get(command.program, frozenset())
        for word in command.invocation.operands[:_LOOKED_AT]:
            plain = word.text.lower()
            verb = plain.partition("-")[0].rpartition(":")[2]
            if plain in groups or verb not in self.reading_words:
                makes = makes or verb == "deploy"
                continue
            makes = verb in self.making_words
            if not makes and verb != "edit":
                return None
            makes = makes and verb not in _CHANGES
        words = [word.text for word in command.argv[1:]]
        kind = next(meanings_of(words, makes=makes), None)
        return None if kind is None else self._read(kind, command)

    def _read(self, kind: str, command: Command) -> Reading:
        quiet = sorted(self.quiet_flags & command.invocation.flags)
        if command.argv[-1].text == "help":
            quiet.append("help")
        return Reading(kind, f"`{quiet[0]}` only shows what would happen" if quiet else "")

    def _deletes(self, verb: str) -> bool:
        return verb in self.delete_verbs or verb in self.service_delete_verbs

    def _verb(self, command: Command, *, service: bool) -> str | None:
        """Return the destructive verb among the leading words, if one stands there."""
        texts = [word.text for word in command.invocation.operands[:_LOOKED_AT]]
        nouns = self.groups.get(command.program, frozenset())
        harmless = self.harmless.get(command.program, frozenset())
        for index, text in enumerate(texts):
            if not _is_word(text):
                if service:
                    continue
                return None
            plain = text.lower()
            following = texts[index + 1].lower() if index + 1 < len(texts) else ""
            is_group = plain in nouns or (plain == "run" and service and self._is_verb(following))
            reads = self._only_reads(plain) or self._looks_only(plain, following)
            if plain in harmless or (reads and not is_group):
                return None
            found = self._verb_in(text, service=service, behind=index > 0)
            if found in harmless or self._is_spared(found, texts[: index + 1]):
                return None
            if found is None and self._halts(texts, index, service=service):
                return plain
            if found is None or self._is_noun(found, texts[index : index + 3]):
                pass
            elif not service and self._is_worked_on(command, texts, index):
                return None
            else:
                return found
            if service and following in self.making_words and self._acts(plain):
                return plain
        return None

    def _halts(self, texts: Sequence[str], index: int, *, service: bool) -> bool:
        """`vm stop web` and `power off` stop what others work on.

        What a program that nobody knows calls its server may be one of its own.
        """
        plain = texts[index].lower()
        if plain == "power":
            return index + 1 < len(texts) and texts[index + 1].lower() in _POWER
        tokens = _tokens(texts[index])
        before = tokens[:-1] or _tokens(texts[index - 1]) if index or tokens[1:] else []
        return not self.halting_verbs.isdisjoint(tokens[-1:]) and any(
            noun.rstrip("s") in self.halted_nouns and (service or noun != "server")
            for noun in before
        )

    def _is_verb(self, word: str) -> bool:
        return word in self.delete_verbs or word in self.disable_verbs or word in self.noun_verbs

    def _is_spared(self, verb: str | None, texts: Sequence[str]) -> bool:
        """`cache:clear` loses what is made anew, `flags disable` turns what `enable` turns back."""
        before = "".join(texts[-2:-1]).lower()
        if before in self.switched_nouns and texts[-1] in self.switching_verbs:
            return True
        return verb in self.renewing_verbs and not self.renewed_nouns.isdisjoint(
            token for text in texts for token in _tokens(text)
        )

    def _is_worked_on(self, command: Command, texts: Sequence[str], index: int) -> bool:
        """`generate component delete-dialog`, `test --filter DeleteTests` delete nothing."""
        if index == 0:
            return False
        is_name = not (texts[index].isalnum() and texts[index].islower())
        before = (text.lower() for text in texts[:index])
        if (is_name or index + 1 == len(texts)) and not self.working_words.isdisjoint(before):
            return True
        words = [word.text for word in command.argv]
        option = words[words.index(texts[index]) - 1]
        return is_name and option[:1] == "-" and "=" not in option and option not in _SWITCHES

    def _only_reads(self, word: str) -> bool:
        """`list` and `releases:info` leave everything as it is."""
        if ":" in word:
            word = word.rpartition(":")[2]
        return word in self.reading_words

    def _looks_only(self, word: str, following: str) -> bool:
        """`describe-execution` looks, whatever the name of what it looks at."""
        return word.startswith(_LOOKING) and not self._is_verb(following)

    def _is_noun(self, verb: str, words: Sequence[str]) -> bool:
        """`restore list` lists restores, and so does `restore-point collection list`."""
        if self._deletes(verb):
            return False
        said = words[1:] if "-" in words[0] else words[1:2]
        return any(
            word.lower() in self.reading_words and word.lower() not in self.making_words
            for word in said
        )

    def _acts(self, word: str) -> bool:
        return word.rstrip("s") in self.acting_nouns

    def _verb_in(self, text: str, *, service: bool, behind: bool) -> str | None:
        """The verb stands alone, first in `delete-stage`, or last in `apps:destroy`."""
        if text.isalnum() and text.islower():
            if self._destroys(text, service=service, behind=behind):
                return text
            return "delete" if _GLUED.fullmatch(text) else None
        parts = text.split(":")
        for part in reversed(parts):
            for candidate in _candidates(part):
                if self._destroys(candidate, service=service, behind=behind or len(parts) > 1):
                    return candidate
        return None

    def _destroys(self, verb: str, *, service: bool, behind: bool) -> bool:
        if verb in self.delete_verbs or verb in self.disable_verbs:
            return True
        if behind and verb in self.noun_verbs:
            return True
        return service and (verb in self.service_delete_verbs or verb in self.service_disable_verbs)

    def _flag(self, command: Command) -> str | None:
        flags = sorted(self.service_flags & command.invocation.flags)
        return flags[0] if flags else None

    def _is_destructive(self, request: Request) -> bool:
        """Whether the method, the address or the body of a request destroys something."""
        if any(mark in request.path.lower() for mark in self.request_marks):
            return True
        if request.is_tried_out:
            return False
        if request.method in _DESTROYING:
            return True
        verbs = self.delete_verbs
        if not request.is_local:
            if request.method in _CHANGING and any(map(_opens, request.bodies)):
                return True
            # Nobody else depends on what this machine keeps for itself.
            verbs = verbs.union(
                self.service_delete_verbs,
                self.service_disable_verbs,
                self.disable_verbs,
                self.noun_verbs,
            )
            if any(step.rstrip("s") in self.halted_nouns for step in request.steps):
                verbs = verbs.union(self.halting_verbs)
        if any(not verbs.isdisjoint(tokens) for tokens in _asked_for(request)):
            return True
        made = not request.is_local and request.method == "POST"
        return made and any(self._acts(step.lower()) for step in request.steps[-1:])


def _candidates(part: str) -> tuple[str, ...]:
    """Return what may be the verb of a word: all of it, its first token, and its last."""
    tokens = _tokens(part)
    return (part.lower(), tokens[0], tokens[-1]) if len(tokens) > 1 else (part.lower(),)


def _tokens(name: str) -> list[str]:
    """Return the words that a name is made of: `delete`, `site` of `deleteSite`."""
    if name.islower():
        return name.translate(_SEPARATORS).split()
    return [token.lower() for token in re.findall(PART_OF_NAME, name)]


def _asked_for(request: Request) -> Iterator[Sequence[str]]:
    """Yield the tokens that may be the verb of what the request asks for."""
    for step in request.steps[-2:]:
        yield _tokens(step)
    for body in request.bodies:
        head, mutation, rest = body.partition("mutation")
        if mutation and not re.sub(_IN_FRONT_OF_QUERY, "", head):
            for tokens in map(_tokens, re.findall(_MUTATED, rest)):
                yield (tokens[0], tokens[-1])
        orders = [*re.findall(_ORDERED, body), *re.findall(_SWITCHED, body)]
        orders += [key or tag for key, tag in re.findall(_KEYED, body)]
        if not _ACTIONS.isdisjoint(request.steps[-1:]):
            orders += re.findall(_TYPED, body)
        for tokens in map(_tokens, orders):
            yield (*tokens[:1], "".join(tokens))
        if request.method in _CHANGING:
            states = (*re.findall(_STATED, body), *re.findall(_SWITCHED, body))
            yield from map(_begun_by, states)


def _opens(body: str) -> bool:
    """Whether a body gives rights away, or has a setting that takes something down."""
    return re.search(_GIVEN, body) is not None or any(meanings_in(body))


def _begun_by(state: str) -> tuple[str, ...]:
    """Return what the verb may be that a state is the end of: `cancel` of `cancelled`."""
    token = state.lower()
    return (token[:-1], token[:-2], token[:-3]) if token.endswith("ed") else ()


def _is_named_so(command: Command) -> bool:
    """Whether a program's own name says that it deletes what it is given."""
    name = command.program
    named = _NAMED_SO.fullmatch(name) or _GLUED.fullmatch(name)
    return named is not None and bool(command.invocation.operands)


def _is_cmdlet(command: Command) -> bool:
    """Whether a name is written as PowerShell's are, or stands in a line for it."""
    name = command.argv[0].text
    if not _SHELLS_OF_CMDLETS.isdisjoint(command.frame.via):
        name = name.title()
    return re.fullmatch(_CMDLET, name) is not None


def _is_bare(command: Command) -> bool:
    """A program called by its name alone; a path is a script of the project's own."""
    return bool(command.program) and "/" not in command.argv[0].text and "." not in command.program


def _is_word(text: str) -> bool:
    """A verb or a resource, rather than a path, an address or a sentence."""
    if text.isalnum():
        return len(text) <= 40 and text[0].isalpha()
    return (
        0 < len(text) <= 40
        and text[0].isalpha()
        and "::" not in text
        and text.replace("-", "").replace("_", "").replace(":", "").isalnum()
    )
