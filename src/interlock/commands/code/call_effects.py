"""What the calls of a snippet would do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from interlock.commands.code.code_reader import TOO_MANY, calls_in
from interlock.commands.code.code_tokens import Language, with_plain_names
from interlock.commands.code.code_values import Call, CodeArgument
from interlock.commands.code.known_calls import (
    CallKind,
    CodeEffect,
    Known,
    effect,
    is_remote,
    known_calls,
    known_methods,
)
from interlock.commands.shell.words import PART_OF_NAME
from interlock.commands.sql.sql_script import looks_like_sql

_MAX_NESTING: Final = 3
_BY_NAME: Final = frozenset(
    {"call_user_func", "call_user_func_array", "array_map", "send", "public_send", "__send__"}
)
_QUERIES: Final = frozenset("executescript executemany raw run prepare unprepared text do".split())
_QUERY_WORDS: Final = frozenset("execute exec query sql statement".split())
"""Words in the names of what hands a text to a database: `executeSql`, `DB::statement`."""
_BARE_TRUNCATE: Final = r"(?i)\s{0,99}truncate\s{1,99}[^\s-]"
_PRINTERS: Final = frozenset(
    "print pprint pprint.pprint json.dumps console.log console.dir JSON.stringify puts p pp"
    " var_dump print_r var_export sys.stdout.write process.stdout.write Object.entries"
    " str repr http_build_query".split()
)
_ENVIRONMENTS: Final = frozenset(
    "os.environ dict(os.environ) os.environ.copy() os.environ.items() process.env ENV ENV.to_h"
    " ENV.to_a %ENV $_ENV $_SERVER getenv() os.Environ() Sys.getenv()"
    " Object.entries(process.env) {...process.env}".split()
)
_AROUND_A_VALUE: Final = r"^(?:\w+=)?[\\*]*|(?:\.to_s|\.inspect|\.to_json|\.to_yaml)$"
"""The name of an argument, how it is passed, and the text that it becomes."""
_TALKS: Final = (CallKind.SEND, CallKind.FETCH)
_OTHER_WORDS: Final = frozenset(
    "qx require __import__ import_module getattr Reflect environ env ENV _ENV _SERVER getenv"
    " Buffer methodcaller".split()
)
_OWN_NAMES: Final = frozenset(("interlock", "Interlock", "AsyncInterlock"))
_FUNCTION: Final = r"\w+(?:\.\w+)*\.(?!__)\w+"
_REACHING: Final = frozenset(
    "runpy.run_module runpy.run_path getattr setattr vars importlib.reload".split()
)
_NAMING: Final = frozenset(("operator.methodcaller", "operator.attrgetter"))
_READS_A_FILE: Final = ("open.", "Path.read", "io.open.", "fs.readFile", "File.read", "file_get_")
_SOCKETS: Final = frozenset(
    "socket.socket socket.create_connection net.Socket net.connect net.Dial net.createConnection"
    " TCPSocket fsockopen IO.Socket.INET socket.tcp tls.connect".split()
)
_SOCKET_FUNCTIONS: Final = frozenset({"socket", "connect"})
_TIES_DESCRIPTORS: Final = frozenset({"dup2", "Dup2", "fdopen", "reopen"})
_SPAWNS_A_SHELL: Final = "pty.spawn"
_TIED_BY_A_LINE: Final = ("-i", "<&", ">&", "0<&", "0>&", "1>&")
_SHELLS: Final = frozenset("sh bash zsh dash ksh ash cmd cmd.exe powershell".split())

_TYPES: Final = frozenset("communicate write writelines send sendline sendall".split())
"""How code writes to what it has started."""
_TOUCHES: Final = frozenset(
    {CallKind.DELETE, CallKind.MOVE, CallKind.SHELL, CallKind.ARGV, CallKind.EVAL, CallKind.SQL}
)
"""What is not let through with something that nobody looked at."""
_RUNS: Final = frozenset((CallKind.SHELL, CallKind.ARGV))
_ROOTS: Final = frozenset(("Path", "ctypes"))
"""What makes things whose methods count, whichever way they were made."""
_HELD_MODULES: Final = ("os.", "subprocess.", "shutil.")
_RUN_TEXTS: Final = ("cProfile.", "profile.", "pdb.", "timeit.", "code.", "trace.", "bdb.")
"""Modules that run a text as code where they are given one."""

_SHELL_LINE: Final = (
    r"[a-z][\w.-]{0,30} {1,9}--?[A-Za-z][\w-]{0,30}(?: {1,9}[\w./~*-]{1,200}){1,20}"
)
_TAKES_AWAY: Final = (
    r"destroy|purge|drop|terminate|wipe|truncate"
    r"|cancel|revoke|refund|rollback|void|deactivate|suspend"
)
_VERB: Final = (
    rf"[Dd]el|[Rr]emove|[Cc]lear|flush|%x|{_TAKES_AWAY}|[Ee]xec|[Qq]uery|[Ss]ql|SQL|[Ss]tatement"
)


@lru_cache(maxsize=8)
def effects_in(code: str, language: Language) -> list[CodeEffect]:
    """Return what the snippet would do; one that names nothing of interest is not read at all.

    A loop asks about the same snippet in every round.
    """
    code = with_plain_names(code, language)
    if re.fullmatch(_SHELL_LINE, code):
        # Whoever hands `rm -rf /` to Ruby means a shell.
        line = CodeArgument(code.strip(), literal=True)
        return [effect(CallKind.SHELL, Call("", (), 0, code), line)]
    words = re.findall(r"\w+|`", code)
    if _of_interest(language).isdisjoint(words) and not re.search(_VERB, code):
        return []
    return effects_of(calls_in(code, language), language)


def effects_of(calls: Sequence[Call], language: Language) -> list[CodeEffect]:
    """Return what the calls would do; code in code is looked into, a few levels deep."""
    found: list[CodeEffect] = []
    may_be_more = False
    known = known_calls(language)
    methods = known_methods(language)
    for _ in range(_MAX_NESTING):
        inner: dict[str, None] = {}
        may_be_more |= TOO_MANY in calls
        for call in [_direct(call, known) for call in calls]:
            meaning = _meaning(call.callee, known, methods)
            found.extend(_effects(call, meaning))
            found.extend(_passed_on(call, known))
            if meaning is not None and meaning.kind is CallKind.EVAL:
                inner.update(dict.fromkeys(_code_in(call)))
        if any(each.kind is CallKind.LIBRARY for each in found):
            found.extend(_named_for_later(calls))
        if tied := _socket_shell(calls, found):
            found.append(tied)
        found.extend(_typed(calls, found))
        found.extend(_fetched_and_run(calls, known))
        calls = [call for text in inner for call in calls_in(text, language)]
    grave = next((each for each in found if each.kind in _TOUCHES), None)
    if may_be_more and grave is not None:
        found.append(CodeEffect(kind=CallKind.UNSEEN, target="", excerpt=grave.excerpt))
    return found


def _direct(call: Call, known: Mapping[str, Known]) -> Call:
    """Return the call that a call by name makes: `File.send(:unlink, path)`."""
    if call.callee == "operator.methodcaller" and call.arguments:
        ending = f".{call.arguments[0].text}"
        callee = next((path for path in known if path.endswith(ending)), call.callee)
        return Call(callee, call.arguments[1:], call.start, call.text)
    owner, _, last = call.callee.rpartition(".")
    if last in _BY_NAME and call.arguments and call.arguments[0].literal:
        name = call.arguments[0].text
        callee = f"{owner}.{name}" if owner else name
        return Call(callee, call.arguments[1:], call.start, call.text)
    return call


def _meaning(callee: str, known: Mapping[str, Known], methods: Mapping[str, Known]) -> Known | None:
    """Return what is known of a call by its name, its kind of path, or its last name alone."""
    exact = known.get(callee)
    if exact is not None or "." not in callee:
        return exact
    last = callee.rpartition(".")[2]
    root, _, rest = callee.partition(".")
    if rest.startswith(_HELD_MODULES):
        # Modules hold those that they use: `platform.os.system`.
        return known.get(rest)
    if root in _ROOTS and (of_root := known.get(f"{root}.{last}")) is not None:
        return of_root
    return methods.get(last)


def _effects(call: Call, known: Known | None) -> Iterator[CodeEffect]:
    if known is not None:
        yield from known.effects(call, known)
        if known.kind is CallKind.EVAL:
            yield from _evaluated(call)
    elif (used := _own_library(call)) is not None:
        yield effect(CallKind.LIBRARY, call, CodeArgument(used, literal=True))
    elif call.callee == "Buffer.from" and len(call.arguments) > 1:
        yield effect(CallKind.DECODE, call, call.arguments[0])
    elif (query := _query(call)) is not None:
        yield effect(CallKind.SQL, call, query)
    elif deletes_remotely(call):
        yield effect(CallKind.VENDOR_DELETE, call, call.own[0] if call.own else CodeArgument(""))
    if call.callee in _PRINTERS or (known is not None and known.kind in _TALKS):
        yield from _environment_shown(call)


def _own_library(call: Call) -> str | None:
    """Return what the call uses of Interlock's own library, or hands it to: `runpy`, `getattr`."""
    if call.callee.partition(".")[0] in _OWN_NAMES:
        return call.callee
    for argument in call.arguments:
        text = argument.text if argument.literal else argument.path
        if text.partition(".")[0] not in _OWN_NAMES:
            continue
        if call.callee in _REACHING:
            return call.callee
        if not argument.literal and re.fullmatch(_FUNCTION, argument.path) is not None:
            # Whoever is handed a function may call it: `map(il.approve, ids)`.
            return argument.path
    return None


def _named_for_later(calls: Sequence[Call]) -> Iterator[CodeEffect]:
    """Return what code names for something else to call: `operator.methodcaller("approve")`."""
    for call in calls:
        if call.callee in _NAMING and call.arguments and call.arguments[0].literal:
            used = CodeArgument(f"Interlock.{call.arguments[0].text}", literal=True)
            yield effect(CallKind.LIBRARY, call, used)


def _query(call: Call) -> CodeArgument | None:
    """Return the SQL that the call hands to a database."""
    name = call.callee.rpartition(".")[2]
    if name not in _QUERIES and _QUERY_WORDS.isdisjoint(_words_of(name)):
        return None
    for argument in call.arguments:
        text = argument.text if argument.literal else argument.prefix
        if looks_like_sql(text) or re.match(_BARE_TRUNCATE, text):
            return argument
    return None


def _evaluated(call: Call) -> Iterator[CodeEffect]:
    """Return the running of text as code, unless the text stands there, or in a local file."""
    if call.callee.startswith(_RUN_TEXTS):
        # They take functions as well.
        return
    for code in _evaluated_arguments(call):
        written_down = code.literal and not code.path
        reads_a_file = code.path.startswith(_READS_A_FILE) and "://" not in code.text
        if not written_down:
            yield effect(CallKind.LOAD if reads_a_file else CallKind.EVAL, call, code)


def _code_in(call: Call) -> Iterator[str]:
    """Return the code that the call runs, where it is known."""
    for code in _evaluated_arguments(call):
        if code.literal:
            yield code.text


def _evaluated_arguments(call: Call) -> tuple[CodeArgument, ...]:
    if call.callee.startswith(_RUN_TEXTS):
        return call.arguments
    # The body of a function made from texts is the last of them.
    return call.arguments[-1:] if call.callee == "Function" else call.arguments[:1]


def _passed_on(call: Call, known: Mapping[str, Known]) -> Iterator[CodeEffect]:
    """Return what a function does that is handed to another one: `map(os.remove, files)`."""
    for index, argument in enumerate(call.arguments):
        if argument.path in known and not argument.made and not argument.literal:
            others = call.arguments[index + 1 :] + call.arguments[:index]
            passed = Call(argument.path, others, call.start, call.text)
            meaning = known[argument.path]
            yield from meaning.effects(passed, meaning)
            if meaning.kind is CallKind.EVAL:
                yield effect(CallKind.EVAL, passed, CodeArgument(argument.path))
            return


def _environment_shown(call: Call) -> Iterator[CodeEffect]:
    for argument in call.arguments:
        if not argument.literal and re.sub(_AROUND_A_VALUE, "", argument.text) in _ENVIRONMENTS:
            yield effect(CallKind.ENV_DUMP, call, argument)


def _socket_shell(calls: Sequence[Call], effects: Sequence[CodeEffect]) -> CodeEffect | None:
    """Return the tying of a shell to a connection, when the snippet does both."""
    connections = [call for call in calls if _connects(call)]
    if not connections:
        return None
    last_names = {call.callee.rpartition(".")[2] for call in calls}
    tied = not _TIES_DESCRIPTORS.isdisjoint(last_names)
    tied = tied or any(call.callee == _SPAWNS_A_SHELL for call in calls)
    told = any(map(_runs_what_it_is_told, effects))
    if tied or told or any(map(_is_interactive_shell, effects)):
        host = _host(connections)
        return effect(CallKind.SOCKET_SHELL, connections[0], CodeArgument(host, literal=host != ""))
    return None


def _connects(call: Call) -> bool:
    names = (call.callee, call.callee.rpartition(".")[0])
    return call.callee in _SOCKET_FUNCTIONS or not _SOCKETS.isdisjoint(names)


def _runs_what_it_is_told(found: CodeEffect) -> bool:
    """Whether a command is run that neither stands in the code nor in the words behind it."""
    if found.kind not in _RUNS or found.known or found.target.strip():
        return False
    return "argv" not in found.excerpt.lower()


def _is_interactive_shell(found: CodeEffect) -> bool:
    if found.kind not in _RUNS:
        return False
    words = found.target.split()
    program = words[0].rpartition("/")[2] if words else ""
    return program in _SHELLS and (len(words) == 1 or words[1].startswith(_TIED_BY_A_LINE))


def _typed(calls: Sequence[Call], effects: Sequence[CodeEffect]) -> Iterator[CodeEffect]:
    """Return what is written to a shell that was started without code of its own."""
    if not any(map(_waits_for_code, effects)):
        return
    for call in calls:
        typed = call.callee.rpartition(".")[2] in _TYPES
        for argument in call.arguments:
            given = argument.name == "input" or (typed and argument in call.own)
            if given and (argument.literal or argument.prefix):
                yield effect(CallKind.SHELL, call, argument)


def _fetched_and_run(calls: Sequence[Call], known: Mapping[str, Known]) -> Iterator[CodeEffect]:
    """Return what is run as another machine answers: `os.system(requests.get(url).text)`."""
    kinds = [(call, known[call.callee].kind) for call in calls if call.callee in known]
    fetches = [
        call
        for call, kind in kinds
        if kind is CallKind.FETCH or (kind is CallKind.READ and any(map(is_remote, call.own)))
    ]
    for call in [call for call, kind in kinds if fetches and kind in _RUNS]:
        for line in call.own[:1]:
            is_open = not (line.literal or line.prefix or line.items)
            if is_open and any(_comes_from(each, line, call) for each in fetches):
                yield effect(CallKind.EVAL, call, line)


def _comes_from(fetch: Call, line: CodeArgument, call: Call) -> bool:
    """Whether a line is what a call has fetched, or is run by what it hands the answer to."""
    is_answer = f"{line.path}.".startswith(f"{fetch.callee}.")
    return is_answer or fetch.start < call.start < fetch.start + len(fetch.text)


def _waits_for_code(found: CodeEffect) -> bool:
    if found.kind not in _RUNS:
        return False
    words = found.target.split()
    named = any(word.rpartition("/")[2] in _SHELLS for word in words)
    return named and not any(re.fullmatch(r"-[A-Za-z]{0,9}c[A-Za-z]{0,9}", word) for word in words)


def _host(connections: Sequence[Call]) -> str:
    """Return where the connection goes, when that is written down."""
    for call in connections:
        for argument in call.arguments:
            for part in argument.items or ((argument.text,) if argument.literal else ()):
                if part is not None and "." in part:
                    return part
    return ""


@cache
def _of_interest(language: Language) -> frozenset[str]:
    """Return every word without which no call is known."""
    tables = (known_calls(language), known_methods(language))
    parts = [part for table in tables for name in table for part in name.split(".")]
    return _BY_NAME | _QUERIES | _QUERY_WORDS | _OTHER_WORDS | _OWN_NAMES | frozenset(parts)


_CLIENT_WORDS: Final = frozenset(
    "client gateway api sdk boto3 stripe braintree algolia algoliasearch twilio sendgrid mailgun"
    " firebase firestore supabase prisma octokit shopify cloudflare heroku pinecone qdrant weaviate"
    " elasticsearch opensearch meilisearch typesense dynamodb s3 ec2 rds iam sqs sns route53"
    " cloudformation k8s kubernetes paypal square adyen mollie chargebee recurly auth0 okta"
    " launchdarkly datadog pagerduty sentry zendesk intercom hubspot salesforce mailchimp"
    " contentful sanity airtable notion linear jira digitalocean linode vultr hcloud azure gcp"
    " bigquery pubsub kafka rabbitmq consul vault fastly netlify vercel plaid".split()
)
_LOCAL_CLIENTS: Final = frozenset({"test_client", "testclient", "queryclient", "apolloclient"})
_REMOTE_THINGS: Final = frozenset(
    "dropdatabase dropcollection deleteindex clearobjects clearindex deletebucket deletetable"
    " terminateinstances deletedbinstance deletecluster deletestack deletehostedzone"
    " deleterepository deleteproject deleteorganization deletenamespace destroyall deleteall"
    " flushall flushdb deleteobjects deletequeue deletetopic deletevolume deletesnapshot"
    " deletesecret deletekeyspace purgequeue purgeeverything deletedatabase dropall".split()
)
_WITHOUT_FILTER: Final = frozenset({"deletemany", "removemany"})
_WHOLE_TABLES: Final = (
    r".*\.(?:objects\.all|query|table)\.(?:delete|truncate)|(?:.*\.)?[A-Z]\w*\.truncate"
    r"|wp_delete_\w+|entity_delete_multiple"
)
_EACH_OF_A_TABLE: Final = (
    r"(?:.*\.)?[A-Z]\w*(?:\.\w+)*\.(?:each|find_each|map|forEach|all|findAll)\.(?:destroy|delete)!?"
)
_NOTHING_CHOSEN: Final = r"(?:.*\.)?(?:knex|db|trx|sequelize)\.(?:del|delete|truncate|drop)"
_EACH_TAKEN_AWAY: Final = r"&:(?:destroy|delete|unlink)\b"
_EMPTY_FILTER: Final = r"(?:\.|::|->)(?:filter|where)\(\)(?:\.|->)delete\("
_LOCAL_ROOTS: Final = frozenset(
    "self this window document localstorage sessionstorage indexeddb caches cookies headers params"
    " searchparams formdata map set list dict cache store registry array tree node el element"
    " df pd np json console math object".split()
)

_DESTRUCTIVE: Final = rf"(?:delete|del|remove|{_TAKES_AWAY})(?![a-z])"
_NAME: Final = r"[^\W\d]\w{0,80}"
_CALL: Final = rf"(?:await\s{{1,9}})?\$?{_NAME}(?:(?:\.|::|->){_NAME}){{1,9}}\("


def deletes_remotely(call: Call) -> bool:
    """Whether the call asks a service to delete, destroy, purge or drop something it holds."""
    *receiver, verb = call.callee.split(".")
    if receiver and receiver[0].lower() in _LOCAL_ROOTS:
        return False
    whole = f"{_WHOLE_TABLES}|{_EACH_OF_A_TABLE}"
    if re.fullmatch(whole, call.callee) or re.search(_EMPTY_FILTER, call.text):
        return True
    if re.fullmatch(_NOTHING_CHOSEN, call.callee) and not call.own:
        return True
    if any(re.match(_EACH_TAKEN_AWAY, argument.text) for argument in call.own):
        return True
    if not receiver:
        return False
    spelt = verb.replace("_", "").lower()
    if spelt in _REMOTE_THINGS or (spelt in _WITHOUT_FILTER and _has_no_filter(call)):
        return True
    if not re.match(_DESTRUCTIVE, verb) or not _looks_like_client(receiver):
        return False
    # `deleteUser` says what it deletes, `delete` does not.
    return len(receiver) > 1 or len(_words_of(verb)) > 1


def _has_no_filter(call: Call) -> bool:
    return not call.own or call.own[0].text.replace(" ", "") in {"{}", "{where:{}}"}


def _looks_like_client(receiver: list[str]) -> bool:
    for part in receiver:
        if part.replace("_", "").lower() in _LOCAL_CLIENTS or part in _LOCAL_CLIENTS:
            return False
    return any(_last_word(part) in _CLIENT_WORDS for part in receiver)


def _last_word(name: str) -> str:
    """Return the last word of a name: `client` of `s3_client` and `S3Client`."""
    return next(reversed(_words_of(name)), "")


def _words_of(name: str) -> list[str]:
    """Return the words that a name is made of, in lower case."""
    return [word.lower() for word in re.findall(PART_OF_NAME, name)]


def looks_like_code(line: str) -> bool:
    """Whether the line is one method call: `gateway.customer.delete("c1")`."""
    bare = line.strip().removesuffix(";").rstrip()
    return bare.endswith(")") and "\n" not in bare and re.match(_CALL, bare) is not None
