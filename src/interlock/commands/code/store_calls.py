"""What stores without SQL are told: scripts for MongoDB, commands for Redis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.commands.code.code_reader import calls_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import Call
from interlock.commands.sql.sql_verbs import Found, SqlKind, SqlOperation

_MONGO: Final = {
    name: (kind, thing)
    for kind, thing, names in (
        (SqlKind.DROP, "database", "dropDatabase"),
        (SqlKind.DROP, "collection", "drop dropCollection"),
        (SqlKind.DROP, "index", "dropIndex dropIndexes"),
        (SqlKind.DROP, "user", "dropUser dropAllUsers"),
        (SqlKind.DROP, "role", "dropRole"),
        (SqlKind.DELETE_SOME, "collection", "deleteMany deleteOne findOneAndDelete remove"),
        (SqlKind.UPDATE_SOME, "collection", "updateMany"),
        (SqlKind.TRUNCATE, "collection", "truncate"),
        (SqlKind.SHUTDOWN, "server", "shutdownServer"),
    )
    for name in names.split()
}
_MONGO_SETS: Final = {
    "rs": frozenset("remove stepDown reconfig freeze".split()),
    "sh": frozenset("removeShard removeShardTag stopBalancer disableBalancing".split()),
}
"""What is done to the machines that hold the data, by where it is called."""
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
_FIRST_KEY: Final = r"\{\s{0,20}['\"]?(\w{1,40})['\"]?\s{0,20}:"
_REDIS: Final = {
    "FLUSHALL": (SqlKind.DELETE_ALL, "server"),
    "FLUSHDB": (SqlKind.DELETE_ALL, "database"),
    "DEL": (SqlKind.DELETE_SOME, "key"),
    "UNLINK": (SqlKind.DELETE_SOME, "key"),
    "SHUTDOWN": (SqlKind.SHUTDOWN, "server"),
    "DEBUG": (SqlKind.ADMIN, "server"),
    "SLAVEOF": (SqlKind.ADMIN, "server"),
    "REPLICAOF": (SqlKind.ADMIN, "server"),
    "CONFIG SET": (SqlKind.ADMIN, "server"),
    "CONFIG REWRITE": (SqlKind.ADMIN, "server"),
    "SCRIPT FLUSH": (SqlKind.DROP, "script"),
    "FUNCTION FLUSH": (SqlKind.DROP, "function"),
    "FUNCTION DELETE": (SqlKind.DROP, "function"),
    "CLUSTER RESET": (SqlKind.ADMIN, "server"),
    "ACL DELUSER": (SqlKind.DROP, "user"),
    "XGROUP DESTROY": (SqlKind.DROP, "group"),
    "MODULE LOAD": (SqlKind.EXECUTE, "module"),
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
        elif method in _MONGO_SETS.get(root, ()):
            found.append(SqlOperation(SqlKind.ADMIN, method, "server"))
    return found


def redis_operations_in(words: Sequence[str]) -> list[SqlOperation]:
    """Return what a command of Redis would do; the words stand without the client's options."""
    command = words[0].split() if len(words) == 1 else list(words)
    if not command:
        return []
    if command[0].upper() in _SCRIPTS:
        return list(_script_operations(command[1] if len(command) > 1 else ""))
    return list(_redis_operations(command))


def _mongo_operations(call: Call, path: str) -> Found:
    owner, _, method = path.rpartition(".")
    # ArangoDB's shell calls its own with a line in front: `db._drop`.
    method = method.removeprefix("_")
    own = call.own
    if method in {"runCommand", "adminCommand"} and own:
        yield from _mongo_command(own[0].text)
        return
    if method not in _MONGO:
        return
    kind, thing = _MONGO[method]
    if method in _MONGO_FILTERED and (not own or own[0].text.replace(" ", "") == "{}"):
        kind = _EVERYTHING[kind]
    target = call.arguments[0].text if call.method else owner
    if not target and own and own[0].literal:
        target = own[0].text
    yield SqlOperation(kind, target, thing)


def _mongo_command(document: str) -> Found:
    found = re.match(_FIRST_KEY, document)
    kind = _MONGO_COMMANDS.get(found[1]) if found else None
    if kind is not None:
        yield SqlOperation(kind, "", "database")


def _redis_operations(command: Sequence[str]) -> Found:
    for length in (1, 2):
        verb = " ".join(command[:length]).upper()
        if verb in _REDIS:
            kind, thing = _REDIS[verb]
            given = command[length:]
            if kind is SqlKind.DELETE_SOME and (len(given) > 1 or "$" in "".join(given)):
                thing = "keys"
            if verb == "CONFIG SET" and given and given[0].lower() in _WRITES_A_FILE:
                kind = SqlKind.FILE_WRITE
            yield SqlOperation(kind, " ".join(given), thing)
            return


def _script_operations(script: str) -> Found:
    for call in calls_in(script, Language.LUA):
        words = [argument.text for argument in call.arguments]
        if call.callee in _SCRIPT_CALLS and words:
            yield from _redis_operations(words)
