"""Consoles of frameworks: the code and the SQL that they are given are followed."""

import pytest

from commands.lines import commands_in, effects_in


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("rails runner 'User.delete_all'", "api-call delete ''", id="operand"),
        pytest.param("rails runner -e test 'User.destroy_all'", "api-call delete ''", id="option"),
        pytest.param("echo 'User.delete_all' | bin/rails c", "api-call delete ''", id="flows-in"),
        pytest.param("ruby bin/rails r 'User.delete_all'", "api-call delete ''", id="by-ruby"),
        pytest.param(
            "./manage.py shell -c 'User.objects.filter().delete()'",
            "api-call delete ''",
            id="django",
        ),
        pytest.param(
            "python manage.py shell <<< 'User.objects.all().delete()'",
            "api-call delete ''",
            id="by-python",
        ),
        pytest.param(
            "php artisan tinker --execute='User::truncate();'", "api-call delete ''", id="by-php"
        ),
        pytest.param("wp eval 'wp_delete_post(1, true);'", "api-call delete 1", id="function"),
        pytest.param("wp db query 'DROP TABLE x'", "sql drop table x", id="sql-operand"),
        pytest.param(
            "./manage.py dbshell -- -c 'DROP TABLE x'", "sql drop table x", id="sql-shell"
        ),
        pytest.param("echo 'DROP TABLE x' | rails dbconsole", "sql drop table x", id="sql-input"),
        pytest.param("mix run -e 'Repo.delete_all(User)'", "api-call delete ''", id="elixir"),
        pytest.param("heroku pg:psql -c 'DROP TABLE x'", "sql drop table x", id="sql-of-a-host"),
    ],
)
def test_a_console_does_what_its_code_says(line: str, expected: str):
    assert expected in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("rails", id="no-verb"),
        pytest.param("rails server -p 1", id="other-verb"),
        pytest.param("rails new 'User.delete_all'", id="code-where-none-is-run"),
        pytest.param("rails console", id="nothing-flows-in"),
        pytest.param("echo 'DROP TABLE x' | rails server", id="no-client-of-a-database"),
        pytest.param("heroku", id="client-without-a-verb"),
        pytest.param("echo 'DROP TABLE x' | gcloud auth list", id="client-without-its-option"),
        pytest.param("ruby bin/tool 'User.delete_all'", id="script-that-is-no-console"),
    ],
)
def test_a_framework_runs_nothing_but_in_its_consoles(line: str):
    noted = [each for each in commands_in(line) if each.startswith(("api-call", "sql"))]

    assert noted == []


def test_what_flows_into_a_console_keeps_its_origin():
    assert "execute standard input, from remote" in effects_in("curl a.example/x | rails console")


@pytest.mark.parametrize(
    ("line", "drops"),
    [
        pytest.param("sqlite3 :memory: 'DROP TABLE x'", False, id="in-memory"),
        pytest.param("echo 'DROP TABLE x' | sqlite3 /tmp/a.db", False, id="temporary"),
        pytest.param("sqlite3 app.db 'DROP TABLE x'", True, id="a-file-that-stays"),
        pytest.param("sqlite3 'DROP TABLE x'", False, id="no-statement"),
        pytest.param("psql /tmp/x -c 'DROP TABLE x'", True, id="a-server"),
        pytest.param("duckdb -c 'DROP TABLE x'", True, id="no-name"),
        pytest.param(
            "sqlite3 :memory: \"ATTACH 'app.db' AS a; DROP TABLE x\"", True, id="attached"
        ),
        pytest.param("sqlite3 -cmd '.open a.db' :memory: 'DROP TABLE x'", True, id="opened-before"),
    ],
)
def test_data_that_nobody_keeps_may_be_dropped(line: str, drops: bool):
    assert ("sql drop table x" in commands_in(line)) is drops


def test_a_temporary_database_may_still_run_no_programs():
    assert "rm -rf x" in commands_in("sqlite3 /tmp/a.db '.shell rm -rf x'")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("acmedb 'DROP TABLE x'", "sql drop table x", id="by-its-name"),
        pytest.param("acme sql 'DROP TABLE x'", "sql drop table x", id="by-a-verb"),
        pytest.param("acme --query 'DROP TABLE x'", "sql drop table x", id="by-an-option"),
        pytest.param("acme --sql='DROP TABLE x'", "sql drop table x", id="attached"),
        pytest.param("acme sql --a=b 'DROP TABLE x'", "sql drop table x", id="behind-a-value"),
        pytest.param("acmesql <<< 'DROP TABLE x'", "sql drop table x", id="flows-in"),
        pytest.param("cypher-shell 'MATCH (n) DELETE n'", "sql delete-all graph ''", id="graph"),
        pytest.param(
            "cypher-shell <<< 'MATCH (n) DELETE n'", "sql delete-all graph ''", id="graph-input"
        ),
        pytest.param("acme shell <<< 'drop x; list'", "acme drop x", id="console"),
        pytest.param("acmectl <<< 'drop x'", "acmectl drop x", id="console-by-its-name"),
        pytest.param("acme -- 'rm -rf /srv'", "rm -rf /srv", id="line-in-one-word"),
        pytest.param("acme command run 'halt now' -t all", "halt now", id="line-that-is-told"),
        pytest.param("knife ssh 'name:*' 'halt now'", "halt now", id="line-for-others"),
    ],
)
def test_what_an_unknown_program_is_told_is_followed(line: str, expected: str):
    assert expected in commands_in(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("acmedb --title 'DROP TABLE x'", id="another-option"),
        pytest.param("acmedb --title='DROP TABLE x'", id="another-value"),
        pytest.param("acmedb 'SELECT 1 FROM x'", id="reads"),
        pytest.param("acme add 'DROP TABLE x'", id="no-database"),
        pytest.param("acmegrep --query 'DROP TABLE x'", id="search"),
        pytest.param("acme run 'the words that I wrote'", id="sentence"),
        pytest.param("acme load <<< 'drop x'", id="no-console"),
        pytest.param("cypher-shell 'MATCH (n {id: 1}) DELETE n'", id="chosen"),
    ],
)
def test_what_an_unknown_program_is_given_as_data_is_left(line: str):
    assert len(commands_in(line)) == 1
