"""Services in breadth: program, resource words, destructive verb, whatever the service."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.commands.shell.commands import Command

_LOOKED_AT: Final = 5
_SEPARATORS: Final = str.maketrans("_", "-")


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

    def reading_of(self, command: Command) -> Reading | None:
        """Return what the command would do to a resource, if it is destructive."""
        program = command.program
        service = program in self.services
        if not service and (program in self.machine or not _is_bare(command)):
            return None
        verb = self._verb(command, service=service)
        if verb is None and service:
            verb = self._flag(command)
        if verb is None:
            return None
        quiet = sorted(self.quiet_flags & command.invocation.flags)
        disables = verb in self.service_disable_verbs
        return Reading(
            "disable" if disables else "delete",
            verb,
            f"`{quiet[0]}` only shows what would happen" if quiet else "",
        )

    def _verb(self, command: Command, *, service: bool) -> str | None:
        """Return the destructive verb among the leading words, if one stands there."""
        for word in command.invocation.operands[:_LOOKED_AT]:
            text = word.text.lower()
            if not _is_word(text):
                if service:
                    continue
                return None
            if text in self.reading_words:
                return None
            verb = self._verb_in(text, service=service)
            if verb is not None:
                return verb
        return None

    def _verb_in(self, text: str, *, service: bool) -> str | None:
        """The verb stands alone, first in `delete-stage`, or last in `apps:destroy`."""
        parts = text.translate(_SEPARATORS).split("-")
        for candidate in (text, parts[0], text.rpartition(":")[2]):
            if candidate in self.delete_verbs:
                return candidate
            if service and (
                candidate in self.service_delete_verbs or candidate in self.service_disable_verbs
            ):
                return candidate
        return None

    def _flag(self, command: Command) -> str | None:
        flags = sorted(self.service_flags & command.invocation.flags)
        return flags[0] if flags else None


class Reading(msgspec.Struct, frozen=True):
    """What a command does to a resource: `delete` or `disable`, by which word."""

    kind: str
    word: str
    silenced: str = ""


def _is_bare(command: Command) -> bool:
    """A program called by its name alone; a path is a script of the project's own."""
    return bool(command.program) and "/" not in command.argv[0].text and "." not in command.program


def _is_word(text: str) -> bool:
    """A verb or a resource, rather than a path, an address or a sentence."""
    return (
        bool(text)
        and len(text) <= 40
        and text[0].isalpha()
        and "::" not in text
        and text.replace("-", "").replace("_", "").replace(":", "").isalnum()
    )
