"""The calls that a snippet makes, and what an expression or a call means before it runs."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from typing import Final

import msgspec


class CodeArgument(msgspec.Struct, frozen=True, gc=False):
    """One argument of a call."""

    text: str
    """What it means when that is known, else how it is written."""
    literal: bool = False
    items: tuple[str | None, ...] = ()
    """The members of a list; None for one that only the run decides."""
    name: str = ""
    """The keyword it is passed by: `shell` in `shell=True`."""
    prefix: str = ""
    """How its text begins, where the rest is not known."""
    path: str = ""
    """The dotted name of the function or the value that it refers to."""
    made: bool = False
    """Whether it is what that function gave back, and not the function itself."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """One call: the receiver of a method, where it is known, is the first argument."""

    callee: str
    arguments: tuple[CodeArgument, ...]
    start: int
    text: str = ""
    """The call as it is written, cut after its first characters."""
    method: bool = False
    """Whether the first argument is the receiver."""

    @property
    def own(self) -> tuple[CodeArgument, ...]:
        """The arguments without the receiver."""
        return self.arguments[1:] if self.method else self.arguments


_MAX_TEXT: Final = 4096
_MAX_PATH: Final = 160


class Value(msgspec.Struct, frozen=True, gc=False):
    """The meaning of an expression."""

    text: str = ""
    """What it is, or as much of its beginning as is known."""
    known: bool = False
    items: tuple[str | None, ...] = ()
    path: str = ""
    """The dotted name it goes by: of a function, a module, or the call that made it."""
    receiver: CodeArgument | None = None
    """What the object is, or was made from: the path in `Path("x")`."""
    exact: bool = False
    """Whether the receiver is the object itself, and not only what it was made from."""
    made: bool = False
    """Whether the function that it goes by was called."""
    members: tuple[Value, ...] = ()
    """The members of a list that is written down, as many as there are `items`."""

    def member(self, name: str) -> Value:
        """Return what stands behind a dot."""
        receiver = self.receiver
        if self.known:
            receiver = CodeArgument(self.text, literal=True, path=self.path)
        elif self.text or self.items:
            receiver = CodeArgument("", items=self.items, prefix=self.text, path=self.path)
        owner = self.path or ("String" if self.known else "")
        if len(owner) > _MAX_PATH:
            owner = owner.partition(".")[0][:_MAX_PATH]
        exact = self.known or self.text != ""
        return Value(path=f"{owner}.{name}", receiver=receiver, exact=exact)


UNKNOWN: Final = Value()


def text_value(text: str) -> Value:
    """Return a text that is known; only the beginning of one that is very long."""
    return Value(text[:_MAX_TEXT], known=len(text) <= _MAX_TEXT)


def joined(left: Value, right: Value) -> Value:
    """Return two values one after the other: texts, or lists."""
    if is_list(left) and is_list(right):
        if len(left.items) >= _MAX_ITEMS:
            return left
        return list_of((*elements_of(left), *elements_of(right)))
    if not left.known:
        return Value(text=left.text)
    if right.known or right.text:
        text = left.text + right.text
        return Value(text[:_MAX_TEXT], known=right.known and len(text) <= _MAX_TEXT)
    return Value(text=left.text)


_MAX_ITEMS: Final = 256
_EMPTY: Final = Value(path="[]", made=True)


def is_list(value: Value) -> bool:
    """Whether it is a list whose members are known, or how many there are."""
    return value.items != () or value == _EMPTY


def list_of(members: tuple[Value, ...]) -> Value:
    """Return the list of them; one of functions goes by the first of those."""
    # INVARIANT: lists in lists in lists are cut, so that comparing two values stays cheap.
    members = tuple(map(_without_lists_in_lists, members[:_MAX_ITEMS]))
    items = tuple(each.text if each.known else None for each in members)
    # Whoever runs through a list of functions calls the first too.
    path = next((each.path for each in members if each.path and not each.made), "")
    return Value(items=items, path=path, members=members) if members else _EMPTY


def _without_lists_in_lists(value: Value) -> Value:
    if any(each.members for each in value.members):
        return Value(items=value.items, path=value.path)
    return value


def elements_of(value: Value) -> tuple[Value, ...]:
    """Return the members of a list; what is none is its only one: it stands for all of them."""
    if value.members or value == _EMPTY:
        return value.members
    return tuple(UNKNOWN if each is None else text_value(each) for each in value.items) or (value,)


def value_of(argument: CodeArgument) -> Value:
    """Return what the argument is, as far as that is known."""
    text = argument.text if argument.literal else argument.prefix
    return Value(text, argument.literal, argument.items, argument.path, made=argument.made)


def changed_by(method: str, listed: Value, given: tuple[Value, ...]) -> Value:
    """Return what a method leaves of the list or the text that it changes."""
    if len(listed.items) >= _MAX_ITEMS:
        # What is cut stays so: a long loop over a long list costs nothing more.
        return listed
    members = elements_of(listed)
    match method:
        case "concat" | "append" | "prepend" | "<<" if listed.known and given:
            return joined(given[0], listed) if method == "prepend" else joined(listed, given[0])
        case "append" | "push" | "add" | "<<" | "extend" | "concat":
            if method in {"extend", "concat"}:
                given = tuple(member for each in given for member in elements_of(each))
            return list_of((*members, *given))
        case "unshift" | "prepend" | "appendleft":
            return list_of((*given, *members))
        case "insert" if given[1:] and given[0].text.isdecimal():
            place = int(given[0].text[:4])
            return list_of((*members[:place], *given[1:], *members[place:]))
        case "replace" if given:
            return given[0]
        case "clear":
            return _EMPTY
        case _:
            return UNKNOWN


def path_joined(parts: tuple[CodeArgument, ...]) -> Value:
    """Return the path that the parts make, each in the folder of the one before."""
    path = ""
    for part in parts:
        text = part.text if part.literal else part.prefix
        absolute = text.startswith(("/", "~"))
        path = text if absolute or not path else f"{path.rstrip('/')}/{text}"
        if not part.literal:
            return Value(text=path[:_MAX_TEXT])
    return text_value(path)


Arguments = tuple[CodeArgument, ...]

_HOME: Final = "~"
_SCRATCH: Final = "/tmp/scratch"  # noqa: S108 - names what the snippet would make, opens nothing
_ENVIRONMENT: Final = {"HOME": _HOME, "USERPROFILE": _HOME, "TMPDIR": _SCRATCH, "PWD": "."}
_NAMED: Final = {"Dir.home": text_value(_HOME)} | {
    f"{environment}.{name}": text_value(text)
    for environment in ("os.environ", "process.env", "ENV", "$ENV", "$_ENV", "$_SERVER")
    for name, text in _ENVIRONMENT.items()
}
_NAMESPACE: Final = "__dict__"
"""What a module holds its members in: `shutil.__dict__["rmtree"]`."""
_GETTERS: Final = frozenset({"__getattribute__", "__getattr__"})
_PATHS: Final = frozenset({"Path", "Pathname"})
_MODULES: Final = {
    "fs/promises": "fs.promises",
    "fs-extra": "fs",
    "graceful-fs": "fs",
    "timers/promises": "timers",
}


def module_path(name: str) -> str:
    """Return the dotted name of a module: `node:fs/promises` is `fs.promises`."""
    bare = name.removeprefix("node:")
    return _MODULES.get(bare, bare).replace("/", ".")


def named_value(path: str) -> Value | None:
    """Return what a name that everybody knows stands for: `process.env.HOME` is `~`."""
    return _NAMED.get(path)


def attribute_of(owner: Value, name: str) -> Value:
    """Return what stands behind a dot."""
    first, _, rest = name.partition(".")
    if first == _NAMESPACE and owner.path:
        return attribute_of(owner, rest) if rest else owner
    if first == "parent" and owner.path == "Path" and owner.known:
        folder = _made_by("Path", text_value(_folder(owner.text)), None)
        return attribute_of(folder, rest) if rest else folder
    return owner.member(name)


def result_of(callee: str, arguments: Arguments, *, exact: bool = False) -> Value:
    """Return what is known about what the call gives back.

    `exact` says that the first argument is the very object whose method is called.
    """
    owner, _, last = callee.rpartition(".")
    if last in _GETTERS and arguments and arguments[-1].literal:
        return Value(path=f"{owner}.{arguments[-1].text}")
    answer = _BY_NAME.get(callee)
    if answer is None and exact:
        answer = _BY_METHOD.get(last)
    made = answer(arguments) if answer is not None and arguments else _CONSTANTS.get(callee)
    return _made_by(callee, made, arguments[0] if arguments else None)


def _made_by(callee: str, made: Value | None, receiver: CodeArgument | None) -> Value:
    if made is None:
        return Value(path=callee, receiver=receiver, made=True)
    if made.path or callee == "compile":
        return made
    # What a path gives back is a path again: `Path("x").resolve().unlink()` is an unlink of it.
    root = callee.partition(".")[0]
    path = root if root in _PATHS else callee
    return Value(made.text, made.known, made.items, path, receiver, made=True)


def _same(arguments: Arguments) -> Value | None:
    first = arguments[0]
    if first.literal:
        return text_value(first.text)
    return Value(text=first.prefix, items=first.items) if first.prefix or first.items else None


def _compiled(arguments: Arguments) -> Value | None:
    first = arguments[0]
    return Value(first.text if first.literal else "", known=first.literal, path=first.path)


def _beside(arguments: Arguments) -> Value | None:
    folder = CodeArgument(_folder(arguments[0].text), literal=arguments[0].literal)
    return path_joined((folder, *arguments[1:2]))


def _folder(path: str) -> str:
    head, slash, _ = path.rpartition("/")
    return head or slash or "."


def _split(arguments: Arguments) -> Value | None:
    first = arguments[0]
    between = arguments[1].text if len(arguments) > 1 else None
    return Value(items=tuple(first.text.split(between or None))) if first.literal else None


def _all_members(arguments: Arguments) -> Value | None:
    """Return a list of whatever the lists hold: what runs through it may be any of that."""
    lists = [value_of(each) for each in arguments if each.items]
    return (
        list_of(tuple(member for each in lists for member in elements_of(each))) if lists else None
    )


def _environment(arguments: Arguments) -> Value | None:
    text = _ENVIRONMENT.get(arguments[-1].text) or _ENVIRONMENT.get(arguments[0].text)
    return None if text is None else text_value(text)


def _attribute(arguments: Arguments) -> Value | None:
    if len(arguments) > 1 and arguments[0].path and arguments[1].literal:
        return Value(path=f"{arguments[0].path}.{arguments[1].text}")
    return None


def _from_base64(arguments: Arguments) -> Value | None:
    if not arguments[0].literal:
        return None
    padded = arguments[0].text.replace("-", "+").replace("_", "/") + "=="
    try:
        data = binascii.a2b_base64(padded)
    except ValueError:
        return None
    return text_value(data.decode("latin-1")) if data else None


def _from_hex(arguments: Arguments) -> Value | None:
    if not arguments[0].literal:
        return None
    try:
        return text_value(bytes.fromhex(arguments[0].text).decode("latin-1"))
    except ValueError:
        return None


def _from_buffer(arguments: Arguments) -> Value | None:
    encoding = arguments[1].text if len(arguments) > 1 else ""
    return {"base64": _from_base64, "hex": _from_hex}.get(encoding, _same)(arguments)


def _top_module(arguments: Arguments) -> Value | None:
    """`__import__("a.b")` is `a`, unless it is told what to take from it."""
    name = arguments[0]
    if not name.literal:
        return None
    text = name.text if len(arguments) > 1 else name.text.partition(".")[0]
    return Value(path=module_path(text))


_Answer = Callable[[Arguments], Value | None]


def _table(*rows: tuple[_Answer, str]) -> Mapping[str, _Answer]:
    return {name: answer for answer, names in rows for name in names.split()}


_BY_NAME: Final = _table(
    (
        lambda given: Value(path=module_path(given[0].text)) if given[0].literal else None,
        "require importlib.import_module import process.mainModule.require module.require",
    ),
    (_top_module, "__import__"),
    (
        lambda given: Value(path=given[0].text.replace(":", ".")) if given[0].literal else None,
        "pkgutil.resolve_name pydoc.locate",
    ),
    (_compiled, "compile"),
    (_attribute, "getattr Reflect.get"),
    (lambda given: Value(path=given[0].path) if given[0].path else None, "vars"),
    (
        path_joined,
        "Path os.path.join path.join path.resolve path.posix.join File.join filepath.Join"
        " Path.joinpath PurePath file.path",
    ),
    (
        _same,
        "Pathname Pathname.new str String"
        " os.path.abspath os.path.realpath os.path.expanduser os.path.normpath"
        " os.path.expandvars File.expand_path File.realpath os.fspath bytes bytearray sorted list"
        " reversed Array.from path.normalize path.expand normalizePath realpath Shellwords.escape"
        " os.walk glob.glob glob.iglob glob Dir.glob glob.sync globSync fs.globSync filepath.Glob"
        " Sys.glob fs.mkdtempSync fs.promises.mkdtemp",
    ),
    (
        lambda given: path_joined((*given[:1], CodeArgument("*", literal=True))),
        "Path.iterdir os.scandir list.files",
    ),
    (
        lambda _given: text_value("*"),
        "os.listdir fs.readdirSync fs.readdir fs.promises.readdir Dir.entries Dir.children"
        " Dir.each_child scandir os.ReadDir ioutil.ReadDir readdir",
    ),
    (path_joined, "Path.glob Path.rglob Pathname.join Pathname.glob"),
    (_beside, "Path.with_name"),
    (
        lambda given: Value(text=given[0].text.partition("%")[0].partition("{")[0]),
        "sprintf format String.format fmt.Sprintf string.format util.format",
    ),
    (lambda given: list_of(tuple(map(value_of, given))), "c"),
    (
        lambda given: changed_by("push", value_of(given[0]), tuple(map(value_of, given[1:]))),
        "append",
    ),
    (_all_members, "zip enumerate itertools.chain set tuple iter"),
    (_split, "shlex.split String.split Shellwords.split"),
    (
        _environment,
        "os.getenv os.environ.get getenv ENV.fetch Deno.env.get os.Getenv Sys.getenv",
    ),
    (
        _from_base64,
        "base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.decodebytes"
        " binascii.a2b_base64 atob decode_base64 MIME.Base64.decode_base64 base64_decode"
        " Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64",
    ),
    (_from_hex, "bytes.fromhex bytearray.fromhex binascii.unhexlify base64.b16decode hex2bin"),
    (_from_buffer, "Buffer.from"),
)
_BY_METHOD: Final = _table(
    (
        _same,
        "decode encode strip rstrip trim toString to_s resolve absolute expanduser as_posix chomp"
        " freeze to_path realpath",
    ),
)
_CONSTANTS: Final = {
    name: text_value(text)
    for text, names in (
        (_HOME, "Path.home os.homedir Dir.home os.UserHomeDir homedir"),
        (".", "os.getcwd Path.cwd process.cwd Dir.pwd getcwd os.Getwd getwd"),
        (
            _SCRATCH,
            "tempfile.mkdtemp tempfile.mkstemp tempfile.mktemp tempfile.gettempdir os.tmpdir"
            " tempfile.TemporaryDirectory tempfile.NamedTemporaryFile Dir.mktmpdir Dir.tmpdir"
            " os.TempDir os.MkdirTemp sys_get_temp_dir tempnam tempfile.tempdir os.tmpname",
        ),
    )
    for name in names.split()
}
