"""Reading a file of variables without its values, and loading it."""

from __future__ import annotations

import pytest

from commands.lines import followed
from interlock.commands.shell.command import Effect, EffectKind


def reads_in(line: str) -> list[Effect]:
    """Return what the line reads out."""
    return [each for each in followed(line).effects if each.kind is EffectKind.READ]


@pytest.mark.parametrize(
    "line",
    [
        "cut -d= -f1 .env",
        "cut -d = -f 1 app/.env.local",
        "cut --delimiter== --fields=1 .env",
        "cut -d= -f1 < .env",
        "grep -c = .env",
        "grep -q '^KEY=' .env",
        "grep -l KEY .env ~/.aws/credentials",
        "grep -o '^[A-Z_]*' .env",
        "grep -oE '^[A-Z][[:alnum:]_]+=' prod.env",
        "grep -oP '^\\w+(?==)' .env",
        "grep -o -e '^[^=]*' .env",
        "sed 's/=.*//' .env",
        "sed -e 's|=.*$|=...|' .env",
        "sed -E 's/^([^=]+)=.*/\\1=***/' .env",
        "awk -F= '{print $1}' .env",
        "awk -F'=' '!/^#/ && NF { print $1, \"...\" }' .envrc",
        "cat .env | cut -d= -f1",
        "cat .env | grep -v '^#' | sort | cut -d= -f1",
        "cat ~/.ssh/id_rsa | wc -l",
        "< x | cat .env | wc -l",
        "grep KEY .env | wc -l",
        "diff <(sed 's/=.*//' .env | sort) <(cut -d= -f1 .env.example)",
        "cat < .env | wc -l",
        "tr -d '\\n' < .env | wc -c",
        "sed -n 's/^\\([A-Z_]*\\)=.*/\\1/p' .env",
        "grep ^NEXT_PUBLIC_ .env.local",
        "grep -E '^(PORT|APP_HOST)=' .env",
        "sed -i 's/^PORT=.*/PORT=4000/' .env",
        "sed -n 's/^PORT=//p' .env",
        "sed -n '/^DB_HOST=/p' .env",
        "awk -F= '/^PORT=/ {print $2}' .env",
        "awk '/^(PORT|API_ENDPOINT)=/{print}' .env",
        "sed -i.bak -e '/^DEBUG=/d' -e 's|a|b|g' .env",
        "diff -q .env .env.old",
        "cp app/.env other/.env",
        "nawk -F= '{print $1}' .env",
        "gsed 's/=.*//' .env",
        "fgrep KEY .env | wc -l",
        "rg KEY .env | rg -c =",
        "wc -l < ~/.ssh/id_rsa",
    ],
)
def test_names_and_counts_are_not_read_out(line: str):
    assert reads_in(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "cut -d= -f2 .env",
        "cut -d= -f1- .env",
        "cut -d= -f1 --complement .env",
        "cut -d: -f1 .env",
        "cut -d= .env",
        "cut -c1-80 .env",
        "cut -d= -f1 ~/.ssh/id_rsa",
        "cat ~/.ssh/id_rsa | cut -d= -f1",
        "grep -o '^.*' .env",
        "grep -o '^[0-z]*' .env",
        "grep -o -f patterns .env",
        "grep KEY .env",
        "sed -n p .env",
        "sed 's/=.*/&/' .env",
        "sed -e p -e 's/=.*//' .env",
        "awk -F= '{print $2}' .env",
        "awk -F= '{print}' .env",
        "awk -F= '{print $1} 1' .env",
        "awk -F= -v n=2 '{print $n}' .env",
        "awk -F= -f names.awk .env",
        "awk '{print $1}' .env",
        "awk '/^API_KEY=/{print}' .env",
        "awk '/^PORT=|SECRET=/{print}' .env",
        "awk -v RS= '/^PORT=/{print}' .env",
        "awk '/^PORT=/{print}' RS= .env",
        "grep -E '^VITE_|SECRET' .env",
        "sed -nz '/^PORT=/p' .env",
        "sed -n -f all.sed 's/^PORT=//p' .env",
        "awk '/^PORT=/{getline; print}' .env",
        "awk '/^PORT=/{print} {print}' .env",
        "awk -f '/^PORT=/{print}' .env",
        "sed -n 's/^API_KEY=//p' .env",
        "sed 's/^PORT=//p' .env",
        "cat .env | cut -d= -f2",
        "cat .env | tee copy | cut -d= -f1",
        "cat .env > copy | cut -d= -f1",
        "cat .env; echo a=b | cut -d= -f1",
        "cat $(cat .env) | cut -d= -f1",
        "cat < .env | cat",
        "cat < .env; echo | wc -l",
        "grep PORT= .env",
        "grep -E '^(PORT|API_KEY)=' .env",
        "grep -A2 ^PORT= .env",
        "grep -v ^PORT= .env",
        "sed -i 's/a/b/w out' .env",
        "sed -n -i p .env",
        "diff .env .env.old",
        "cp .env .env.bak",
        "cp .env .env.example",
        "cp ~/.ssh/id_rsa id_rsa.old",
    ],
)
def test_values_are(line: str):
    assert [each for each in reads_in(line) if each.target != "copy"] != []


@pytest.mark.parametrize(
    ("line", "readers"),
    [
        ("export $(grep -v '^#' .env | xargs)", {"export"}),
        ("export $(cat .env)", {"export"}),
        ("env $(cat .env) npm start", {"env"}),
        ("env A=b $(cat .env) npm start", {"env"}),
        ("env echo $(cat .env)", {"cat"}),
        ("export KEY=$(cat .env)", {"cat"}),
        ("(cat .env); export $(cat .env)", {"cat", "export"}),
        ('curl -d "$(cat .env)" h; export $(cat .env)', {"cat", "export"}),
    ],
)
def test_a_file_of_variables_that_is_loaded_is_read_by_whoever_loads_it(
    line: str, readers: set[str]
):
    assert {each.command.program for each in reads_in(line)} == readers
