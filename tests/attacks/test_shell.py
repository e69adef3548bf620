"""What a shell puts together: exact or unknown, never taken for harmless, and never without end."""

from __future__ import annotations

import random
import subprocess
import tomllib
from pathlib import Path

import pytest

from attacks.shell_scripts import script
from commands.lines import followed
from exponential_shapes import SHAPES
from interlock import Decision, evaluate_command

_GROUPS = tomllib.loads(Path(__file__).with_name("shell.toml").read_text("utf-8"))
_STRONG = {
    "require-confirmation": {Decision.REQUIRE_CONFIRMATION, Decision.BLOCK},
    "block": {Decision.BLOCK},
}
_SCRIPTS_EACH = 60
_LONG = [
    "for i in {1..200}; do echo $i; done",
    'for f in src/{a..z}.py; do black "$f"; git add "$f"; done',
    "; ".join(f"x{index}=${{x{index - 1}}}a" for index in range(1, 200)),
    "a=(" + " ".join(f"file{index}.py" for index in range(400)) + '); ruff check "${a[@]}"',
    "cat > big.py <<'EOF'\n" + "print('x')\n" * 20_000 + "EOF",
]


def _lines(bound: str) -> list[object]:
    return [
        pytest.param(line, group[bound], id=f"{name}: {line}")
        for name, group in _GROUPS.items()
        if bound in group
        for line in group["lines"]
    ]


@pytest.mark.parametrize(("line", "least"), _lines("at-least"))
def test_what_is_put_together_or_told_elsewhere_does_not_pass(line: str, least: str):
    verdict = evaluate_command(line)

    assert verdict.decision in _STRONG[least], [finding.rule for finding in verdict.findings]


@pytest.mark.parametrize(("line", "most"), _lines("at-most"))
def test_an_everyday_neighbour_is_free(line: str, most: str):
    verdict = evaluate_command(line)

    assert verdict.decision is Decision(most), [finding.message for finding in verdict.findings]


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_grows_without_end_is_asked_about(name: str):
    verdict = evaluate_command(SHAPES[name](40))

    assert verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert [finding.rule for finding in verdict.findings][:1] == ["oversize-command"]


@pytest.mark.parametrize("line", _LONG)
def test_a_long_everyday_line_is_followed_to_its_end(line: str):
    assert not [part for part in followed(line).unresolved if part.too_much]


@pytest.mark.parametrize("seed", range(6))
def test_a_word_that_is_known_is_the_one_that_bash_makes(seed: int, tmp_path: Path):
    rng = random.Random(seed)
    scripts = [script(rng) for _ in range(_SCRIPTS_EACH)]
    # Bash runs assignments and `printf` only, and each script in a subshell of its own.
    whole = "\n".join(f"(\n{each}\n) 2>/dev/null\nprintf '\\1%s\\1' $?" for each in scripts)
    ran = subprocess.run(
        ["/bin/bash", "--norc"],
        input=whole.encode(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
    )
    told = ran.stdout.decode("utf-8", "surrogateescape").split("\1")
    known = 0
    for text, printed, status in zip(scripts, told[::2], told[1::2], strict=False):
        analysis = followed(text)
        words = [each.argv for each in analysis.commands if each.program == "printf"][-1][2:]
        if status != "0" or analysis.unresolved or not all(word.known for word in words):
            continue
        known += 1
        expected = [word[1:-1] for word in printed.split("\2")[:-1]]
        assert [word.text for word in words] == (expected if words else []), text
    assert known > _SCRIPTS_EACH // 3
