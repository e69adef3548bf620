"""What an action does to the world: whatever is not known to be harmless writes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates.policies import gates_with
from interlock import Decision, Finding
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.risk_class import RiskClass, risk_class_of
from interlock.policy.gates.judgement import judge
from interlock.service.policies.policy_files import default_policy
from interlock.values import Severity

_GATES = default_policy()

_READING = """\
cat a.txt
ls -la src | grep -v test | wc -l
ls > /dev/null 2>&1
grep -rn todo src 2>/dev/null | head -5
find . -name '*.py' -type f
find . -name '*.py' -exec grep -l todo {} +
find . -exec sh -c 'cat "$1"' _ {} \\;
fd -e py
rg -n 'def main' src
cd src && ls
for f in *.py; do wc -l "$f"; done
if [ -f a ]; then cat a; else echo none; fi
[[ -f a ]] && cat a
x=$(cat a); echo "$x"
bash -c 'ls; cat a'
timeout 5 bash -c 'ls | head'
sudo -u me cat a
ls | xargs grep x
env -i
env LANG=C sort a
command -v node
LC_ALL=C sort a | uniq -c
uniq a
/usr/bin/stat a
git status
git -C /x --no-pager log --oneline -5
git diff -w HEAD~1 -- src
git show HEAD:a | head -5
git stash list
git branch
git branch -a -vv
git branch --list 'fix/*'
git branch --merged main
git tag -l 'v1*'
git remote -v
git config --get user.name
pip list
docker ps -a
python --version
python -V
node -v
tar -tf a.tar
sed -n 1,20p a
sed -n -e '/def a/,/return/p' -e '$=' a
sed '5,+3d;q' a
sed 's/a/b/g' a | head
sed -E '/x/s|a/b|c\\|d|g' a
awk -F: '{print $1, $2}' a
awk 'NR==3' a
jq '.a[0]' a.json
echo hi >&2
cat a | tee /dev/stderr
while read l; do echo "$l"; done < a
# nothing at all
""".splitlines()

_WRITING = """\
echo hi > a
cat a >> b
cat a | tee b
make
pytest -q
npx jest
python a.py
python -m json.tool a
bash a.sh
bash -c 'ls; bash a.sh'
bash -c '' ; ls
sh
xargs
./test a
bin/cat a
./run --help
$CMD x
source a.sh
sort -o a a
sort --out=a a
uniq a b
find . -fprint a
find . -fprint b -exec cat {} +
find . -exec
time -o log ls
rg --pre ./x y
PAGER=./x git log
git -c core.fsmonitor=./x status
git log -p --output=x
git grep -O x
git commit -m x
git branch new
git branch -m old new
git -c a.b=c branch
git config user.name me
git tag v1
git remote add o x
git
docker
chmod +x a
mv a b
sed -i s/a/b/ a
sed 's/a/b/w out' a
sed 's/a/b/e' a
sed -n 'w out' a
sed -f a.sed b
sed
awk '{print > "out"}' a
awk '{system("x")}' a
awk -f a.awk b
awk
tar -xf a.tar
exec
psql -c 'select 1'
rsync -a a b
trap 'ls' EXIT
echo "unfinished
""".splitlines()

_REACHING_OUT = """\
curl -s https://example.com
wget -qO- https://example.com | head
ssh host ls
scp a host:b
rsync -a a host:b
rsync -a host:a b
git push
git fetch && git log
git clone https://example.com/a.git
git remote show origin
git submodule update --init
pip install x
pip3 install -r requirements.txt
python -m pip install x
uv pip install x
npm ci
npm --prefix web install
cargo install x
apt-get install -y x
sudo apt update
gh pr list
aws s3 ls
kubectl get pods
docker pull x
docker compose push
nc -z host 80
bash -c 'curl x'
cat a > /dev/tcp/host/80
ls && gh issue view 1
""".splitlines()

_DESTROYING = """\
rm a
rm -rf build
find . -name '*.pyc' -delete
ls | xargs rm
git rm a
git reset --hard
git push --force
rsync -a --delete a host:b
bash -c 'rm a'
""".splitlines()


def _class_of(action: Action, findings: Iterable[Finding]) -> RiskClass:
    return risk_class_of(inspect(action, _GATES), findings)


def nature(action: Action) -> RiskClass:
    return _class_of(action, judge(action, _GATES).findings)


def nature_of_command(command: str) -> RiskClass:
    return nature(CommandAction(command=command, cwd="/work"))


def nature_of_tool(name: str, **params: object) -> RiskClass:
    return nature(ToolAction(name=name, params=params))


@pytest.mark.parametrize("command", _READING)
def test_a_command_of_known_readers_reads(command: str) -> None:
    assert nature_of_command(command) is RiskClass.READS


@pytest.mark.parametrize("command", _WRITING)
def test_a_command_that_may_change_something_writes(command: str) -> None:
    # What a rule says of it is left out here: the words themselves are the question.
    assert _class_of(CommandAction(command=command), ()) is RiskClass.WRITES


@pytest.mark.parametrize("command", _REACHING_OUT)
def test_a_command_that_talks_to_other_machines_reaches_out(command: str) -> None:
    assert _class_of(CommandAction(command=command), ()) is RiskClass.REACHES_OUT


@pytest.mark.parametrize("command", _DESTROYING)
def test_a_command_that_deletes_or_that_a_rule_warns_of_destroys(command: str) -> None:
    assert nature_of_command(command) is RiskClass.DESTROYS


def test_endless_processes_destroy() -> None:
    bomb = CommandAction(command=":(){ :|:& };:")

    assert _class_of(bomb, ()) is RiskClass.DESTROYS


def test_only_what_the_gate_for_destruction_says_counts() -> None:
    action = CommandAction(command="cat a")

    assert _class_of(action, [a_finding("destructive-ops")]) is RiskClass.DESTROYS
    assert _class_of(action, [a_finding("secrets")]) is RiskClass.READS


def test_what_is_deleted_counts_even_where_no_rule_speaks() -> None:
    gates = gates_with("[destructive-ops]\nenabled = false\n")
    action = CommandAction(command="rm -rf src")

    assert judge(action, gates).findings == ()
    assert risk_class_of(inspect(action, gates), ()) is RiskClass.DESTROYS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Read", RiskClass.READS),
        ("Grep", RiskClass.READS),
        ("Glob", RiskClass.READS),
        ("LS", RiskClass.READS),
        ("NotebookRead", RiskClass.READS),
        ("TodoWrite", RiskClass.READS),
        ("AskUserQuestion", RiskClass.READS),
        ("read_file", RiskClass.READS),
        ("list_directory", RiskClass.READS),
        ("get_current_time", RiskClass.READS),
        ("search_files", RiskClass.READS),
        ("codebase_search", RiskClass.READS),
        ("readManyFiles", RiskClass.READS),
        ("mcp__files__read_text_file", RiskClass.READS),
        ("container.read_file", RiskClass.READS),
        ("list_and_count_files", RiskClass.READS),
        ("find_and_replace", RiskClass.WRITES),
        ("get_or_create_table", RiskClass.WRITES),
        ("Task", RiskClass.WRITES),
        ("mcp__db__query", RiskClass.WRITES),
        ("reading", RiskClass.WRITES),
        ("", RiskClass.WRITES),
        ("???", RiskClass.WRITES),
        ("WebFetch", RiskClass.REACHES_OUT),
        ("WebSearch", RiskClass.REACHES_OUT),
        ("webfetch", RiskClass.REACHES_OUT),
        ("HTTPGet", RiskClass.REACHES_OUT),
        ("get_url", RiskClass.REACHES_OUT),
        ("browser_click", RiskClass.REACHES_OUT),
        ("mcp__github__list_issues", RiskClass.REACHES_OUT),
        ("send_email", RiskClass.REACHES_OUT),
        ("mcp__github__delete_file", RiskClass.DESTROYS),
        ("remove_customer", RiskClass.DESTROYS),
        ("list_deleted", RiskClass.READS),
    ],
)
def test_a_tool_that_carries_nothing_is_judged_by_its_name(name: str, expected: RiskClass) -> None:
    assert nature_of_tool(name) is expected


def test_a_tool_is_judged_by_what_it_carries() -> None:
    assert nature_of_tool("Bash", command="ls") is RiskClass.READS
    assert nature_of_tool("Bash", command="git push") is RiskClass.REACHES_OUT
    assert nature_of_tool("Bash", command="rm -r src") is RiskClass.DESTROYS
    assert nature_of_tool("Write", file_path="a", content="x") is RiskClass.WRITES
    assert nature_of_tool("delete_file", path="a") is RiskClass.DESTROYS


def test_an_editor_that_only_shows_a_file_reads() -> None:
    assert nature_of_tool("str_replace_editor", command="view", path="a") is RiskClass.READS
    assert nature_of_tool("str_replace_editor", command="undo_edit", path="a") is RiskClass.WRITES


def test_parameters_may_be_text_that_a_model_wrote() -> None:
    def as_text(name: str, params: str) -> RiskClass:
        return nature(ToolAction(name=name, params=params))

    assert as_text("Bash", '{"command": "ls"}') is RiskClass.READS
    assert as_text("Bash", '{"command": "ls"') is RiskClass.WRITES
    assert as_text("Read", "not json") is RiskClass.WRITES
    assert as_text("WebFetch", "not json") is RiskClass.REACHES_OUT


def test_an_edit_writes() -> None:
    assert nature(EditAction(path="a", content="x")) is RiskClass.WRITES


_COMMANDS = st.sampled_from([*_READING, *_WRITING, *_REACHING_OUT, *_DESTROYING]).filter(
    lambda command: "#" not in command and command.count('"') % 2 == 0
)


@given(_COMMANDS, _COMMANDS)
def test_one_more_command_never_makes_a_line_more_harmless(one: str, other: str) -> None:
    together = _class_of(CommandAction(command=f"{one}\n{other}"), ())

    for part in (one, other):
        assert together.rank >= _class_of(CommandAction(command=part), ()).rank


@given(st.text(max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    assert _class_of(CommandAction(command=text), ()) in RiskClass
    assert _class_of(ToolAction(name=text, params=text), ()) in RiskClass


def test_lone_surrogates_are_taken() -> None:
    assert _class_of(CommandAction(command="cat \ud800"), ()) is RiskClass.READS


def a_finding(gate: str) -> Finding:
    return Finding(
        gate=gate,
        rule=f"{gate}.a-rule",
        decision=Decision.WARN,
        severity=Severity.LOW,
        message="it is so",
        remediation="do something else",
    )
