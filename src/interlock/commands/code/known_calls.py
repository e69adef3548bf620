"""What a call can do, and which calls of each language are known to do it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec

from interlock.commands.code.code_tokens import Language


class CodeEffectKind(enum.Enum):
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
    DECODE = "decode"
    SOCKET_SHELL = "socket-shell"
    """Ties a shell to a connection."""
    ENV_DUMP = "env-dump"
    """Prints or sends the whole environment."""
    KILL = "kill"
    SQL = "sql"
    """Hands a text of SQL to a database; the target is the text."""
    VENDOR_DELETE = "vendor-delete"
    """Deletes something that a remote service holds."""


class CodeEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a call does to one target."""

    kind: CodeEffectKind
    target: str
    """What is meant; where it is not known, how it begins."""
    known: bool = True
    recursive: bool = False
    decoded: bool = False
    """Whether the target came out of a decoder."""
    argv: tuple[str | None, ...] = ()
    """The words of a program that is run; None for one that only the run decides."""
    excerpt: str


class Shape(enum.Enum):
    """How the arguments of a call tell what it works on."""

    ONE = "one"
    """One argument is the target."""
    EACH = "each"
    """Every argument is a target."""
    MODE = "mode"
    """A path, and behind it how it is opened."""
    HANDLE = "handle"
    """The same behind a file handle, as Perl does it."""
    TO = "to"
    """From the first argument to the second."""
    MOVE = "move"
    LINE = "line"
    """A line for a shell, or a list of words for a program."""
    WORDS = "words"
    """Every argument is a word of a program; a single one is a line."""
    PROGRAM = "program"
    """A program, then the list of its arguments."""
    REQUEST = "request"
    """An address; whether data goes there depends on the other arguments."""
    CODE = "code"


class Known(msgspec.Struct, frozen=True):
    """What a call does, and to which argument, counted from the receiver where there is one."""

    kind: CodeEffectKind
    shape: Shape = Shape.ONE
    argument: int = 0
    recursive: bool = False


@cache
def known_calls(language: Language) -> Mapping[str, Known]:
    """Return the calls of the language by their dotted names."""
    rows = _BY_LANGUAGE[language]
    return {name: known for known, names in rows for name in names.split()}


@cache
def known_methods(language: Language) -> Mapping[str, Known]:
    """Return the calls whose last name alone says what they do, whoever they are asked of."""
    rows = _METHODS.get(language, ())
    return {name: known for known, names in rows for name in names.split()}


_Rows = tuple[tuple[Known, str], ...]

_DELETE: Final = Known(CodeEffectKind.DELETE)
_DELETE_EACH: Final = Known(CodeEffectKind.DELETE, Shape.EACH)
_DELETE_TREE: Final = Known(CodeEffectKind.DELETE, recursive=True)
_DELETE_TREES: Final = Known(CodeEffectKind.DELETE, Shape.EACH, recursive=True)
_WRITE: Final = Known(CodeEffectKind.OVERWRITE)
_WRITE_SECOND: Final = Known(CodeEffectKind.OVERWRITE, argument=1)
_APPEND: Final = Known(CodeEffectKind.APPEND)
_READ: Final = Known(CodeEffectKind.READ)
_OPEN: Final = Known(CodeEffectKind.READ, Shape.MODE)
_COPY: Final = Known(CodeEffectKind.OVERWRITE, Shape.TO)
_COPY_TREE: Final = Known(CodeEffectKind.OVERWRITE, Shape.TO, recursive=True)
_MOVE: Final = Known(CodeEffectKind.OVERWRITE, Shape.MOVE)
_PERMIT: Final = Known(CodeEffectKind.PERMIT)
_PERMIT_SECOND: Final = Known(CodeEffectKind.PERMIT, argument=1)
_LINE: Final = Known(CodeEffectKind.SHELL, Shape.LINE)
_WORDS: Final = Known(CodeEffectKind.SHELL, Shape.WORDS)
_PROGRAM: Final = Known(CodeEffectKind.ARGV, Shape.PROGRAM)
_SEND: Final = Known(CodeEffectKind.SEND)
_FETCH: Final = Known(CodeEffectKind.FETCH)
_REQUEST: Final = Known(CodeEffectKind.FETCH, Shape.REQUEST)
_CODE: Final = Known(CodeEffectKind.EVAL, Shape.CODE)
_DECODE: Final = Known(CodeEffectKind.DECODE)
_KILL: Final = Known(CodeEffectKind.KILL)
_REMOTE_DELETE: Final = Known(CodeEffectKind.VENDOR_DELETE, Shape.REQUEST)

_PYTHON: Final[_Rows] = (
    (_DELETE, "os.remove os.unlink os.rmdir Path.unlink Path.rmdir"),
    (_DELETE_TREE, "shutil.rmtree os.removedirs"),
    (_WRITE, "Path.write_text Path.write_bytes os.truncate"),
    (_WRITE_SECOND, "os.symlink os.link urllib.request.urlretrieve"),
    (_READ, "Path.read_text Path.read_bytes linecache.getlines"),
    (_OPEN, "open io.open codecs.open Path.open gzip.open os.open"),
    (_COPY, "shutil.copy shutil.copy2 shutil.copyfile"),
    (_COPY_TREE, "shutil.copytree"),
    (_MOVE, "shutil.move os.rename os.renames os.replace Path.rename Path.replace"),
    (_PERMIT, "os.chmod os.chown os.lchown os.lchmod Path.chmod shutil.chown"),
    (
        _LINE,
        "os.system os.popen subprocess.run subprocess.call subprocess.Popen subprocess.check_call"
        " subprocess.check_output subprocess.getoutput subprocess.getstatusoutput pty.spawn"
        " commands.getoutput asyncio.create_subprocess_shell pexpect.spawn pexpect.run"
        " invoke.run fabric.run sh.bash",
    ),
    (_WORDS, "asyncio.create_subprocess_exec"),
    (
        _PROGRAM,
        "os.execv os.execve os.execvp os.execvpe os.spawnv os.posix_spawn os.execl os.execlp",
    ),
    (
        _SEND,
        "requests.post requests.put requests.patch httpx.post httpx.put httpx.patch"
        " requests.Session.post requests.Session.put requests.Session.patch httpx.Client.post"
        " socket.socket.sendall socket.socket.send socket.socket.sendto smtplib.SMTP.sendmail"
        " smtplib.SMTP.send_message smtplib.SMTP_SSL.sendmail ftplib.FTP.storbinary"
        " aiohttp.ClientSession.post aiohttp.ClientSession.put",
    ),
    (
        _FETCH,
        "requests.get requests.head httpx.get requests.Session.get httpx.Client.get wget.download"
        " urllib.request.urlretrieve aiohttp.ClientSession.get",
    ),
    (
        _REQUEST,
        "urllib.request.urlopen urllib.request.Request requests.request httpx.request"
        " http.client.HTTPConnection.request http.client.HTTPSConnection.request",
    ),
    (_CODE, "exec eval"),
    (
        _DECODE,
        "base64.b64decode base64.urlsafe_b64decode base64.standard_b64decode base64.b32decode"
        " base64.b16decode base64.b85decode base64.a85decode base64.decodebytes"
        " binascii.a2b_base64 binascii.unhexlify bytes.fromhex zlib.decompress gzip.decompress"
        " bz2.decompress lzma.decompress codecs.decode marshal.loads",
    ),
    (_KILL, "os.kill os.killpg"),
    (_REMOTE_DELETE, "requests.delete httpx.delete requests.Session.delete"),
)
_JAVASCRIPT: Final[_Rows] = (
    (
        _DELETE,
        "fs.rm fs.rmSync fs.promises.rm fs.unlink fs.unlinkSync fs.promises.unlink fs.rmdir"
        " fs.rmdirSync fs.promises.rmdir Deno.remove Deno.removeSync Bun.file.delete",
    ),
    (
        _DELETE_TREES,
        "rimraf rimraf.sync rimraf.rimraf rimraf.rimrafSync del del.sync del.deleteAsync"
        " del.deleteSync fs.remove fs.removeSync fs.emptyDir fs.emptyDirSync fse.remove"
        " fse.removeSync fse.emptyDir fse.emptyDirSync shelljs.rm shell.rm",
    ),
    (
        _WRITE,
        "fs.writeFile fs.writeFileSync fs.promises.writeFile fs.createWriteStream fs.truncate"
        " fs.truncateSync fs.promises.truncate fs.outputFile fs.outputFileSync fs.writeJson"
        " fs.writeJsonSync Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Bun.write",
    ),
    (_WRITE_SECOND, "fs.symlink fs.symlinkSync fs.link fs.linkSync"),
    (_APPEND, "fs.appendFile fs.appendFileSync fs.promises.appendFile"),
    (
        _READ,
        "fs.readFile fs.readFileSync fs.promises.readFile fs.createReadStream fs.readJson"
        " fs.readJsonSync Deno.readTextFile Deno.readTextFileSync Deno.readFile",
    ),
    (_OPEN, "fs.open fs.openSync fs.promises.open Deno.open"),
    (_COPY, "fs.copyFile fs.copyFileSync fs.promises.copyFile"),
    (_COPY_TREE, "fs.cp fs.cpSync fs.promises.cp fs.copy fs.copySync fse.copy fse.copySync"),
    (_MOVE, "fs.rename fs.renameSync fs.promises.rename fs.move fs.moveSync Deno.rename"),
    (
        _PERMIT,
        "fs.chmod fs.chmodSync fs.promises.chmod fs.chown fs.chownSync fs.promises.chown"
        " Deno.chmod",
    ),
    (_LINE, "child_process.exec child_process.execSync shelljs.exec shell.exec execa.command"),
    (
        _PROGRAM,
        "child_process.spawn child_process.spawnSync child_process.execFile"
        " child_process.execFileSync child_process.fork execa execa.execa execa.sync",
    ),
    (_LINE, "Bun.spawn Bun.spawnSync $ Bun.$"),
    (
        _SEND,
        "axios.post axios.put axios.patch got.post got.put superagent.post navigator.sendBeacon",
    ),
    (_FETCH, "axios.get got got.get superagent.get http.get https.get"),
    (_REQUEST, "fetch http.request https.request axios axios.request node-fetch undici.request"),
    (
        _CODE,
        "eval Function vm.runInNewContext vm.runInThisContext vm.runInContext vm.Script"
        " vm.compileFunction",
    ),
    (_DECODE, "atob zlib.gunzipSync zlib.inflateSync zlib.unzipSync zlib.brotliDecompressSync"),
    (_KILL, "process.kill"),
    (_REMOTE_DELETE, "axios.delete got.delete superagent.delete"),
)
_RUBY: Final[_Rows] = (
    (
        _DELETE_EACH,
        "File.delete File.unlink Dir.rmdir Dir.delete Dir.unlink FileUtils.rm FileUtils.rm_f"
        " FileUtils.safe_unlink FileUtils.rmdir Pathname.delete Pathname.unlink",
    ),
    (
        _DELETE_TREES,
        "FileUtils.rm_r FileUtils.rm_rf FileUtils.remove_dir FileUtils.remove_entry"
        " FileUtils.remove_entry_secure FileUtils.rmtree Pathname.rmtree rm_rf rm_r",
    ),
    (_WRITE, "File.write IO.write File.binwrite File.truncate Pathname.write"),
    (
        _READ,
        "File.read IO.read File.readlines File.binread File.foreach IO.readlines Pathname.read",
    ),
    (_OPEN, "File.open File.new open IO.open"),
    (_COPY, "FileUtils.cp FileUtils.copy FileUtils.copy_file FileUtils.install"),
    (_COPY_TREE, "FileUtils.cp_r"),
    (_MOVE, "FileUtils.mv FileUtils.move File.rename"),
    (_WRITE_SECOND, "FileUtils.ln FileUtils.ln_s FileUtils.ln_sf File.symlink File.link"),
    (
        _PERMIT_SECOND,
        "FileUtils.chmod FileUtils.chmod_R File.chmod",
    ),
    (Known(CodeEffectKind.PERMIT, argument=2), "FileUtils.chown FileUtils.chown_R File.chown"),
    (
        _WORDS,
        "system exec spawn ` Process.spawn Process.exec Open3.capture2 Open3.capture2e"
        " Open3.capture3 Open3.popen2 Open3.popen2e Open3.popen3",
    ),
    (_LINE, "IO.popen PTY.spawn"),
    (_SEND, "Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post RestClient.post"),
    (_FETCH, "Net.HTTP.get Net.HTTP.get_response URI.open HTTParty.get Faraday.get RestClient.get"),
    (_CODE, "eval instance_eval class_eval module_eval binding.eval TOPLEVEL_BINDING.eval"),
    (_DECODE, "Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64 Zlib.inflate"),
    (Known(CodeEffectKind.KILL, argument=1), "Process.kill"),
    (_REMOTE_DELETE, "HTTParty.delete Faraday.delete RestClient.delete"),
)
_PERL: Final[_Rows] = (
    (_DELETE_EACH, "unlink rmdir"),
    (
        _DELETE_TREES,
        "rmtree remove_tree File.Path.rmtree File.Path.remove_tree",
    ),
    (_WRITE, "truncate write_file"),
    (_READ, "read_file slurp"),
    (Known(CodeEffectKind.READ, Shape.HANDLE), "open sysopen"),
    (_COPY, "copy cp File.Copy.copy File.Copy.cp"),
    (_MOVE, "move mv rename File.Copy.move File.Copy.mv"),
    (_WRITE_SECOND, "symlink link"),
    (_PERMIT_SECOND, "chmod"),
    (Known(CodeEffectKind.PERMIT, argument=2), "chown"),
    (_WORDS, "system exec ` open3 IPC.Open3.open3 open2"),
    (_FETCH, "LWP.Simple.get getstore mirror"),
    (_CODE, "eval"),
    (_DECODE, "decode_base64 MIME.Base64.decode_base64 uncompress inflate"),
    (Known(CodeEffectKind.KILL, argument=1), "kill"),
)
_PHP: Final[_Rows] = (
    (_DELETE, "unlink rmdir"),
    (_DELETE_TREE, "File.deleteDirectory Storage.deleteDirectory"),
    (_WRITE, "file_put_contents ftruncate touch"),
    (_READ, "file_get_contents file readfile parse_ini_file"),
    (_OPEN, "fopen"),
    (_COPY, "copy"),
    (_MOVE, "rename move_uploaded_file"),
    (_WRITE_SECOND, "symlink link"),
    (_PERMIT, "chmod chown chgrp"),
    (_LINE, "system exec shell_exec passthru popen proc_open ` pcntl_exec"),
    (_SEND, "mail"),
    (_CODE, "eval assert create_function"),
    (_DECODE, "base64_decode hex2bin gzinflate gzuncompress gzdecode str_rot13 convert_uudecode"),
    (_KILL, "posix_kill"),
)
_LUA: Final[_Rows] = (
    (_DELETE, "os.remove lfs.rmdir"),
    (_MOVE, "os.rename"),
    (_OPEN, "io.open"),
    (_READ, "io.lines"),
    (_WRITE, "io.output"),
    (_LINE, "os.execute io.popen"),
    (_CODE, "load loadstring"),
    (_FETCH, "http.request socket.http.request"),
)
_GO: Final[_Rows] = (
    (_DELETE, "os.Remove syscall.Unlink"),
    (_DELETE_TREE, "os.RemoveAll"),
    (_WRITE, "os.Create os.WriteFile ioutil.WriteFile os.Truncate"),
    (_READ, "os.ReadFile ioutil.ReadFile os.Open"),
    (_MOVE, "os.Rename"),
    (_PERMIT, "os.Chmod os.Chown"),
    (Known(CodeEffectKind.ARGV, Shape.WORDS), "exec.Command"),
    (_SEND, "http.Post http.PostForm"),
    (_FETCH, "http.Get http.Head"),
    (_DECODE, "base64.StdEncoding.DecodeString hex.DecodeString"),
)
_R: Final[_Rows] = (
    (_DELETE_EACH, "file.remove"),
    (_DELETE, "unlink base.unlink fs.file_delete file_delete"),
    (_DELETE_TREE, "dir_delete fs.dir_delete"),
    (_WRITE_SECOND, "writeLines write.csv saveRDS write"),
    (_READ, "readLines readRDS read.csv readr.read_file"),
    (_COPY, "file.copy"),
    (_MOVE, "file.rename"),
    (_PERMIT, "Sys.chmod"),
    (_LINE, "system shell"),
    (_PROGRAM, "system2"),
    (_FETCH, "download.file url"),
    (_CODE, "eval"),
)
_BY_LANGUAGE: Final[Mapping[Language, _Rows]] = {
    Language.PYTHON: _PYTHON,
    Language.JAVASCRIPT: _JAVASCRIPT,
    Language.RUBY: _RUBY,
    Language.PERL: _PERL,
    Language.PHP: _PHP,
    Language.LUA: _LUA,
    Language.GO: _GO,
    Language.R: _R,
}
_METHODS: Final[Mapping[Language, _Rows]] = {
    Language.PYTHON: (
        (_DELETE, "unlink rmdir"),
        (_DELETE_TREE, "rmtree"),
        (_WRITE, "write_text write_bytes"),
    ),
    Language.JAVASCRIPT: (
        (_DELETE, "rmSync unlinkSync rmdirSync"),
        (_WRITE, "writeFileSync"),
        (_LINE, "execSync"),
        (_PROGRAM, "spawnSync execFileSync"),
    ),
    Language.RUBY: ((_DELETE_TREES, "rm_rf rm_r remove_dir remove_entry"),),
    Language.PERL: (),
}
