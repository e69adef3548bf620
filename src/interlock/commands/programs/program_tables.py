"""How programs read their command lines: the tables of `programs.toml`, as values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec


class _Entry(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    pass


class Wrapper(_Entry, frozen=True):
    """A program that runs another command."""

    values: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False
    line: bool = False
    line_options: tuple[str, ...] = ()
    argv_options: tuple[str, ...] = ()
    folder_options: tuple[str, ...] = ()
    after: bool = False
    remote: bool = False
    coproc: bool = False
    stops: tuple[str, ...] = ()
    """Words that make it no wrapper at all; `*` where only a verb of it is one."""


class Shells(_Entry, frozen=True):
    """The programs that read the shell's own grammar."""

    names: frozenset[str]
    values: frozenset[str]
    foreign: ForeignShells


class ForeignShells(_Entry, frozen=True):
    """Shells whose grammar is not read, only where their input comes from."""

    names: frozenset[str]


class Interpreter(_Entry, frozen=True):
    """A program that runs code in another language."""

    language: str
    aliases: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    verbs: tuple[str, ...] = ()
    modules: bool = False


class SqlClient(_Entry, frozen=True):
    """A program that sends SQL to a database."""

    aliases: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    operand: int | None = None
    """Which operand is SQL itself, where one is."""
    single_dash: bool = False


class Options(_Entry, frozen=True):
    """Which options of a program take a value, and how they are spelt."""

    values: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    single_dash: bool = False
    verbs: int = 0
    choices: Mapping[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Options that may be followed by one of these words."""


NO_OPTIONS: Final = Options()

EntryT = TypeVar("EntryT", Interpreter, SqlClient, Options)


class Programs(_Entry, frozen=True):
    """All tables; aliases are spread out, so that a look-up is one step."""

    wrappers: Mapping[str, Wrapper]
    shells: Shells
    interpreters: Mapping[str, Interpreter]
    sql_clients: Mapping[str, SqlClient]
    options: Mapping[str, Options]
    running: frozenset[str] = frozenset()
    """Every program that runs code: shells, interpreters, clients of databases."""

    def options_of(self, key: str) -> Options:
        """Return how `key` (`git`, `git push`) reads its options."""
        return self.options.get(key, NO_OPTIONS)


def programs_from_toml(text: str) -> Programs:
    """Read the tables. They are Interlock's own, so a mistake is a bug and raises at once."""
    return programs_from_tables(msgspec.convert(tomllib.loads(text), Programs))


def programs_from_tables(tables: Programs) -> Programs:
    """Return the tables as they are looked up: aliases spread out."""
    options = dict(_spread(tables.options))
    for name, client in _spread(tables.sql_clients).items():
        spread = Options(values=client.values | set(client.code), single_dash=client.single_dash)
        options.setdefault(name, spread)
    for name, wrapper in tables.wrappers.items():
        options.setdefault(name, Options(values=wrapper.values))
    for name, interpreter in _spread(tables.interpreters).items():
        options.setdefault(name, Options(values=interpreter.values | set(interpreter.code)))
    return Programs(
        wrappers=tables.wrappers,
        shells=tables.shells,
        interpreters=_spread(tables.interpreters),
        sql_clients=_spread(tables.sql_clients),
        options=options,
        running=frozenset(
            (
                *tables.shells.names,
                *tables.shells.foreign.names,
                *_spread(tables.interpreters),
                *_spread(tables.sql_clients),
            )
        ),
    )


def _spread(table: Mapping[str, EntryT]) -> dict[str, EntryT]:
    return {name: entry for key, entry in table.items() for name in (key, *entry.aliases)}
