"""What the shells of stores without SQL would do: MongoDB's JavaScript, Redis's commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from interlock.commands.code.code_reader import calls_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import Call, excerpt_of
from interlock.commands.sql.sql_statement import SqlKind, SqlOperation

_MONGO: Final = {
    "dropDatabase": (SqlKind.DROP, "database"),
    "drop": (SqlKind.DROP, "collection"),
    "dropCollection": (SqlKind.DROP, "collection"),
    "dropIndex": (SqlKind.DROP, "index"),
    "dropIndexes": (SqlKind.DROP, "index"),
    "dropUser": (SqlKind.DROP, "user"),
    "dropAllUsers": (SqlKind.DROP, "user"),
    "dropRole": (SqlKind.DROP, "role"),
    "deleteMany": (SqlKind.DELETE_SOME, "collection"),
    "deleteOne": (SqlKind.DELETE_SOME, "collection"),
    "findOneAndDelete": (SqlKind.DELETE_SOME, "collection"),
    "remove": (SqlKind.DELETE_SOME, "collection"),
    "updateMany": (SqlKind.UPDATE_SOME, "collection"),
    "shutdownServer": (SqlKind.SHUTDOWN, "server"),
}
_MONGO_FILTERED: Final = frozenset({"deleteMany", "remove", "updateMany"})
_EVERYTHING: Final = {
    SqlKind.DELETE_SOME: SqlKind.DELETE_ALL,
    SqlKind.UPDATE_SOME: SqlKind.UPDATE_ALL,
}
_MONGO_COMMANDS: Final = {
    "dropDatabase": SqlKind.DROP,
    "drop": SqlKind.DROP,
    "shutdown": SqlKind.SHUTDOWN,
}
_REDIS: Final = {
    "FLUSHALL": (SqlKind.DELETE_ALL, "server", "deletes every key of the server"),
    "FLUSHDB": (SqlKind.DELETE_ALL, "database", "deletes every key of the database"),
    "DEL": (SqlKind.DELETE_SOME, "key", "deletes keys"),
    "UNLINK": (SqlKind.DELETE_SOME, "key", "deletes keys"),
    "SHUTDOWN": (SqlKind.SHUTDOWN, "server", "stops the server"),
    "DEBUG": (SqlKind.ADMIN, "server", "can crash the server"),
    "SLAVEOF": (SqlKind.ADMIN, "server", "replaces what the server holds by another one's"),
    "REPLICAOF": (SqlKind.ADMIN, "server", "replaces what the server holds by another one's"),
    "CONFIG SET": (SqlKind.ADMIN, "server", "changes the configuration of the server"),
    "CONFIG REWRITE": (SqlKind.ADMIN, "server", "rewrites the configuration file"),
    "SCRIPT FLUSH": (SqlKind.DROP, "script", "drops every script"),
    "FUNCTION FLUSH": (SqlKind.DROP, "function", "drops every function"),
    "FUNCTION DELETE": (SqlKind.DROP, "function", "drops a function"),
    "CLUSTER RESET": (SqlKind.ADMIN, "server", "takes the server out of its cluster"),
    "ACL DELUSER": (SqlKind.DROP, "user", "drops a user"),
    "XGROUP DESTROY": (SqlKind.DROP, "group", "drops a consumer group"),
    "MODULE LOAD": (SqlKind.EXECUTE, "module", "runs a library in the server"),
}
_WRITES_A_FILE: Final = frozenset({"dir", "dbfilename"})
_SCRIPTS: Final = frozenset({"EVAL", "EVAL_RO"})
_SCRIPT_CALLS: Final = frozenset({"redis.call", "redis.pcall"})


def mongo_operations_in(js: str) -> list[SqlOperation]:
    """Return what a script for `mongosh` would do to the databases it reaches."""
    found: list[SqlOperation] = []
    for call in calls_in(js, Language.JAVASCRIPT):
        root, _, method = call.callee.partition(".")
        if root == "db":
            found.extend(_mongo_operations(call, method))
    return found


def redis_operations_in(words: Sequence[str]) -> list[SqlOperation]:
    """Return what a command of Redis would do; the words stand without the client's options."""
    command = words[0].split() if len(words) == 1 else list(words)
    if not command:
        return []
    if command[0].upper() in _SCRIPTS:
        return list(_script_operations(command[1] if len(command) > 1 else ""))
    return list(_redis_operations(command))


def _mongo_operations(call: Call, path: str) -> Iterator[SqlOperation]:
    owner, _, method = path.rpartition(".")
    own = call.arguments[1:] if call.method else call.arguments
    if method in {"runCommand", "adminCommand"} and own:
        yield from _mongo_command(call, own[0].text)
        return
    if method not in _MONGO:
        return
    kind, thing = _MONGO[method]
    if method in _MONGO_FILTERED and (not own or own[0].text.replace(" ", "") == "{}"):
        kind = _EVERYTHING[kind]
    target = call.arguments[0].text if call.method else owner
    if not target and own and own[0].literal:
        target = own[0].text
    yield _operation(kind, thing, target, call.text, f"runs `{method}` on a {thing}")


def _mongo_command(call: Call, document: str) -> Iterator[SqlOperation]:
    found = _first_key().match(document)
    kind = _MONGO_COMMANDS.get(found[1]) if found else None
    if kind is not None and found is not None:
        yield _operation(kind, "database", "", call.text, f"runs the command `{found[1]}`")


def _redis_operations(command: Sequence[str]) -> Iterator[SqlOperation]:
    for length in (1, 2):
        verb = " ".join(command[:length]).upper()
        if verb in _REDIS:
            kind, thing, reason = _REDIS[verb]
            given = command[length:]
            if verb == "CONFIG SET" and given and given[0].lower() in _WRITES_A_FILE:
                kind, reason = SqlKind.FILE_WRITE, "makes the server write a file of its own choice"
            yield _operation(kind, thing, " ".join(given), " ".join(command), reason)
            return


def _script_operations(script: str) -> Iterator[SqlOperation]:
    for call in calls_in(script, Language.LUA):
        words = [argument.text for argument in call.arguments]
        if call.callee in _SCRIPT_CALLS and words:
            yield from _redis_operations(words)


def _operation(kind: SqlKind, thing: str, target: str, text: str, reason: str) -> SqlOperation:
    return SqlOperation(
        kind=kind, object=thing, target=target, excerpt=excerpt_of(text), reason=reason
    )


@cache
def _first_key() -> re.Pattern[str]:
    return re.compile(r"\{\s{0,20}['\"]?(\w{1,40})['\"]?\s{0,20}:")
