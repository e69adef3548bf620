"""What a call can do, which calls of each language are known to do it, and what to."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

import msgspec

from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import Call, CodeArgument
from interlock.commands.shell.words import excerpt_of


class CallKind(enum.Enum):
    """What happens when the call runs."""

    DELETE = "delete"
    OVERWRITE = "overwrite"
    APPEND = "append"
    MOVE = "move"
    """Takes a file away from its place; where it goes is an effect of its own."""
    READ = "read"
    PERMIT = "permit"
    """Changes permissions or ownership."""
    SHELL = "shell"
    """Hands a line to a shell; the target is the line."""
    ARGV = "argv"
    """Runs a program without a shell; `argv` is what it is given."""
    SEND = "send"
    FETCH = "fetch"
    EVAL = "eval"
    """Runs text as code that is not simply written down in the snippet."""
    LOAD = "load"
    """Runs the code that a file of this machine holds."""
    DECODE = "decode"
    REVIVE = "revive"
    """Makes objects of bytes that say which code to run on the way."""
    SOCKET_SHELL = "socket-shell"
    """Ties a shell to a connection."""
    ENV_DUMP = "env-dump"
    """Prints or sends the whole environment."""
    KILL = "kill"
    SQL = "sql"
    """Hands a text of SQL to a database; the target is the text."""
    UNSEEN = "unseen"
    """Stands for calls whose names may hold more than can be looked at."""
    LIBRARY = "library"
    """Uses Interlock's own library; the target is what is called of it."""
    VENDOR_DELETE = "vendor-delete"
    """Deletes something that a remote service holds."""


class CodeEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a call does to one target."""

    kind: CallKind
    target: str
    """What is meant; where it is not known, how it begins."""
    known: bool = True
    recursive: bool = False
    decoded: bool = False
    """Whether the target came out of a decoder."""
    argv: tuple[str | None, ...] = ()
    """The words of a program that is run; None for one that only the run decides."""
    excerpt: str


class Known(NamedTuple):
    """What a call does, and to which argument, counted from the receiver where there is one."""

    kind: CallKind
    effects: Callable[[Call, Known], Iterator[CodeEffect]]
    """How the arguments tell what it works on."""
    argument: int = 0
    recursive: bool = False


@cache
def known_calls(language: Language) -> Mapping[str, Known]:
    """Return the calls of the language by their dotted names."""
    return _meanings(_CALLS[language])


@cache
def known_methods(language: Language) -> Mapping[str, Known]:
    """Return the calls whose last name alone says what they do, whoever they are asked of."""
    return _meanings(_METHODS.get(language, ""))


def _meanings(table: str) -> dict[str, Known]:
    """Return what a table says: each name means what the last word with a colon does."""
    meanings: dict[str, Known] = {}
    meaning = ""
    for word in table.split():
        if word.endswith(":"):
            meaning = word[:-1]
        else:
            meanings[word] = _KNOWN[meaning]
    return meanings


_NOTHING: Final = CodeArgument("")
_PATH_NAMES: Final = frozenset(
    {"path", "file", "filename", "src", "source", "url", "args", "command"}
)
_SHOWN_AS_WRITTEN: Final = frozenset({CallKind.EVAL, CallKind.ENV_DUMP})
_DECODERS: Final = tuple(
    "base64. binascii. bytes.fromhex zlib. codecs.decode marshal. atob Buffer.from decode_base64"
    " MIME.Base64 base64_decode Base64. hex2bin gzinflate gzuncompress gzdecode str_rot13".split()
)
_LINES_ONLY: Final = frozenset(("os.system", "os.popen"))
"""What takes no list: one that it is handed with others holds lines."""
_METHOD: Final = r"\b(?:POST|PUT|PATCH|DELETE)\b"
_REMOTE_ADDRESS: Final = r"(?i)https?://(?!localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker)[\w.-]"


def effect(
    kind: CallKind, call: Call, argument: CodeArgument, *, recursive: bool = False
) -> CodeEffect:
    """Return what the call does to what the argument means."""
    if kind is CallKind.READ and is_remote(argument):
        kind = CallKind.FETCH
    shown = argument.literal or kind in _SHOWN_AS_WRITTEN
    return CodeEffect(
        kind=kind,
        target=argument.text if shown else argument.prefix,
        known=argument.literal,
        recursive=recursive,
        decoded=argument.path.startswith(_DECODERS),
        argv=argument.items if kind is CallKind.ARGV else (),
        excerpt=excerpt_of(call.text),
    )


def is_remote(argument: CodeArgument) -> bool:
    """Whether the address is one of another machine."""
    address = argument.text if argument.literal else argument.prefix
    return re.match(_REMOTE_ADDRESS, address) is not None


def _one(call: Call, known: Known) -> Iterator[CodeEffect]:
    recursive = known.recursive or _says(call, "recursive")
    yield from _targets(call, known.kind, _at(call, known.argument), recursive=recursive)


def _each(call: Call, known: Known) -> Iterator[CodeEffect]:
    for argument in _positional(call) or [_NOTHING]:
        yield from _targets(call, known.kind, argument, recursive=known.recursive)


def _targets(
    call: Call, kind: CallKind, argument: CodeArgument, *, recursive: bool = False
) -> Iterator[CodeEffect]:
    """Return one effect for each member of a list, or for what is no list."""
    if not argument.items:
        yield effect(kind, call, argument, recursive=recursive)
    for item in argument.items:
        member = CodeArgument(item or "", literal=item is not None)
        yield effect(kind, call, member, recursive=recursive)


def _mode(call: Call, _known: Known) -> Iterator[CodeEffect]:
    path = _at(call, 0)
    if path.literal and path.text.startswith("|"):
        command = CodeArgument(path.text[1:].strip(), literal=True)
        yield effect(CallKind.SHELL, call, command)
        return
    mode = _named(call, "mode", "flags", "flag") or _at(call, 1)
    yield effect(_kind_of_mode(mode.text), call, path)


def _kind_of_mode(mode: str) -> CallKind:
    if "w" in mode or "x" in mode or "O_TRUNC" in mode or "O_CREAT" in mode:
        return CallKind.OVERWRITE
    return CallKind.APPEND if "a" in mode or "+" in mode or "O_" in mode else CallKind.READ


def _handle(call: Call, _known: Known) -> Iterator[CodeEffect]:
    """Read Perl's `open(F, ">", path)` and `open(F, ">path")`."""
    mode = _at(call, 1)
    path = _at(call, 2)
    if path is _NOTHING:
        sign = mode.text[: len(mode.text) - len(mode.text.lstrip("<>|+ "))]
        mode, path = CodeArgument(sign), CodeArgument(mode.text.lstrip("<>|+ "), mode.literal)
        if path.text.endswith("|"):
            mode, path = CodeArgument("|"), CodeArgument(path.text[:-1].strip(), path.literal)
    if "|" in mode.text and len(words := _positional(call)[2:]) > 1:
        yield _program_run(call, tuple(word.text if word.literal else None for word in words))
    elif "|" in mode.text:
        yield effect(CallKind.SHELL, call, path)
    elif not path.text.startswith("&"):
        kind = CallKind.APPEND if ">>" in mode.text or "+<" in mode.text else CallKind.OVERWRITE
        yield effect(kind if ">" in mode.text or "+" in mode.text else CallKind.READ, call, path)


def _to(call: Call, known: Known) -> Iterator[CodeEffect]:
    yield from _targets(call, CallKind.READ, _at(call, 0), recursive=known.recursive)
    yield effect(CallKind.OVERWRITE, call, _at(call, 1), recursive=known.recursive)


def _download(call: Call, _known: Known) -> Iterator[CodeEffect]:
    yield effect(CallKind.FETCH, call, _at(call, 0))
    yield effect(CallKind.OVERWRITE, call, _at(call, 1))


def _move(call: Call, _known: Known) -> Iterator[CodeEffect]:
    yield from _targets(call, CallKind.MOVE, _at(call, 0))
    yield effect(CallKind.OVERWRITE, call, _at(call, 1))


def _line(call: Call, known: Known) -> Iterator[CodeEffect]:
    line = _at(call, known.argument)
    in_shell = _says(call, "shell")
    program = _named(call, "executable")
    if program is not None and line.items and not in_shell:
        words = (program.text if program.literal else None, *line.items[1:])
        line = CodeArgument(line.text, items=words, prefix=line.prefix)
    if line.items and in_shell:
        whole = None not in line.items
        text = " ".join(word for word in line.items if word is not None)
        yield effect(CallKind.SHELL, call, CodeArgument(text, whole, prefix=text))
    elif line.items and call.callee in _LINES_ONLY:
        yield from _targets(call, CallKind.SHELL, line)
    elif line.items:
        yield _program_run(call, line.items)
    elif not line.literal and not in_shell and call.callee.startswith("subprocess."):
        yield effect(CallKind.ARGV, call, line)
    else:
        yield effect(CallKind.SHELL, call, line)


def _spawn(call: Call, known: Known) -> Iterator[CodeEffect]:
    """Read `os.spawnlp(mode, program, name, ...)`: what stands behind the mode."""
    yield from _program(Call(call.callee, call.arguments[1:], call.start, call.text), known)


def _words(call: Call, known: Known) -> Iterator[CodeEffect]:
    # Ruby may be given the environment first.
    words = [word for word in _positional(call) if word.literal or word.text[:1] != "{"]
    if len(words) == 1 and words[0].items:
        yield _program_run(call, words[0].items)
    elif len(words) == 1 and known.kind is CallKind.SHELL:
        yield effect(CallKind.SHELL, call, words[0])
    elif words:
        yield _program_run(call, tuple(word.text if word.literal else None for word in words))


def _program(call: Call, _known: Known) -> Iterator[CodeEffect]:
    program, *others = _positional(call) or [_NOTHING]
    first = program.text if program.literal else None
    given = others[0].items if others else ()
    if not given and call.callee.startswith("os."):
        given = tuple(word.text if word.literal else None for word in others)
    elif not given:
        given = tuple(word.text for word in others if word.literal)
    # What Python is given for the new process begins with the program's own name.
    words = given[1:] if call.callee.startswith("os.") else given
    if _says(call, "shell"):
        line = " ".join(word for word in (first, *words) if word is not None)
        yield effect(CallKind.SHELL, call, CodeArgument(line, program.literal))
    else:
        yield _program_run(call, (first, *words))


def _program_run(call: Call, words: tuple[str | None, ...]) -> CodeEffect:
    text = " ".join(word for word in words if word is not None)
    argument = CodeArgument(text, None not in words, words, prefix=text)
    return effect(CallKind.ARGV, call, argument)


def _request(call: Call, known: Known) -> Iterator[CodeEffect]:
    """Read the method off the arguments: what asks to delete deletes, what carries data sends."""
    address = _address(call)
    method = re.search(_METHOD, " ".join(argument.text for argument in call.arguments))
    kind = known.kind
    if method is not None:
        kind = CallKind.VENDOR_DELETE if method[0] == "DELETE" else CallKind.SEND
    elif _carries_data(call):
        kind = CallKind.SEND
    if kind is not CallKind.VENDOR_DELETE or is_remote(address):
        yield effect(kind, call, address)


def _address(call: Call) -> CodeArgument:
    for argument in call.arguments:
        if "://" in argument.text or "://" in argument.prefix:
            return argument
    return _at(call, 0)


def _carries_data(call: Call) -> bool:
    if _named(call, "data", "body", "json", "files") is not None:
        return True
    return call.callee.startswith("urllib.") and len(_positional(call)) > 1


def _remote_code(call: Call, _known: Known) -> Iterator[CodeEffect]:
    """Read what runs a file: one of another machine is fetched for it."""
    code = _at(call, 0)
    if is_remote(code):
        yield effect(CallKind.FETCH, call, code)
        yield effect(CallKind.EVAL, call, code)


def _code(_call: Call, _known: Known) -> Iterator[CodeEffect]:
    """Code that runs code is read by whoever knows the language."""
    return iter(())


def _positional(call: Call) -> list[CodeArgument]:
    return [argument for argument in call.arguments if not argument.name]


def _at(call: Call, index: int) -> CodeArgument:
    """Return the argument at the index, or the one whose keyword says that it is the path."""
    positional = _positional(call)
    if index < len(positional):
        return positional[index]
    for argument in call.arguments if index == 0 else ():
        if argument.name in _PATH_NAMES:
            return argument
    return _NOTHING


def _named(call: Call, *names: str) -> CodeArgument | None:
    return next((argument for argument in call.arguments if argument.name in names), None)


def _says(call: Call, option: str) -> bool:
    """Whether an option is switched on: `shell=True`, `{recursive: true}`."""
    switched_on = rf"{option}['\"]?\s{{0,9}}(?:=>|[:=])\s{{0,9}}(?i:true|1|!0)"
    return any(
        option in argument.text and re.search(switched_on, argument.text) is not None
        for argument in call.arguments
    )


_KNOWN: Final = {
    "delete": Known(CallKind.DELETE, _one),
    "delete-second": Known(CallKind.DELETE, _one, 1),
    "delete-each": Known(CallKind.DELETE, _each),
    "delete-tree": Known(CallKind.DELETE, _one, recursive=True),
    "delete-trees": Known(CallKind.DELETE, _each, recursive=True),
    "write": Known(CallKind.OVERWRITE, _one),
    "write-second": Known(CallKind.OVERWRITE, _one, 1),
    "append": Known(CallKind.APPEND, _one),
    "read": Known(CallKind.READ, _one),
    "open": Known(CallKind.READ, _mode),
    "open-handle": Known(CallKind.READ, _handle),
    "copy": Known(CallKind.OVERWRITE, _to),
    "copy-tree": Known(CallKind.OVERWRITE, _to, recursive=True),
    "move": Known(CallKind.OVERWRITE, _move),
    "permit": Known(CallKind.PERMIT, _one),
    "permit-second": Known(CallKind.PERMIT, _one, 1),
    "permit-third": Known(CallKind.PERMIT, _one, 2),
    "run-line": Known(CallKind.SHELL, _line),
    "run-second-line": Known(CallKind.SHELL, _line, 1),
    "run-spawned": Known(CallKind.ARGV, _spawn),
    "run-words": Known(CallKind.SHELL, _words),
    "run-argv": Known(CallKind.ARGV, _words),
    "run-program": Known(CallKind.ARGV, _program),
    "send": Known(CallKind.SEND, _one),
    "fetch": Known(CallKind.FETCH, _one),
    "download": Known(CallKind.FETCH, _download),
    "request": Known(CallKind.FETCH, _request),
    "evaluate": Known(CallKind.EVAL, _code),
    "run-file": Known(CallKind.FETCH, _remote_code),
    "decode": Known(CallKind.DECODE, _one),
    "revive": Known(CallKind.REVIVE, _one),
    "kill": Known(CallKind.KILL, _one),
    "kill-second": Known(CallKind.KILL, _one, 1),
    "delete-remotely": Known(CallKind.VENDOR_DELETE, _request),
}
"""What the tables below say of their calls."""

_CALLS: Final = {
    Language.PYTHON: """
        delete: os.remove os.unlink os.rmdir Path.unlink Path.rmdir
        delete-tree: shutil.rmtree os.removedirs
        write: Path.write_text Path.write_bytes os.truncate
        write-second: os.symlink os.link
        read: Path.read_text Path.read_bytes linecache.getlines
        open: open io.open codecs.open Path.open gzip.open os.open
        copy: shutil.copy shutil.copy2 shutil.copyfile
        copy-tree: shutil.copytree
        move: shutil.move os.rename os.renames os.replace Path.rename Path.replace
        permit: os.chmod os.chown os.lchown os.lchmod Path.chmod shutil.chown
        run-line: os.system os.popen get_ipython.system get_ipython.getoutput
            subprocess.run subprocess.call subprocess.Popen subprocess.check_call
            subprocess.check_output subprocess.getoutput subprocess.getstatusoutput
            pty.spawn commands.getoutput
            asyncio.create_subprocess_shell pexpect.spawn pexpect.run invoke.run fabric.run
            sh.bash
        run-words: asyncio.create_subprocess_exec
        run-second-line: ctypes.system ctypes.popen
        delete-second: ctypes.unlink ctypes.remove ctypes.rmdir
        run-program: os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp
            os.execl os.execle os.execlp os.execlpe
        run-spawned: os.spawnv os.spawnve os.spawnvp os.spawnvpe os.spawnl os.spawnle os.spawnlp
            os.spawnlpe
        send: requests.post requests.put requests.patch httpx.post httpx.put httpx.patch
            requests.Session.post requests.Session.put requests.Session.patch httpx.Client.post
            socket.socket.sendall socket.socket.send socket.socket.sendto smtplib.SMTP.sendmail
            smtplib.SMTP.send_message smtplib.SMTP_SSL.sendmail ftplib.FTP.storbinary
            aiohttp.ClientSession.post aiohttp.ClientSession.put
        fetch: requests.get requests.head httpx.get requests.Session.get httpx.Client.get
            aiohttp.ClientSession.get
        download: urllib.request.urlretrieve wget.download
        request: urllib.request.urlopen urllib.request.Request requests.request httpx.request
            http.client.HTTPConnection.request http.client.HTTPSConnection.request
        evaluate: exec eval cProfile.run cProfile.runctx profile.run profile.runctx pdb.run
            pdb.runeval timeit.timeit timeit.repeat timeit.Timer
            code.InteractiveInterpreter.runsource code.InteractiveInterpreter.runcode
            code.InteractiveConsole.runsource code.InteractiveConsole.push code.interact
            trace.Trace.run bdb.Bdb.run
        revive: pickle.loads pickle.load cloudpickle.loads cloudpickle.load dill.loads dill.load
            yaml.unsafe_load joblib.load jsonpickle.decode shelve.open
        decode: base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode
            base64.b32decode base64.b16decode base64.b85decode base64.a85decode
            base64.decodebytes binascii.a2b_base64 binascii.unhexlify bytes.fromhex
            zlib.decompress gzip.decompress bz2.decompress lzma.decompress codecs.decode
            marshal.loads
        kill: os.kill os.killpg
        delete-remotely: requests.delete httpx.delete requests.Session.delete
    """,
    Language.JAVASCRIPT: """
        delete: fs.rm fs.rmSync fs.promises.rm fs.unlink fs.unlinkSync fs.promises.unlink
            fs.rmdir fs.rmdirSync fs.promises.rmdir Deno.remove Deno.removeSync Bun.file.delete
        delete-trees: rimraf rimraf.sync rimraf.rimraf rimraf.rimrafSync del del.sync
            del.deleteAsync del.deleteSync fs.remove fs.removeSync fs.emptyDir fs.emptyDirSync
            fse.remove fse.removeSync fse.emptyDir fse.emptyDirSync shelljs.rm shell.rm
        write: fs.writeFile fs.writeFileSync fs.promises.writeFile fs.createWriteStream
            fs.truncate fs.truncateSync fs.promises.truncate fs.outputFile fs.outputFileSync
            fs.writeJson fs.writeJsonSync Deno.writeTextFile Deno.writeTextFileSync
            Deno.writeFile Bun.write
        write-second: fs.symlink fs.symlinkSync fs.link fs.linkSync
        append: fs.appendFile fs.appendFileSync fs.promises.appendFile
        read: fs.readFile fs.readFileSync fs.promises.readFile fs.createReadStream fs.readJson
            fs.readJsonSync Deno.readTextFile Deno.readTextFileSync Deno.readFile
        open: fs.open fs.openSync fs.promises.open Deno.open
        copy: fs.copyFile fs.copyFileSync fs.promises.copyFile
        copy-tree: fs.cp fs.cpSync fs.promises.cp fs.copy fs.copySync fse.copy fse.copySync
        move: fs.rename fs.renameSync fs.promises.rename fs.move fs.moveSync Deno.rename
        permit: fs.chmod fs.chmodSync fs.promises.chmod fs.chown fs.chownSync fs.promises.chown
            Deno.chmod
        run-line: child_process.exec child_process.execSync shelljs.exec shell.exec
            execa.command
        run-program: child_process.spawn child_process.spawnSync child_process.execFile
            child_process.execFileSync child_process.fork execa execa.execa execa.sync
            Deno.Command
        run-line: Bun.spawn Bun.spawnSync $ Bun.$
        send: axios.post axios.put axios.patch got.post got.put superagent.post
            navigator.sendBeacon
        fetch: axios.get got got.get superagent.get http.get https.get
        request: fetch http.request https.request axios axios.request node-fetch undici.request
        evaluate: eval Function vm.runInNewContext vm.runInThisContext vm.runInContext vm.Script
            vm.compileFunction
        run-file: import importScripts
        decode: atob zlib.gunzipSync zlib.inflateSync zlib.unzipSync zlib.brotliDecompressSync
        kill: process.kill
        delete-remotely: axios.delete got.delete superagent.delete
    """,
    Language.RUBY: """
        delete-each: File.delete File.unlink Dir.rmdir Dir.delete Dir.unlink FileUtils.rm
            FileUtils.rm_f FileUtils.safe_unlink FileUtils.rmdir Pathname.delete Pathname.unlink
        delete-trees: FileUtils.rm_r FileUtils.rm_rf FileUtils.remove_dir FileUtils.remove_entry
            FileUtils.remove_entry_secure FileUtils.rmtree Pathname.rmtree rm_rf rm_r
        write: File.write IO.write File.binwrite File.truncate Pathname.write
        read: File.read IO.read File.readlines File.binread File.foreach IO.readlines
            Pathname.read
        open: File.open File.new open IO.open
        copy: FileUtils.cp FileUtils.copy FileUtils.copy_file FileUtils.install
        copy-tree: FileUtils.cp_r
        move: FileUtils.mv FileUtils.move File.rename
        write-second: FileUtils.ln FileUtils.ln_s FileUtils.ln_sf File.symlink File.link
        permit-second: FileUtils.chmod FileUtils.chmod_R File.chmod
        permit-third: FileUtils.chown FileUtils.chown_R File.chown
        run-words: system exec spawn ` Process.spawn Process.exec Open3.capture2 Open3.capture2e
            Open3.capture3 Open3.popen2 Open3.popen2e Open3.popen3
        run-line: IO.popen PTY.spawn
        send: Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post RestClient.post
        fetch: Net.HTTP.get Net.HTTP.get_response URI.open HTTParty.get Faraday.get
            RestClient.get
        evaluate: eval instance_eval class_eval module_eval binding.eval TOPLEVEL_BINDING.eval
        decode: Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64 Zlib.inflate
        kill-second: Process.kill
        delete-remotely: HTTParty.delete Faraday.delete RestClient.delete
    """,
    Language.PERL: """
        delete-each: unlink rmdir
        delete-trees: rmtree remove_tree File.Path.rmtree File.Path.remove_tree
        write: truncate write_file
        read: read_file slurp
        open-handle: open sysopen
        copy: copy cp File.Copy.copy File.Copy.cp
        move: move mv rename File.Copy.move File.Copy.mv
        download: getstore mirror
        write-second: symlink link
        permit-second: chmod
        permit-third: chown
        run-words: system exec ` open3 IPC.Open3.open3 open2
        fetch: LWP.Simple.get get
        evaluate: eval
        decode: decode_base64 MIME.Base64.decode_base64 uncompress inflate
        kill-second: kill
    """,
    Language.PHP: """
        delete: unlink rmdir
        delete-tree: File.deleteDirectory Storage.deleteDirectory
        write: file_put_contents ftruncate touch
        read: file_get_contents file readfile parse_ini_file
        open: fopen
        copy: copy
        move: rename move_uploaded_file
        write-second: symlink link
        permit: chmod chown chgrp
        run-line: system exec shell_exec passthru popen proc_open ` pcntl_exec
        send: mail
        evaluate: eval assert create_function
        decode: base64_decode hex2bin gzinflate gzuncompress gzdecode str_rot13 convert_uudecode
        kill: posix_kill
    """,
    Language.LUA: """
        delete: os.remove lfs.rmdir
        move: os.rename
        open: io.open
        read: io.lines
        write: io.output
        run-line: os.execute io.popen
        evaluate: load loadstring
        fetch: http.request socket.http.request
    """,
    Language.GO: """
        delete: os.Remove syscall.Unlink
        delete-tree: os.RemoveAll
        write: os.Create os.WriteFile ioutil.WriteFile os.Truncate
        read: os.ReadFile ioutil.ReadFile os.Open
        move: os.Rename
        permit: os.Chmod os.Chown
        run-argv: exec.Command
        send: http.Post http.PostForm
        fetch: http.Get http.Head
        decode: base64.StdEncoding.DecodeString hex.DecodeString
    """,
    Language.R: """
        delete-each: file.remove
        delete: unlink base.unlink fs.file_delete file_delete
        delete-tree: dir_delete fs.dir_delete
        write-second: writeLines write.csv saveRDS write
        read: readLines readRDS read.csv readr.read_file
        copy: file.copy
        move: file.rename
        permit: Sys.chmod
        run-line: system shell
        run-program: system2
        fetch: download.file url
        evaluate: eval
        run-file: source source_url devtools.source_url
    """,
}
_METHODS: Final = {
    Language.PYTHON: """
        delete: unlink rmdir
        delete-tree: rmtree
        write: write_text write_bytes
    """,
    Language.JAVASCRIPT: """
        delete: rmSync unlinkSync rmdirSync
        write: writeFileSync
        run-line: execSync
        run-program: spawnSync execFileSync
    """,
    Language.RUBY: "delete-trees: rm_rf rm_r remove_dir remove_entry",
}
