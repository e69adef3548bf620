"""What a hook does, called with `DIALECT [ARGS]`: it only asks the server.

It is started before every action of an agent and so imports next to nothing: the server knows
what a hook means and what its client understands. Where no server answers, `interlock hook`
does. Where nothing does the answer is no, except at the end of a turn (`stop` among ARGS): an
agent must be able to end; and where the client only tells (`told`): nothing hangs on that.
`--deadline=SECONDS` among ARGS is when that is said: before the client stops waiting.
"""

import _signal as signal  # pyright: ignore[reportMissingModuleSource] - part of the interpreter
import sys

try:
    import _socket as socket
    import posix as os
except ImportError:
    import os
    import socket

_REFUSED = 2
_DEADLINE_S = 25
_PIECE = 1 << 20
_LONGEST_HEAD = 64
_LONGEST_SOCKET = 100
_CLIENT_SAYS = ("CLAUDE_CODE_SESSION_ATTENDED", "COPILOT_CLI", "INTERLOCK_RUN")


class NoAnswerError(Exception):
    """There is none, and why."""


class TooLateError(Exception):
    """There is no time left for one."""


def main(arguments: list[str]) -> int:
    """Answer a hook; return its exit code."""
    try:
        _limit(arguments)
        payload = _read_all(0)
        code, said, complaint = _answer(arguments, payload)
        _write(1, said)
        _write(2, complaint)
    except BaseException as error:  # noqa: BLE001 - whatever happens, it must not look like a yes
        why = str(error) or type(error).__name__
        _write(
            2, f"interlock: no answer: {why}; see `interlock status`\n".encode("utf-8", "replace")
        )
        return 0 if "stop" in arguments or "told" in arguments else _REFUSED
    return code


def _answer(arguments: list[str], payload: bytes) -> tuple[int, bytes, bytes]:
    cwd = os.getcwd()  # noqa: PTH109 - a path object would have to be imported
    environment = _environment()
    place = hooks_place(environment)
    line = request_line(arguments, cwd, os.getpid(), payload, told_of_itself(environment))
    try:
        return asked(place, line)
    except (OSError, NoAnswerError):
        # None is there, or it ended in the middle: whoever answers alone finds the same record.
        return _answer_alone(arguments, payload)


def asked(place: str, line: bytes) -> tuple[int, bytes, bytes]:
    """Return what the server says: an exit code, and what to write to stdout and stderr."""
    # Whoever makes the folder first, where everybody may, would answer in the server's place.
    if os.lstat(place.rpartition("/")[0] or "/").st_uid != os.getuid():
        raise NoAnswerError("the folder of the server's socket is another user's")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
    try:
        connection.connect(place)
        connection.sendall(line)
        got = b""
        while b"\n" not in got and len(got) <= _LONGEST_HEAD:
            got += _received(connection)
        head, _, rest = got.partition(b"\n")
        words = head.split()
        if len(words) != 3 or not all([word.isdigit() for word in words]):  # noqa: C419 - sooner done
            raise NoAnswerError("what the server said is no answer")
        code, said, complained = [int(word) for word in words]
        while len(rest) < said + complained:
            rest += _received(connection)
        return code, rest[:said], rest[said : said + complained]
    finally:
        connection.close()


def _received(connection: socket.socket) -> bytes:
    piece = connection.recv(_PIECE)
    if not piece:
        raise NoAnswerError("the server ended in the middle of an answer")
    return piece


def told_of_itself(environment: dict[str, str]) -> dict[str, str]:
    """Return what a client says of itself in the environment of its hooks."""
    return {name: environment[name] for name in _CLIENT_SAYS if name in environment}


def request_line(
    arguments: list[str], cwd: str, pid: int, payload: bytes, env: dict[str, str]
) -> bytes:
    """Return what the server is told: JSON on one line."""
    # A line break is white space in JSON: within a text it is always written as `\n`.
    told = payload.replace(b"\r", b" ").replace(b"\n", b" ").strip() or b"null"
    hook, *args = [_quoted(each) for each in arguments] or [b'"auto"']
    return b'{"hook":%s,"args":[%s],"cwd":%s,"pid":%d,"env":{%s},"payload":%s}\n' % (
        hook,
        b",".join(args),
        _quoted(cwd),
        pid,
        b",".join([b"%s:%s" % (_quoted(name), _quoted(said)) for name, said in env.items()]),
        told,
    )


def _quoted(text: str) -> bytes:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return b'"%s"' % text.encode()
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return b'"%s"' % b"".join([b"\\u%02x%02x" % pair for pair in pairs])


def hooks_place(environment: dict[str, str]) -> str:
    """Return where the server of the ledger that counts here listens: as `settings` says."""
    state = environment.get("XDG_STATE_HOME", "")
    state = state if state[:1] == "/" else f"{_home(environment)}/.local/state"
    state = f"{state.rstrip('/')}/interlock"
    shared = environment.get("XDG_RUNTIME_DIR", "").rstrip("/")
    folder = f"{shared}/interlock" if shared[:1] == "/" and _is_folder(shared) else f"{state}/run"
    ledger = environment.get("INTERLOCK_LEDGER") or f"{state}/ledger.db"
    name = "server" if ledger == f"{state}/ledger.db" else _server_name(ledger)
    place = f"{folder}/{name}.hooks"
    if len(place.encode("utf-8", "surrogateescape")) > _LONGEST_SOCKET:
        return f"/tmp/interlock-{os.getuid()}/{_server_name(ledger)}.hooks"  # noqa: S108 - made for this user alone
    return place


def _home(environment: dict[str, str]) -> str:
    if home := environment.get("HOME"):
        return home.rstrip("/")
    import pwd  # noqa: PLC0415 - part of the interpreter, and hardly ever needed

    return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/")


def _server_name(ledger: str) -> str:
    """Return what the server of another ledger is called; what this imports takes its time."""
    import hashlib  # noqa: PLC0415 - only for ledgers elsewhere
    import os.path  # noqa: PLC0415 - the same

    named = ledger if "://" in ledger else os.path.realpath(os.path.expanduser(ledger))  # noqa: PTH111 - as a text
    return hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _environment() -> dict[str, str]:
    return {_text(name): _text(value) for name, value in os.environ.items()}


def _text(raw: str | bytes) -> str:
    return raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw


def _is_folder(path: str) -> bool:
    try:
        return os.stat(path).st_mode & 0o170000 == 0o040000  # noqa: PTH116 - nothing is imported
    except OSError:
        return False


def _answer_alone(arguments: list[str], payload: bytes) -> tuple[int, bytes, bytes]:
    """Have a process of its own answer; what that says it writes itself."""
    reads, writes = os.pipe()
    ends = [(os.POSIX_SPAWN_DUP2, reads, 0), (os.POSIX_SPAWN_CLOSE, writes)]
    # Isolated: nothing of the folder that the agent works in may be imported.
    command = [sys.executable, "-I", "-m", "interlock", "hook", "--", *arguments]
    child = os.posix_spawn(sys.executable, command, os.environ, file_actions=ends)
    os.close(reads)
    try:  # noqa: SIM105 - nothing is imported
        _write(writes, payload)
    except BrokenPipeError:
        pass  # It has answered without reading: its exit code counts.
    os.close(writes)
    status = os.waitpid(child, 0)[1]
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (0, _REFUSED):
        # Any other exit code is a failure to most clients, and then the tool runs.
        raise NoAnswerError("the process that should have answered has failed")
    return os.WEXITSTATUS(status), b"", b""


def _limit(arguments: list[str]) -> None:
    """Have the whole of it end by an error at the deadline."""
    seconds = _DEADLINE_S
    for each in arguments:
        if each.startswith("--deadline=") and each[11:].isdigit():
            seconds = int(each[11:])
    signal.signal(signal.SIGALRM, _end_late)
    signal.setitimer(signal.ITIMER_REAL, max(1, seconds))


def _end_late(_number: int, _frame: object) -> None:
    raise TooLateError("the deadline has passed")


def _read_all(end: int) -> bytes:
    pieces: list[bytes] = []
    while piece := os.read(end, _PIECE):
        pieces.append(piece)
    return b"".join(pieces)


def _write(end: int, text: bytes) -> None:
    while text:
        text = text[os.write(end, text) :]


def end(arguments: list[str]) -> None:
    """Answer a hook, and end with its exit code: nothing is left to be done."""
    os._exit(main(arguments))  # pyright: ignore[reportPrivateUsage] - by its other name
