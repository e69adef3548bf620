"""What a command sends over the network, and what it fetches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from interlock.commands.programs.execution import Execution
from interlock.commands.programs.outputs import login_in, packed_labels, tar
from interlock.commands.programs.places import SCRATCH
from interlock.commands.shell.cmdlets import cmdlet_of
from interlock.commands.shell.command import Effect, EffectKind
from interlock.commands.shell.provenance import ARCHIVE, LOGIN, REMOTE, Stream
from interlock.commands.shell.words import Word, labels_of
from interlock.commands.values.addresses import ELSEWHERE, FORGE, LOCAL, NEIGHBOUR, origin_of

_CURL_DATA: Final = (
    "-d --data --data-binary --data-ascii --data-urlencode --json -F --form -T --upload-file"
).split()
_NAMES_A_FILE: Final = r"(?:@|[^@<]*=[@<])([^;,]*)"
_NETWORKS: Final = ("TCP", "UDP", "SSL", "OPENSSL", "VSOCK", "DCCP", "SCTP", "SOCKS", "PROXY")
_CHECKOUTS: Final = frozenset(("checkout", "co", "export", "clone", "branch"))
_PUTS: Final = frozenset(("put", "mput", "reput"))
_HANDS_OVER: Final = frozenset(("send", "upload", "tx"))
_GIVES_AWAY: Final = (["gist", "create"], ["release", "upload"])
_NAMES_REMOTE: Final = frozenset(("add", "set-url"))
_NO_FORGE: Final = ELSEWHERE - {FORGE}
_STANDARD_INPUT: Final = frozenset(("-", ".", "/dev/stdin"))


def _curl(run: Execution) -> Iterator[Effect]:
    labels = labels_of(run.words) & ~LOGIN | labels_of(run.operands)
    posted = run.invocation.all_values(*_CURL_DATA)
    for value in posted:
        labels |= _posted(value, run)
    for value in run.invocation.all_values("-T", "--upload-file"):
        labels |= _stream(value, run).labels
    url = _url(run)
    if posted or labels:
        yield _sent(run, url, labels)
    output = run.invocation.value("-o", "--output")
    if output is None and run.invocation.has("-O", "--remote-name"):
        output = _last_part(url)
    yield from _fetched(run, url, _in_folder(run.invocation.value("--output-dir"), output))


def _wget(run: Execution) -> Iterator[Effect]:
    url = _url(run)
    labels = labels_of(run.words) & ~LOGIN | labels_of(run.operands)
    labels |= labels_of(run.invocation.all_values("--post-data", "--body-data"))
    for value in run.invocation.all_values("--post-file", "--body-file"):
        labels |= _stream(value, run).labels
    if labels:
        yield _sent(run, url, labels)
    named = (
        words[0]
        for name, words in run.invocation.values.items()
        if name == "-O" or name.startswith("--output-d")
    )
    folder = run.invocation.value("-P", "--directory-prefix")
    if run.invocation.has("-r", "--recursive", "-m", "--mirror"):
        host = url.text.rpartition("://")[2].partition("/")[0]
        run.fill(_in_folder(folder, Word(host)), Stream(REMOTE))
    yield from _fetched(run, url, next(named, None) or _in_folder(folder, _last_part(url)))


def _cmdlet_fetch(run: Execution) -> Iterator[Effect]:
    """`Invoke-WebRequest address -OutFile file`."""
    given = cmdlet_of(run.command)
    address = given.value("uri") or " ".join(given.operands[:1])
    output = given.value("outfile").replace("\\", "/")
    return _fetched(run, Word(address), Word(output) if output else None)


def _last_part(address: Word) -> Word:
    return Word(address.text.rpartition("/")[2].rpartition(":")[2])


def _in_folder(folder: Word | None, name: Word | None) -> Word | None:
    if folder is None or name is None:
        return name
    return Word(f"{folder.text.rstrip('/')}/{name.text}", known=folder.known)


def _fetched(run: Execution, url: Word, output: Word | None) -> Iterator[Effect]:
    """A download overwrites a file, and what lies there is remote from now on."""
    if output is not None and output.text != "-":
        run.store(output.text, Stream(REMOTE))
        place = run.places.at(output.text, run.scope)
        yield Effect(EffectKind.OVERWRITE, output, run.command, place)
    yield Effect(EffectKind.FETCH, url, run.command)


def _posted(value: Word, run: Execution) -> int:
    """Return the labels of what `@file`, `name=@file`, `name=<file` or `@-` stands for."""
    found = re.match(_NAMES_A_FILE, value.text)
    if found is None:
        return value.labels | login_in([value])
    name = found[1]
    known = value.known or "$" not in name
    return value.labels | _stream(Word(name, known), run).labels


def _stream(word: Word, run: Execution) -> Stream:
    return run.stdin if word.text in _STANDARD_INPUT else run.file(word)


def _stdin_sender(run: Execution) -> Iterator[Effect]:
    """`nc`, `ssh`, `mail` and the like send what flows into them."""
    labels = run.stdin.labels | labels_of(run.words) & ~LOGIN
    for word in run.words:
        if word.text.startswith("@"):
            labels |= run.file(word.tail(1)).labels
    for word in run.invocation.all_values("-a", "-A", "--attach"):
        labels |= run.file(word).labels
    if labels and run.operands:
        yield _sent(run, run.operands[0], labels)


def _socat(run: Execution) -> Iterator[Effect]:
    labels = run.stdin.labels
    network = None
    for word in run.operands:
        if any(kind in word.text.upper() for kind in _NETWORKS):
            network = word
        for file in _files_of_socat(word):
            labels |= run.file(file).labels
    if network is not None and labels:
        yield _sent(run, network, labels)
    last = run.operands[-1] if run.operands else Word("")
    if network not in {None, last} and last.text[:4].upper() not in {"EXEC", "SYST"}:
        for file in _files_of_socat(last):
            run.store(file.text, Stream(REMOTE))


def _files_of_socat(word: Word) -> list[Word]:
    kind, _, name = word.text.partition(":")
    if kind.upper() in {"OPEN", "FILE", "GOPEN", "PIPE"} or not name:
        path, _, options = name.strip("'\"").partition(",")
        folder = options.partition("chdir=")[2].partition(",")[0]
        return [Word(f"{folder}/{path}" if folder else path or word.text)]
    if kind.upper() in {"EXEC", "SYSTEM"}:
        return [Word(part) for part in name.replace('"', " ").replace("'", " ").split()]
    return []


def _copier(run: Execution) -> Iterator[Effect]:
    """`scp` and `rsync`: files that go to another machine, or come from one."""
    *sources, destination = run.operands or [Word("")]
    if not sources:
        return
    if not is_remote(destination.text):
        yield from _received(sources, destination, run)
        return
    recursive = run.invocation.has("-r", "-a", "--recursive", "--archive", "--dirs")
    recursive = recursive or any(source.text.endswith(("/", ".")) for source in sources)
    # Who copies to a machine of the own network, or one that only the own settings name, stays in.
    host = origin_of(f"at@{destination.text.rpartition('@')[2]}")
    recursive = recursive and host not in {LOCAL, NEIGHBOUR}
    labels = 0
    for source in sources:
        if not is_remote(source.text):
            # What was built is there to be handed out.
            built = run.places.at(source.text, run.scope) & SCRATCH
            labels |= run.file(source).labels | (ARCHIVE if recursive and not built else 0)
    yield _sent(run, destination, labels)


def _received(sources: list[Word], destination: Word, run: Execution) -> Iterator[Effect]:
    """A copy overwrites; where a file, or all of a folder, has come from is remembered."""
    if any(is_address(source.text) for source in sources):
        yield run.effect(EffectKind.OVERWRITE, destination)
    labels = 0
    for source in sources:
        stream = Stream(REMOTE if is_address(source.text) else run.file(source).labels)
        if stream.labels:
            run.store(destination.text, stream)
            inside = Word(f"{destination.text.rstrip('/')}/{_last_part(source).text}")
            run.store(inside.text, stream)
            run.fill(inside, stream)
        labels |= stream.labels
    if labels and run.scope.path(destination.text) != run.scope.path("."):
        run.fill(destination, Stream(labels))


def _bucket(run: Execution) -> Iterator[Effect]:
    """`aws s3 cp`, `gsutil cp`, `rclone copy`: files from a store, or to one."""
    *sources, destination = run.operands or [Word("")]
    if is_address(destination.text):
        yield from _sent_files(run, destination, sources)
    else:
        remote = [word for word in sources if is_address(word.text)]
        yield from _received(remote, destination, run)


def _gh(run: Execution) -> Iterator[Effect]:
    """`gh repo clone` and `gh release download` bring folders and files, others send some."""
    verbs, others = [word.text for word in run.operands[:2]], run.operands[2:]
    if verbs[1:] == ["clone"] and others:
        _bring(run, *others[:2])
    elif verbs[1:] == ["download"]:
        run.fill(run.invocation.value("-D", "--dir"), Stream(REMOTE))
        for word in run.invocation.all_values("-O", "--output", "-p", "--pattern"):
            run.store(word.text, Stream(REMOTE))
    elif verbs in _GIVES_AWAY:
        yield from _sent_files(run, run.operands[0], others)


def _checkout(run: Execution) -> Iterator[Effect]:
    """`svn checkout` and `hg clone` bring folders."""
    verb, *others = run.operands or [Word("")]
    if verb.text in _CHECKOUTS and others and is_address(others[0].text):
        _bring(run, *others[:2])
    return iter(())


def _bring(run: Execution, source: Word, folder: Word | None = None) -> None:
    """Remember that a repository was copied into a folder, which has its name unless told."""
    name = Word(source.text.rstrip("/").removesuffix(".git"))
    run.fill(folder or _last_part(name), Stream(REMOTE))


def _sftp(run: Execution) -> Iterator[Effect]:
    """`sftp host:file place` fetches; what flows in, or is told, says what else goes where."""
    source, *others = run.operands or [Word("")]
    if source.text.partition(":")[2]:
        yield from _received([source], others[0] if others else Word("."), run)
    told = [run.stdin.text or "", *(each.text for each in run.invocation.all_values("-c", "-e"))]
    lines = [line.split() for line in re.split(r"[\n;]", "\n".join(told))]
    files = [Word(name) for line in lines if line[:1] and line[0] in _PUTS for name in line[1:]]
    yield from _sent_files(run, source, files)


def _sent_files(run: Execution, target: Word, files: Sequence[Word]) -> Iterator[Effect]:
    labels = run.stdin.labels
    for file in files:
        labels |= run.file(file).labels
    if labels:
        yield _sent(run, target, labels)


def _openssl(run: Execution) -> Iterator[Effect]:
    """`openssl s_client` is a connection like any other."""
    if run.operands[:1] == [Word("s_client")] and run.stdin.labels:
        yield _sent(run, run.operands[-1], run.stdin.labels)


def _handed_over(run: Execution) -> Iterator[Effect]:
    """`wormhole send file`: whoever has the code word fetches it."""
    verb, *files = run.operands or [Word("")]
    if verb.text in _HANDS_OVER:
        yield from _sent_files(run, files[0] if files else verb, files)


def is_address(text: str) -> bool:
    """Whether a word names something that lies elsewhere: an address, or `host:path`."""
    return ("://" in text and not text.startswith("file:")) or is_remote(text)


def is_remote(text: str) -> bool:
    """Whether `host:path` names another machine."""
    host, colon, _ = text.partition(":")
    return (bool(colon) and "/" not in host and len(host) > 1) or text.startswith(
        ("rsync://", "scp://")
    )


def git_traffic(run: Execution) -> Iterator[Effect]:
    """Return what git brings here from an address, or sends there under whatever name."""
    verb, *words = run.operands
    if verb.text == "clone" and words and is_address(words[0].text):
        _bring(run, *words[:2])
    elif verb.text == "remote" and len(words) > 2 and words[0].text in _NAMES_REMOTE:
        run.store(f".git/remotes/{words[1].text}", Stream(0, words[2].text))
    elif verb.text == "push":
        yield from _pushed(run, words)


def _pushed(run: Execution, words: Sequence[Word]) -> Iterator[Effect]:
    """A push to an address sends the whole history there, also under a name given just before."""
    target = run.invocation.value("--repo") or (words[0] if words else Word("origin"))
    named = run.scope.files.get(run.scope.path(f".git/remotes/{target.text}"))
    address = target.text if named is None else named.text or ""
    if origin_of(address) in _NO_FORGE and not run.invocation.has("-n", "--dry-run"):
        yield _sent(run, target, ARCHIVE)


def _tar(run: Execution) -> Iterator[Effect]:
    """`tar -f host:file` writes to another machine."""
    archive = tar(run.command)
    file = archive.file
    if file is None:
        inherited = run.scope.value("TAR_OPTIONS")
        if inherited is not None and "--file=" in inherited.text:
            file = Word(inherited.text.partition("--file=")[2])
    if file is not None and is_remote(file.text):
        yield _sent(run, file, packed_labels(archive, run))


def _lookup(run: Execution) -> Iterator[Effect]:
    """A name that is looked up can carry data to whoever answers for the domain."""
    labels = labels_of(run.words)
    if labels:
        yield _sent(run, run.words[-1], labels)


def _sent(run: Execution, target: Word, labels: int) -> Effect:
    return Effect(EffectKind.SEND, target, run.command, labels=labels)


def _url(run: Execution) -> Word:
    given = run.invocation.value("--url")
    return given or (run.operands[0] if run.operands else Word(""))


NETWORK_WAYS: Final[dict[str, Callable[[Execution], Iterator[Effect]]]] = {
    "curl": _curl,
    "wget": _wget,
    "send-input": _stdin_sender,
    "socat": _socat,
    "copy": _copier,
    "bucket": _bucket,
    "gh": _gh,
    "checkout": _checkout,
    "sftp": _sftp,
    "openssl": _openssl,
    "tar": _tar,
    "look-up": _lookup,
    "hand-over": _handed_over,
    "cmdlet-fetch": _cmdlet_fetch,
}
"""What an entry of a program may say under `network`."""
