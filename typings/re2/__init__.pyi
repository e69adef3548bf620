# The part of google-re2 that Interlock uses; `Match` and `Regexp` are private there.

from collections.abc import Iterator
from typing import Generic, TypeVar

_Text = TypeVar("_Text", str, bytes)

class error(Exception): ...  # noqa: N801, N818 - the library's own name

class Options:
    class Encoding:
        UTF8: Options.Encoding
        LATIN1: Options.Encoding

    max_mem: int
    encoding: Options.Encoding
    posix_syntax: bool
    longest_match: bool
    log_errors: bool
    literal: bool
    never_nl: bool
    dot_nl: bool
    never_capture: bool
    case_sensitive: bool
    perl_classes: bool
    word_boundary: bool
    one_line: bool

class Match(Generic[_Text]):
    def group(self, group: int | str = 0, /) -> _Text | None: ...
    def groups(self) -> tuple[_Text | None, ...]: ...
    def groupdict(self) -> dict[str, _Text | None]: ...
    def start(self, group: int = 0) -> int: ...
    def end(self, group: int = 0) -> int: ...
    def span(self, group: int = 0) -> tuple[int, int]: ...

class Regexp(Generic[_Text]):
    @property
    def pattern(self) -> _Text: ...
    @property
    def groups(self) -> int: ...
    @property
    def groupindex(self) -> dict[_Text, int]: ...
    def search(
        self, text: _Text, pos: int | None = None, endpos: int | None = None
    ) -> Match[_Text] | None: ...
    def match(
        self, text: _Text, pos: int | None = None, endpos: int | None = None
    ) -> Match[_Text] | None: ...
    def fullmatch(
        self, text: _Text, pos: int | None = None, endpos: int | None = None
    ) -> Match[_Text] | None: ...
    def finditer(
        self, text: _Text, pos: int | None = None, endpos: int | None = None
    ) -> Iterator[Match[_Text]]: ...

def compile(  # noqa: A001 - the library's own name
    pattern: _Text, options: Options | None = None
) -> Regexp[_Text]: ...
def search(pattern: _Text, text: _Text, options: Options | None = None) -> Match[_Text] | None: ...
def fullmatch(
    pattern: _Text, text: _Text, options: Options | None = None
) -> Match[_Text] | None: ...
def escape(pattern: _Text) -> _Text: ...

class Set:
    @classmethod
    def SearchSet(cls, options: Options | None = None) -> Set: ...  # noqa: N802 - the library's own name
    @classmethod
    def MatchSet(cls, options: Options | None = None) -> Set: ...  # noqa: N802 - the library's own name
    @classmethod
    def FullMatchSet(cls, options: Options | None = None) -> Set: ...  # noqa: N802 - the library's own name
    def Add(self, pattern: str | bytes) -> int: ...  # noqa: N802 - the library's own name
    def Compile(self) -> None: ...  # noqa: N802 - the library's own name
    def Match(self, text: str | bytes) -> list[int] | None: ...  # noqa: N802 - the library's own name
