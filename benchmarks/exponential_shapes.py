"""Short lines that grow without end: one generator for each mechanism that can double something."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Shape = Callable[[int], str]
"""Takes how many times something doubles, and returns the line."""


def _again(first: str, step: str, last: str) -> Shape:
    return lambda times: f"{first}; {step * times}{last}"


def _functions(times: int) -> str:
    bodies = [f"f{index}() {{ f{index - 1}; f{index - 1}; }}; " for index in range(1, times)]
    return f"f0() {{ ls; }}; {''.join(bodies)}f{times - 1}"


def _arguments_of_functions(times: int) -> str:
    bodies = [f'f{index}() {{ f{index + 1} "$@" "$@"; }}; ' for index in range(times)]
    return f"{''.join(bodies)}f0 a"


def _aliases(times: int) -> str:
    texts = [f"alias a{index}='a{index - 1}; a{index - 1}'; " for index in range(1, times)]
    return f"alias a0=ls; {''.join(texts)}a{times - 1}"


def _loops(times: int) -> str:
    heads = [f"for i{index} in 1 2 3; do " for index in range(min(times, 20))]
    return "".join(heads) + "ls; " + "done; " * len(heads)


def _rounds(times: int) -> str:
    heads = [f"while ((i{index}++ < 9)); do x{index}+=a; " for index in range(min(times, 20))]
    return "".join(heads) + "ls; " + "done; " * len(heads)


def _defaults(times: int) -> str:
    return "x0=ab; " + "".join(
        [f"x{index}=${{y:-$x{index - 1}$x{index - 1}}}; " for index in range(1, times)]
    )


SHAPES: Mapping[str, Shape] = {
    "arguments": _again("set -- a", 'set -- "$@" "$@"; ', 'echo "$@"'),
    "arguments of functions": _arguments_of_functions,
    "an array": _again("a=(x)", 'a=("${a[@]}" "${a[@]}"); ', 'echo "${a[@]}"'),
    "an array added to itself": _again("a=(x)", 'a+=("${a[@]}"); ', 'echo "${a[@]}"'),
    "a value": _again("x=aaaaaaaa", "x=$x$x; ", "echo $x"),
    "a value added to itself": _again("x=aaaaaaaa", "x+=$x; ", "echo $x"),
    "a value in quotes": _again("x=aaaaaaaa", 'x="$x $x"; ', 'echo "$x"'),
    "replacements": _again("x=aaaa", "x=${x//a/aa}; ", "echo $x"),
    "defaults": _defaults,
    "declarations": _again("x=aaaa", "declare x=$x$x; ", "echo $x"),
    "words read": _again("x=aaaa", 'read x <<< "$x$x"; ', "echo $x"),
    "lines read": _again("x=$'a\\nb'", 'mapfile -t a <<< "$x"; x="${a[@]}${a[@]}"; ', "ls"),
    "formats": _again("x=aaaa", "printf -v x %s%s%s $x $x $x; ", "echo $x"),
    "substitutions": _again("x=aaaa", "x=$(echo $x$x); ", "echo $x"),
    "functions that print": _again("f() { echo $1$1; }; x=aa", "x=$(f $x); ", "echo $x"),
    "here-documents": _again("x=aaaa", "x=$(cat <<E\n$x$x\nE\n); ", "echo $x"),
    "functions": _functions,
    "aliases": _aliases,
    "evaluated text": _again("x=ls", 'x="$x;$x"; ', 'eval "$x"'),
    "text that evaluates itself": lambda _times: 'x=\'eval "$x;$x"\'; eval "$x"',
    "shells in shells": _again("x=ls", 'x="$x;$x"; ', 'bash -c "$x"'),
    "evaluations": lambda times: "eval " * (30 * times) + "ls",
    "loops in loops": _loops,
    "loops without a list": _rounds,
    "choices": lambda times: "echo " + "{a,b}" * times,
    "choices of letters": lambda times: "echo " + "{a..z}" * times,
    "a range": lambda times: f"echo {{1..{10**9 * times}}}",
    "patterns": lambda times: f"x={'a' * 3000}; echo ${{x/{'*a' * times}*b/}}",
    "patterns everywhere": lambda times: f"x={'a' * 50 * times}; echo ${{x//*a*b/}}",
    "names in defaults": lambda times: "echo " + "${x:-" * (2 * times) + "a" + "}" * (2 * times),
    "rows of loops": lambda _times: (
        "for i in {1..256}; do for j in {1..256}; do echo $i$j; done; done"
    ),
    "cases": _again("x=aaaa", "case $x in a) x=$x$x;; esac; ", "echo $x"),
}
