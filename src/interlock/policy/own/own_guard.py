"""Interlock's own places: how a path stands to them, and whether code names one."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final

from interlock.commands.programs.places import MAX_PATH, canonical_path
from interlock.commands.shell.scope import OWN_PROGRAM, normal_path
from interlock.model.own_places import OwnPlaces

_EVERYWHERE: Final = (
    "~/.config/interlock",
    ".config/interlock",
    "~/.local/state/interlock",
    ".local/state/interlock",
)
"""What is Interlock's wherever the environment puts the rest; the first two hold its keys."""
_POLICIES: Final = ("~/.config/interlock/policy.toml", ".config/interlock/policy.toml")
_HOMES: Final = frozenset(("/root", "/var/root"))
_ROOTS: Final = frozenset(("/", "~"))
_GLOB_CHARS: Final = frozenset("*?[")
_GLOB_CHAR: Final = re.compile(r"[*?\[]")
_PROCESS_ROOT: Final = r"^/proc/[^/]+/(?:task/[^/]+/)?root(?=/|$)"
_INTERPRETER: Final = ("bin/python*", "scripts/python*", "pyvenv.cfg")
"""What starts Python in an environment."""
NEEDED: Final = tuple(
    "apsw click jsonschema_rs msgspec rapidfuzz re2 _re2 rich tomlkit tree_sitter"
    " tree_sitter_bash".split()
)
"""The packages that run inside of Interlock: what replaces one of them replaces a part of it."""
_VARIABLES: Final = {
    "INTERLOCK_CONFIG_HOME": "~/.config/interlock",
    "INTERLOCK_POLICY": "~/.config/interlock/policy.toml",
    "INTERLOCK_LEDGER": "~/.local/state/interlock/ledger.db",
    "INTERLOCK_ENGINE": "~/.local/state/interlock/ledger.db.loop.db",
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_STATE_HOME": "~/.local/state",
}
"""Variables that say where Interlock's files are, each with what it stands for without a value."""
_VARIABLE: Final = rf"/*\$(?:env:|\{{)?({'|'.join(_VARIABLES)})(?![A-Za-z0-9_])[^/}}]*\}}?"
_HOME_OF_ALL: Final = r"^(?i:/home|/users)/\*/"
_HOMES_OF_ALL: Final = ("/root", "/home/*", "/users/*")
"""Where home folders are, for a glob that begins above them."""
_OWN_CODE: Final = (
    r"__(?:file|path|spec)__|\binspect\.get|\bgetsource"
    r"|(?:find_spec|find_loader|get_loader|find_module|locate|files|distribution)\("
)
_OWN_NAME: Final = r"\binterlock\b"
_PACKAGES: Final = (
    r"getsitepackages|getusersitepackages|user_site|get_python_lib|pure_?lib|plat_?lib"
)
"""How code says where Interlock, or all packages, lie."""
_CHANGES: Final = r"write|open\(|unlink|remove|rename|replace\(|rmtree|chmod|copy|move\(|truncate"
_SCRIPT_WRITES: Final = (
    r"write|unlink|remove|rename|os\.replace|rmtree|chmod|copy|move|trunc|append[-_tf]|save|put_"
    r"|\b(?:w|wq|up|x)!?\s+[/~$]|\bw!?[/~$]|>\s*[\"'/~$]|[\"']\+?>+|[\"'](?:[wax]b?\+?|rb?\+)b?[\"']"
)
"""What code says that writes a file: calls, modes, commands of editors, redirections."""
_SCRIPT_OPENS: Final = r"open|read|load|glob|list|walk|scandir|slurp|connect|\bcat\b|path\("
_CHANGING: Final = (
    (_OWN_NAME, _OWN_CODE, _CHANGES),
    (r"\binterlock_config_home\b", f"{_SCRIPT_WRITES}|{_SCRIPT_OPENS}"),
    (r"\binterlock_ledger\b", f"{_SCRIPT_WRITES}|connect"),
    (r"\binterlock_policy\b", _SCRIPT_WRITES),
)
"""What code says, all of it together, that does something to a file of Interlock's own.

Variables are no more than names without the rest: the policy may be read.
"""
_REACHING: Final = (
    (_PACKAGES, _SCRIPT_WRITES),
    (_OWN_NAME, r"\bentry_points\b", r"\bload\b"),
)
"""The same, of what may."""
_TAKING: Final = (
    (r"copytree|make_archive|\.add\(|symlink|cp_?r\b|cpsync|copydir|zip|tar\b|serve|upload",),
    (r"walk|glob|scandir|iterdir|listdir|readdir|find", r"open|read_|readfile|copy|send|post"),
)
"""What code says, all of it together, that does something with all that lies in a folder."""
_FINDING: Final = ((_OWN_NAME, _OWN_CODE), (_PACKAGES,))
_TO_A_SCREEN: Final = r"\bstd(?:out|err)\.write"
_CACHED: Final = 4096


class Relation(enum.Enum):
    """How a path stands to Interlock's own files."""

    SECRET = enum.auto()
    DATA = enum.auto()
    CODE = enum.auto()
    LIBRARY = enum.auto()
    """The folder of packages among which Interlock is one: what is put there can replace it."""
    HOLDER = enum.auto()
    """A folder on the way to them: what takes all of it takes them along."""
    SHARED = enum.auto()
    """The holder in which Interlock's folder lies among those of other programs."""
    ENVIRONMENT = enum.auto()
    """What Interlock runs with, the interpreter and what it needs, and the folders around that."""
    AROUND = enum.auto()
    """A folder on the way to Interlock's code: with it the code would be gone."""

    # By its name, as enums do it, takes longer than what is looked up.
    __hash__ = object.__hash__


HOLDERS: Final = frozenset((Relation.HOLDER, Relation.SHARED))
OWN_FOLDERS: Final = frozenset((Relation.DATA, Relation.SECRET))
BY_EFFECT: Final = frozenset((Relation.LIBRARY, Relation.ENVIRONMENT, Relation.AROUND))
"""Where to name a place means nothing; something must be done to it."""


class OwnGuard:
    """Interlock's own places, ready to be asked about."""

    def __init__(self, places: OwnPlaces) -> None:
        self._secrets = _forms((*_EVERYWHERE[:2], *places.secrets))
        self._readable = _forms((*_POLICIES, *places.readable))
        self._data = _forms((*_EVERYWHERE, *places.data, *places.secrets))
        self._code = _forms(places.code)
        self._libraries = _forms(places.packages)
        self._environment = _forms(places.environment)
        ends = ("", ".*")
        self._needed = (
            *(f"{each}/{name}" for each in self._environment for name in _INTERPRETER),
            *(f"{each}/{name}{end}" for each in self._libraries for name in NEEDED for end in ends),
        )
        self._shared = frozenset(_shared(self._data))
        names = "|".join(re.escape(each.partition("/")[2]) for each in self._shared)
        self._quoted_shared = rf"[\"'`][^\"'`\s]*/(?:{names})/?[\"'`]"
        self._runs = (*self._code, *self._needed)
        self._begin_with, self._lead_here = _marks(self._data, self._runs)
        self._is_elsewhere = any(OWN_PROGRAM not in place for place in self._data)
        self.databases = tuple(each.lower() for each in places.databases)
        """Ledgers in a database: `host/name`."""
        self.relation = lru_cache(maxsize=_CACHED)(self._relation)

    def _relation(self, path: str) -> Relation | None:
        """Return how a normalised path stands to Interlock's own files, if it does."""
        if len(path) > MAX_PATH:
            return None
        path = _form(path)
        is_glob = path[0] in _ROOTS and not _GLOB_CHARS.isdisjoint(path)
        known = _folder_before_glob(path) if is_glob else path
        if not f"{known}/".startswith(self._begin_with) and known not in self._lead_here:
            return None
        reaches = _reaches_by_glob if is_glob else _reaches
        if any(reaches(path, place) for place in self._data):
            may_be_read = path in self._readable
            is_secret = any(reaches(path, place) for place in self._secrets)
            return Relation.SECRET if is_secret and not may_be_read else Relation.DATA
        if path[0] in _ROOTS and any(_reaches_by_glob(path, place) for place in self._code):
            return Relation.CODE
        if path in self._libraries:
            return Relation.LIBRARY
        leads = _leads_by_glob if is_glob else _leads
        if any(leads(path, place) for place in self._data):
            is_shared = any(fnmatchcase(each, path) for each in self._shared)
            return Relation.SHARED if is_shared else Relation.HOLDER
        return self._relation_to_environment(path, is_glob=is_glob)

    def _relation_to_environment(self, path: str, *, is_glob: bool) -> Relation | None:
        if path[0] not in _ROOTS:
            return None
        if any(_reaches_by_glob(path, place) for place in self._needed):
            return Relation.ENVIRONMENT
        leads = _leads_by_glob if is_glob else _leads
        if not any(leads(path, place) for place in self._runs):
            return None
        is_inside = any(_reaches(path, place) for place in self._environment)
        return Relation.ENVIRONMENT if is_inside else Relation.AROUND

    def is_secret_below(self, folder: str, glob: str) -> bool:
        """Whether a glob leads from a folder on the way there to what must not be read."""
        if "/" not in glob:
            return False
        parts = glob.lower().split("/")
        parts = [part for before, part in pairwise(["", *parts]) if not part == before == "**"]
        head = "/".join(takewhile(lambda part: part != "**", parts))
        if self.relation(placed(f"{folder}/{head}", None)) is Relation.SECRET:
            return True
        root = _form(folder)
        ways = (place.removeprefix(root) for place in self._secrets if _leads(root, place))
        return any(_leads_into(parts, way.strip("/").split("/")) for way in ways)

    def is_named_in(self, code: str, *, edits: bool = False) -> bool:
        """Whether code, which is no path, names one of the places, or changes its own file.

        What may be read counts where the code writes, or all that it opens is edited (`edits`).
        """
        if OWN_PROGRAM not in code.lower() and not self._is_elsewhere:
            return False
        text = re.sub(r"/(?:\.?/)+", "/", code).lower()
        if _says_one(_CHANGING, text):
            return True
        if not edits and re.search(_SCRIPT_WRITES, text) is None:
            for place in self._readable:
                text = text.replace(place.removeprefix("~/"), "")
        return any(place.removeprefix("~/") in text for place in self._data)

    def is_taken_in(self, code: str) -> bool:
        """Whether code does something with all that lies in a folder shared with Interlock."""
        text = code.lower()
        return re.search(self._quoted_shared, text) is not None and _says_one(_TAKING, text)


def may_reach_code(code: str) -> bool:
    """Whether code writes where it finds packages, or loads Interlock by another way."""
    return _says_one(_REACHING, re.sub(_TO_A_SCREEN, "", code.lower()))


def finds_own_code(code: str) -> bool:
    """Whether code finds where Interlock, or all packages, lie."""
    return _says_one(_FINDING, code.lower())


def _says_one(ways: Sequence[Sequence[str]], text: str) -> bool:
    return any(all(re.search(each, text) for each in way) for way in ways)


@lru_cache(maxsize=16)
def own_guard(places: OwnPlaces) -> OwnGuard:
    """Return the places ready to be asked about: runs on one machine share them."""
    return OwnGuard(places)


def _forms(places: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_form, places)))


def _shared(data: Sequence[str]) -> Iterator[str]:
    """Yield the folders in which a folder of Interlock's lies among those of others."""
    for folder, _, name in (place.rpartition("/") for place in data):
        if name == OWN_PROGRAM and folder not in {"", *_ROOTS} and folder[0] in _ROOTS:
            yield folder


def _marks(data: Sequence[str], code: Sequence[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return what every path to one of the places begins with, and the folders on the way there.

    Nearly every path is neither, and that is seen at once.
    """
    begin_with = {*data, *(_GLOB_CHAR.split(place, maxsplit=1)[0] for place in code)}
    lead_here: set[str] = set(_ROOTS)
    for place in (*data, *code):
        parts = place.split("/")
        lead_here.update("/".join(parts[:count]) for count in range(1, len(parts)))
    # Whose home it is may be known by a pattern only.
    return (*begin_with, *(home.rstrip("*") for home in _HOMES_OF_ALL)), frozenset(lead_here)


def _form(path: str) -> str:
    """Return a path as it is compared: some file systems do not tell `.Config` from `.config`."""
    if path.startswith("/proc/"):
        path = re.sub(_PROCESS_ROOT, "", path) or "/"
    if "*" in path:
        # Everybody's home is also one's own.
        path = re.sub(_HOME_OF_ALL, "~/", path)
    path = canonical_path(path).lower()
    return "~" if path in _HOMES else path.rstrip("/") or "/"


def _folder_before_glob(path: str) -> str:
    """Return the folder from which a glob looks for what it fits."""
    return _GLOB_CHAR.split(path, maxsplit=1)[0].rpartition("/")[0] or path[0]


def _reaches(path: str, place: str) -> bool:
    """Whether a path is the place, or inside of it, or one of a database's files beside it."""
    return path.startswith(place) and path[len(place) : len(place) + 1] in {"", "/", "-"}


def _leads(path: str, place: str) -> bool:
    """Whether a path is a folder on the way to the place."""
    is_anchored = path[0] in _ROOTS and place[0] in _ROOTS
    return is_anchored and (path in _ROOTS or place.startswith(f"{path}/"))


def _reaches_by_glob(path: str, place: str) -> bool:
    parts = path.split("/")
    if "**" in parts:
        before = parts[: parts.index("**")]
        return any(_fit(before, wanted) for wanted in _from_root(path, place))
    return any(
        len(parts) >= len(wanted) and _fit(parts, wanted) for wanted in _from_root(path, place)
    )


def _leads_by_glob(path: str, place: str) -> bool:
    parts = path.split("/")
    return any(
        len(parts) < len(wanted) and _fit(parts, wanted) for wanted in _from_root(path, place)
    )


def _leads_into(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a glob leads through all the folders that are wanted, and further."""
    if not wanted or not parts:
        return bool(parts)
    if parts[0] == "**":
        return any(_leads_into(parts[1:], wanted[start:]) for start in range(len(wanted)))
    return _may_be(parts[0], wanted[0]) and _leads_into(parts[1:], wanted[1:])


def _from_root(path: str, place: str) -> list[list[str]]:
    """Return the parts of a place; of one at home, every way there for a glob from the root."""
    if path[0] != "/" or place[0] != "~":
        return [place.split("/")]
    return [f"{home}{place[1:]}".split("/") for home in _HOMES_OF_ALL]


def _fit(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    return all(map(_may_be, parts, wanted))


def _may_be(part: str, want: str) -> bool:
    """Whether one part of a path may be another; a leading `*` stands for no dot."""
    if want[:1] == "." and part[:1] in {"*", "?"}:
        return False
    return part == want or fnmatchcase(part, want) or fnmatchcase(want, part)


def placed(text: str, cwd: str | None) -> str:
    """Return a path as seen from the folder that a command runs in."""
    text = _without_variable(text)
    cwd = None if cwd is None else _without_variable(cwd)
    if text.startswith("/proc/self/cwd") and cwd is not None:
        text = cwd + text.removeprefix("/proc/self/cwd")
    return normal_path(text, cwd)


def _without_variable(text: str) -> str:
    """Return a path with what a variable of Interlock's own stands for."""
    if "$" not in text:
        return text
    found = re.match(_VARIABLE, text)
    return text if found is None else _VARIABLES[found[1]] + text[found.end() :]
