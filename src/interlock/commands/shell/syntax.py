"""Command text → syntax tree, and what to do when it is not quite one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_CLOSERS: Final = (
    (b"'", b"'"),
    (b'"', b'"'),
    (b"`", b"`"),
    (b")", b"("),
    (b"}", b""),
    (b"))", b"("),
    (b"\nEOF", b"<<"),
    (b"; }", b"{"),
    (b"; fi", b"if"),
    (b"; done", b"do"),
    (b"; esac", b"case"),
)
"""What may close a line that is cut off, and what must stand in it to be closed that way.

A `}` is also taken for a word where one is missing.
"""
WORD_KINDS: Final = frozenset(
    (
        "word number string raw_string ansi_c_string translated_string concatenation expansion"
        " simple_expansion command_substitution arithmetic_expansion process_substitution"
        " variable_name special_variable_name test_operator extglob_pattern regex brace_expression"
    ).split()
)
"""What the grammar calls words; what it could not read is none of them."""
_BEFORE_A_CUT: Final = WORD_KINDS | {"command_name"}
_LETTERS_FOR_THE_REST: Final = bytes(range(128)) + b"x" * 128
_SHORT: Final = 1024
_MAX_REPAIR: Final = 2048
"""How many bytes are parsed again to find out what closes a line."""
_MAX_BOTH_WAYS: Final = 8
_QUOTED_PARTS: Final = (
    r"(?s)\$'(?P<inside>(?:[^'\\]++|\\.)*+)'|'[^']*+'|\"(?:[^\"\\]++|\\.)*+\"|\\."
)
_WHERE_ONE_BEGINS: Final = r"(?:^|[;&|(){}]|\b(?:do|then|else)\b)[ \t]*+"
"""What stands in front of a statement."""
_BEFORE_A_GROUP: Final = (
    rf"(?m)({_WHERE_ONE_BEGINS})"
    r"(time[ \t]++(?:-p[ \t]++)?(?=[({!]|(?:for|while|until|if|case|select)\b)"
    r"|coproc[ \t]++(?:\w++[ \t]++)?(?=\()|![ \t]++(?=\{\s))"
)
_COPROCESS: Final = (
    rf"(?m)({_WHERE_ONE_BEGINS}coproc[ \t]++(?:\w++[ \t]++)?\{{)"
    r"(\s{1,9})([^{}]{0,400}?)([;\s]{0,9}\})"
)
_DASH_BEFORE_BODY: Final = r"(?<=[ \t])-(?=[ \t]{1,9}<<(?!<))"
_STANDARD_INPUT: Final = (
    rf"{_QUOTED_PARTS}|(?<![^\s;&|(])(?P<number>0)(?=<(?:[&>]|[ \t]{{0,9}}(?:/|<\()))"
)
_ODD_DASHES: Final = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-")
)
_ODD_SPACES: Final = str.maketrans(
    dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2007\u202f\u3000\0", " ")
)


class Tree:
    """A parsed command line: its root, its bytes, and whether all of it was understood."""

    __slots__ = ("_ascii", "bodies", "broken", "root", "source")

    def __init__(self, source: bytes, root: Node, *, broken: bool) -> None:
        self.source = source
        self.root = root
        self.broken = broken
        self.bodies: dict[str, str] = {}
        """Here-documents that were set aside, by what stands in their place."""
        # Where bytes are characters, slicing a string spares decoding every word by itself.
        self._ascii = source.decode() if source.isascii() else None

    def text(self, node: Node) -> str:
        """Return the source text of a node."""
        if self._ascii is not None:
            return self._ascii[node.start_byte : node.end_byte]
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """Return the source text between two bytes."""
        return self.source[start:end].decode("utf-8", "replace")


def parse(command: str) -> Tree:
    """Parse a command line; a line that is cut off is closed the likeliest way."""
    if len(command) > _SHORT and "<<" in command:
        skeleton = skeleton_of(command)
        if skeleton.bodies:
            tree = _parsed(skeleton.text)
            tree.bodies = skeleton.bodies
            if _bodies_stand_where_they_should(tree):
                return tree
    return _parsed(command)


def parsed_length(command: str) -> int:
    """Return how much of a line the parser has to read at the most."""
    return len(skeleton_of(command).text) if "<<" in command else len(command)


def _bodies_stand_where_they_should(tree: Tree) -> bool:
    """Whether every stand-in is the body of a here-document, and nothing that would run."""
    pending = [tree.root]
    seen = 0
    while pending:
        node = pending.pop()
        if node.type == "heredoc_body":
            seen += tree.text(node) in tree.bodies
        else:
            pending.extend(node.named_children)
    return seen == len(tree.bodies)


def _root_of(source: bytes) -> Node:
    """Parse bytes with every character beyond ASCII made a letter, byte for byte.

    The grammar's scanner looks characters up in a table of 256; what lies behind its end may
    end the process. A letter they are in any case.
    """
    return _parser().parse(source.translate(_LETTERS_FOR_THE_REST)).root_node


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - heavy, and plain lines need no grammar
    from tree_sitter import Language, Parser  # noqa: PLC0415 - the same

    return Parser(Language(tree_sitter_bash.language()))


def _parsed(command: str) -> Tree:
    source = _plain(command).encode("utf-8", "replace")
    root = _root_of(source)
    if root.has_error and 0 < source.count(b"<>") <= _MAX_BOTH_WAYS:
        # The grammar does not know `<>`, which opens for writing too.
        source = source.replace(b"<>", b">|")
        root = _root_of(source)
    if root.has_error and b"${" in source:
        # The grammar does not know every form, `${a[b[0]]}` for one; whoever expands words does.
        masked = _root_of(re.sub(_EXPANSION, _masked, source))
        root = root if masked.has_error else masked
    if root.has_error and b"$((" in source:
        # `$((a); b)` is no arithmetic; the grammar takes it for that.
        apart = source.replace(b"$((", b"$( (")
        opened = _root_of(apart)
        source, root = (source, root) if opened.has_error else (apart, opened)
    if not root.has_error:
        return Tree(source, root, broken=False)
    return _repaired(source) or Tree(source, root, broken=True)


def _masked(found: re.Match[bytes]) -> bytes:
    """Put a plain name of the same length into the braces."""
    return b"${" + b"x" * len(found[1]) + b"}"


def _plain(command: str) -> str:
    """Replace look-alikes of blanks and dashes: they are there to be mistaken for them."""
    if "\\\n" in command:
        command = _with_joined_lines(command)
    if "\n\\" in command:
        # The grammar takes the end of a line for a blank where a backslash begins the next one.
        command = re.sub(r"\n(?=\\\w)", "\n ", command)
    if "- <<" in command:
        # The grammar loses a lone dash in front of a here-document.
        command = re.sub(_DASH_BEFORE_BODY, r"\\-", command)
    if "time" in command or "coproc" in command or "! {" in command:
        command = re.sub(_BEFORE_A_GROUP, _blanked, command)
    if "coproc" in command:
        command = re.sub(_COPROCESS, _unclosed, command)
    if "0<" in command:
        command = re.sub(_STANDARD_INPUT, _without_number, command)
    if "$'" in command and "\\\\" in command:
        command = re.sub(_QUOTED_PARTS, _without_doubled_backslash, command)
    if command.isascii() and "\0" not in command:
        return command
    return command.translate(_ODD_SPACES)


def _blanked(found: re.Match[str]) -> str:
    """Leave a keyword out in front of a group, where the grammar takes it for a program."""
    return found[1] + " " * len(found[2])


def _unclosed(found: re.Match[str]) -> str:
    """Leave out the end of a coprocess, which the grammar takes for that of the group around it."""
    return found[1] + " " * len(found[2]) + found[3] + " " * len(found[4])


def _without_number(found: re.Match[str]) -> str:
    """`0<` is `<`; the grammar takes the number for a word."""
    return found[0] if found["number"] is None else " "


def _without_doubled_backslash(found: re.Match[str]) -> str:
    r"""Write `$'a\\'` another way: the grammar takes the second backslash for an escape."""
    inside = found["inside"]
    return found[0] if inside is None else "$'" + inside.replace("\\\\", "\\x5c") + "'"


def _with_joined_lines(command: str) -> str:
    r"""Join a word that a backslash at the end of a line cuts in two: `r\` and `m` are `rm`."""
    first, *others = command.split("\\\n")
    joined = [first]
    for part in others:
        last_line = joined[-1].rpartition("\n")[2]
        # Behind a `#` the rest of the line may be a comment, which a backslash does not carry on.
        inside_word = last_line[-1:].strip() and part[:1].strip() and "#" not in last_line
        inside_word = inside_word and last_line[-1:] != "\\"
        joined += ["" if inside_word else "\\\n", part]
    return "".join(joined)


def plain_flag(word: str) -> str:
    """Return a flag with look-alike dashes made plain."""
    return word if word.isascii() else word.translate(_ODD_DASHES)


def _repaired(source: bytes) -> Tree | None:
    """Close what was left open, if one closing makes the whole line readable."""
    likely = [closer for closer, opener in _CLOSERS if opener in source or source.endswith(b"\\")]
    for closer in likely[: _MAX_REPAIR // len(source)]:
        closed = source + closer
        root = _root_of(closed)
        if not root.has_error:
            return Tree(closed, root, broken=True)
    return None


_EXPANSION: Final = rb"(?<!\\)\$\{([^\s'\"`\\{}();&|<>]+)\}"
_SHORTEST: Final = 256
_OPENING: Final = (
    r"<<-?[ \t]{0,4}"
    r"(?:'(?P<single>\w{1,64})'|\"(?P<double>\w{1,64})\"|\\(?P<escaped>\w{1,64}))"
)


class Skeleton(NamedTuple):
    """A line without its long quoted here-documents."""

    text: str
    bodies: dict[str, str]
    """What stands in the place of each body, to the body itself."""


def skeleton_of(line: str) -> Skeleton:
    """Set aside every long body whose delimiter is quoted: no shell looks into those.

    The reader of the tree has to check that each stand-in really is a body there; only the
    grammar knows what is quoted.
    """
    bodies: dict[str, str] = {}
    parts: list[str] = []
    position = 0
    for found in re.finditer(_OPENING, line):
        if found.start() < position:
            continue
        start = line.find("\n", found.end()) + 1
        end = _end_of_body(line, start, found["single"] or found["double"] or found["escaped"])
        if not start or end - start < _SHORTEST:
            continue
        name = f"interlock-body-{len(bodies)}\n"
        bodies[name] = line[start:end]
        parts += [line[position:start], name]
        position = end
    parts.append(line[position:])
    return Skeleton("".join(parts), bodies)


def _end_of_body(line: str, start: int, delimiter: str) -> int:
    """Return where the delimiter's own line begins; before `start` if it never comes."""
    position = start
    while 0 < position <= len(line):
        stop = line.find("\n", position)
        if line[position : stop if stop >= 0 else None].lstrip("\t") == delimiter:
            return position
        position = stop + 1
    return 0


def unfolded(node: Node) -> tuple[list[Node], Node, list[Node]]:
    """Return what runs before, the statement itself, and the redirections around it."""
    body: Node | None = node
    redirects: list[Node] = []
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
    if body is None:
        return [], node, redirects
    *before, body = parts_of_list(body)
    while redirects and body.type == "negated_command":
        # In `! rm > log -rf x` the words behind the redirection are the command's.
        body = body.named_children[0]
    return before, body, redirects


def parts_of_list(node: Node) -> list[Node]:
    """Return the parts of `a && b || c`, which nests to the left and can be very long."""
    parts: list[Node] = []
    current = node
    while current.type == "list":
        children = current.children
        parts.extend(child for child in reversed(children[1:]) if child.is_named)
        current = children[0]
    parts.append(current)
    return parts[::-1]


def part(node: Node, name: str) -> Node:
    """Return a field that the grammar always fills.

    Were it ever empty, this raises, and the gate that asked denies.
    """
    (found,) = node.children_by_field_name(name)
    return found


def with_ends(tree: Tree, children: Sequence[Node]) -> Iterator[tuple[Node, Node | None]]:
    """Yield nodes, each with the last one of its word if the grammar cut one into several.

    It does so with `a$IFS-b$IFS/`, where there is no blank.
    """
    first, *others = children
    last: Node | None = None
    for child in others:
        end = last or first
        if (
            child.start_byte == end.end_byte
            and child.type in WORD_KINDS
            and end.type in _BEFORE_A_CUT
            and tree.text(child)[:1].strip()
        ):
            last = child
            continue
        yield first, last
        first, last = child, None
    yield first, last
