"""What prints every variable of a process is noted as `env`, whatever prints it."""

import pytest

from commands.lines import commands_in
from interlock import Decision, evaluate_command

_LOOP = "python3 - <<'P'\nimport os\nfor k, v in sorted(os.environ.items()):\n    print(k, v)\nP"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("ps eww", id="letters"),
        pytest.param("ps -p 42 e", id="letters-behind-an-option"),
        pytest.param("ps -E", id="option"),
        pytest.param("jq -n env", id="filter"),
        pytest.param("jq -rn '$ENV|to_entries[]'", id="filter-by-entry"),
        pytest.param("awk 'BEGIN{for(k in ENVIRON) print k, ENVIRON[k]}'", id="awk"),
        pytest.param("node -p process.env", id="value-of-code"),
        pytest.param(_LOOP, id="loop"),
        pytest.param("perl -e 'print \"$_=$ENV{$_}\" for keys %ENV'", id="perl"),
        pytest.param("ruby -e 'ENV.each{|k,v| puts v}'", id="ruby"),
        pytest.param("php -r 'foreach(getenv() as $k=>$v) echo $v;'", id="php"),
    ],
)
def test_all_variables_are_shown(line: str):
    assert "env" in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("ps aux", id="list"),
        pytest.param("ps axo etime", id="word-of-a-letter"),
        pytest.param("ps -C node", id="value"),
        pytest.param("jq", id="no-filter"),
        pytest.param("jq .name a.json", id="other-filter"),
        pytest.param("jq -n env.HOME", id="one-of-them"),
        pytest.param("jq -n 'env|keys'", id="names"),
        pytest.param("jq '{env: .a}' a.json", id="key"),
        pytest.param("awk 'BEGIN{for(k in ENVIRON) print k}'", id="awk-names"),
        pytest.param("python3 -c 'print([v for k,v in os.environ.items() if k==1])'", id="chosen"),
        pytest.param("node -p process.env.CI", id="code-one"),
    ],
)
def test_some_variables_or_their_names_are_not_all(line: str):
    assert "env" not in commands_in(line)


def test_what_flows_on_is_known_for_what_it_is():
    assert evaluate_command("ps eww | cat").decision is Decision.REQUIRE_CONFIRMATION
    assert evaluate_command("jq -n env | cat").decision is Decision.REQUIRE_CONFIRMATION
    assert evaluate_command("ps eww | wc -l").decision is Decision.ALLOW
