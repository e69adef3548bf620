"""What SQL, and the commands of stores without SQL, are read to do."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.commands.code.store_calls import mongo_operations_in, redis_operations_in
from interlock.commands.sql.sql_script import holds_sql, looks_like_sql, operations_in
from interlock.commands.sql.sql_verbs import SqlOperation


def described(operations: list[SqlOperation]) -> list[str]:
    return [f"{found.kind.value}|{found.object}|{found.target}" for found in operations]


DESTRUCTIVE = [
    ("drop a table", "DROP TABLE users;", "drop|table|users"),
    ("any case and blanks", "dRoP \n  TaBlE\tusers", "drop|table|users"),
    ("several tables", "drop table if exists a, b cascade", "drop|table|a, b"),
    ("a database", "DROP DATABASE IF EXISTS `my db`;", "drop|database|my db"),
    ("a schema", 'DROP SCHEMA "public" CASCADE', "drop|schema|public"),
    ("a view", "DROP MATERIALIZED VIEW v", "drop|view|v"),
    ("an index", "DROP INDEX CONCURRENTLY i", "drop|index|i"),
    ("a user", "DROP USER bob", "drop|user|bob"),
    ("what a role owns", "DROP OWNED BY bob", "drop|owned|bob"),
    ("a keyspace", "DROP KEYSPACE k", "drop|keyspace|k"),
    ("nothing named", "DROP", "drop||"),
    ("bracketed names", "DROP TABLE [dbo].[users]", "drop|table|dbo.users"),
    ("replacing a table", "CREATE OR REPLACE TABLE t AS SELECT 1", "drop|table|t"),
    ("restoring over a database", "RESTORE DATABASE db FROM DISK='x'", "drop|database|db"),
    (
        "a routine by its name",
        "SELECT pg_terminate_backend(1)",
        "admin|routine|pg_terminate_backend",
    ),
    ("a procedure", "EXEC dbo.sp_delete_job @a='x'", "admin|routine|sp_delete_job"),
    ("stopping a copy", "STOP REPLICA", "admin||replica"),
    ("rows open to all", "ALTER TABLE t DISABLE ROW LEVEL SECURITY", "admin|protection|t"),
    ("truncate", "TRUNCATE TABLE a", "truncate|table|a"),
    ("truncate several", "TRUNCATE a, b RESTART IDENTITY", "truncate|table|a, b"),
    ("overwriting all rows", "INSERT OVERWRITE TABLE t SELECT 1", "truncate|table|t"),
    ("delete all", "DELETE FROM users", "delete-all|table|users"),
    ("delete from a schema's table", "delete from only s.t", "delete-all|table|s.t"),
    ("a limit is no condition", "DELETE FROM users LIMIT 5", "delete-all|table|users"),
    ("deleting without from", "DELETE users", "delete-all|table|users"),
    ("a sub-query's where", "DELETE FROM u USING (SELECT 1 WHERE x=1) y", "delete-all|table|u"),
    ("an always true join", "DELETE a FROM a JOIN b ON 1=1", "delete-all|table|a"),
    ("an outer join", "DELETE a FROM a LEFT JOIN b ON a.id=b.id", "delete-all|table|a"),
    ("behind a with", "WITH d AS (SELECT 1) DELETE FROM y", "delete-all|table|y"),
    ("behind a with, no from", "WITH d AS (SELECT 1) DELETE d", "delete-all|table|d"),
    ("in a with", "WITH d AS (DELETE FROM t RETURNING *) SELECT 1", "delete-all|table|t"),
    ("update in a with", "WITH d AS (UPDATE t SET a=1) SELECT 1", "update-all|table|t"),
    ("update all", "UPDATE t SET a=1", "update-all|table|t"),
    ("update with a modifier", "UPDATE OR IGNORE t SET a=1", "update-all|table|t"),
    ("update by sub-query", "UPDATE t SET a=(SELECT x FROM y WHERE z=1)", "update-all|table|t"),
    ("merge all", "MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE", "delete-all|table|t"),
    (
        "merge away the rest",
        "MERGE INTO t USING s ON t.i=s.i WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "delete-all|table|t",
    ),
    ("alter drop column", "ALTER TABLE t DROP COLUMN x", "alter-drop|column|t.x"),
    ("alter drop without column", "ALTER TABLE t DROP x", "alter-drop|column|t.x"),
    ("drop a constraint", "ALTER TABLE t DROP CONSTRAINT c", "alter-drop|constraint|t.c"),
    ("empty a partition", "ALTER TABLE t TRUNCATE PARTITION p", "alter-drop|partition|t"),
    ("discard a tablespace", "ALTER TABLE t DISCARD TABLESPACE", "alter-drop|tablespace|t"),
    ("delete by alter", "ALTER TABLE t DELETE WHERE 1", "delete-all|table|t"),
    ("grant everything", "GRANT ALL ON *.* TO 'u'@'h';", "grant-all|server|*.*"),
    ("grant everything, no on", "GRANT ALL PRIVILEGES TO bob", "grant-all|server|*"),
    ("grant dba", "GRANT DBA TO bob", "grant-all|server|*"),
    ("make a superuser", "ALTER ROLE bob SUPERUSER", "grant-all|server|bob"),
    ("create a superuser", "CREATE USER bob WITH SUPERUSER", "grant-all|server|bob"),
    ("revoke", "REVOKE ALL ON t FROM bob", "revoke||bob"),
    ("shutdown", "SHUTDOWN", "shutdown|server|"),
    ("reset master", "RESET MASTER", "admin||master"),
    ("purge logs", "PURGE BINARY LOGS TO 'x'", "admin||binary"),
    ("alter system", "ALTER SYSTEM SET a = 'b'", "admin|system|a"),
    ("allow shells", "EXEC sp_configure 'xp_cmdshell', 1", "admin||xp_cmdshell"),
    ("into outfile", "SELECT 1 INTO OUTFILE '/etc/cron.d/x'", "file-write||/etc/cron.d/x"),
    ("copy to a file", "COPY t TO '/tmp/x' CSV", "file-write||/tmp/x"),
    ("copy from a file", "COPY t FROM '/etc/passwd'", "file-read||/etc/passwd"),
    ("copy to a program", "COPY t TO PROGRAM 'rm -rf /'", "execute||rm -rf /"),
    ("copy from a program", "COPY t FROM PROGRAM 'id'", "execute||id"),
    ("export a large object", "SELECT lo_export(1, '/tmp/x')", "file-write||/tmp/x"),
    ("read a file", "SELECT pg_read_file('/etc/passwd')", "file-read||/etc/passwd"),
    ("read deep in a query", "SELECT (a, (load_file('/x')))", "file-read||/x"),
    ("load data", "LOAD DATA INFILE '/x' INTO TABLE t", "file-read||/x"),
    ("vacuum into", "VACUUM INTO '/x.db'", "file-write||/x.db"),
    ("xp_cmdshell", "EXEC master..xp_cmdshell 'dir'", "execute||dir"),
    ("psql shell", "\\! rm -rf /", "execute||rm -rf /"),
    ("psql out to a pipe", "\\o | tee /etc/x", "execute||tee /etc/x"),
    ("psql out to a file", "\\o /etc/x", "save||/etc/x"),
    ("psql copy", "\\copy t to program 'id'", "execute||id"),
    ("psql copy to a file", "\\copy (select 1) to 'x.csv' csv", "save||x.csv"),
    ("psql include", "\\i setup.sql", "file-read||setup.sql"),
    ("behind a psql command", "\\x \\\\ DROP TABLE t", "drop|table|t"),
    ("sqlite shell", "select 1;\n.shell rm -rf /", "execute||rm -rf /"),
    ("sqlite output", ".output /etc/x", "save||/etc/x"),
    ("sqlite drop", ".drop view v", "drop||view v"),
    ("mysql shell", "system rm -rf /\nselect 1", "execute||rm -rf /"),
    ("mysql shell without a line", "system", "execute||"),
    ("mysql tee", "tee /tmp/x", "save||/tmp/x"),
]


@pytest.mark.parametrize(
    ("sql", "expected"), [case[1:] for case in DESTRUCTIVE], ids=[case[0] for case in DESTRUCTIVE]
)
def test_tells_what_one_statement_does(sql: str, expected: str) -> None:
    assert described(operations_in(sql)) == [expected]


HARMLESS = [
    ("nothing", ""),
    ("blanks", " \n\t "),
    ("a query", "SELECT * FROM users WHERE name = 'x'"),
    ("an insert", "INSERT INTO t (a, b) VALUES (1, 'x')"),
    ("a function of arrays", "SELECT array_remove(a, 1), json_delete(b) FROM t"),
    ("a table called so", "INSERT INTO delete_log (a) VALUES (1)"),
    ("a joined table called so", "SELECT 1 FROM t JOIN kill_list (a) ON true"),
    ("a column called so", "SELECT drop_rate FROM t"),
    ("a procedure that looks", "EXEC sp_help_job"),
    ("text in a string", "INSERT INTO log VALUES ('DROP TABLE x')"),
    ("text in a doubled quote", "INSERT INTO log VALUES ('it''s; DROP TABLE x')"),
    ("text in a line comment", "SELECT 1 -- DROP TABLE x"),
    ("text in a block comment", "SELECT 1 /* ; DROP TABLE x */"),
    ("text in an open comment", "SELECT 1 /* ; DROP TABLE x"),
    ("text in a name", 'SELECT "drop table x" FROM t'),
    ("a dollar-quoted string", "SELECT $$ DROP TABLE x $$"),
    ("a tagged string", "SELECT $a$ $$; DROP TABLE x; $a$"),
    ("a plan", "EXPLAIN DELETE FROM x"),
    ("a plan as a table", "EXPLAIN (FORMAT json) DELETE FROM x"),
    ("help", "HELP DROP TABLE"),
    ("show", "SHOW CREATE TABLE t"),
    ("a lock", "SELECT * FROM t FOR UPDATE"),
    ("an upsert", "INSERT INTO a VALUES (1) ON CONFLICT DO UPDATE SET x = 1"),
    ("a cascade", "CREATE TABLE t (a int REFERENCES b ON DELETE CASCADE ON UPDATE SET NULL)"),
    ("a temporary table", "CREATE TEMP TABLE t (a int); DELETE FROM t; DROP TABLE t;"),
    ("a temporary table emptied", "CREATE TEMPORARY TABLE t (a int); TRUNCATE TABLE t"),
    ("a temporary table altered", "CREATE TEMP TABLE t (a int); ALTER TABLE t DROP COLUMN a"),
    ("a temporary table updated", "CREATE TEMP TABLE t (a int); UPDATE t SET a = 1"),
    ("a temporary table merged", "CREATE TEMP TABLE t (a int); MERGE INTO t THEN DELETE"),
    ("drop temporary", "DROP TEMPORARY TABLE t"),
    ("a table of the session", "DELETE FROM #tmp; DROP TABLE #tmp"),
    ("a prepared statement", "DROP PREPARE s"),
    ("relaxing a column", "ALTER TABLE t ALTER COLUMN c DROP NOT NULL"),
    ("adding a column", "ALTER TABLE t ADD COLUMN drop_me int"),
    ("a password", "ALTER USER bob WITH PASSWORD 'x'"),
    ("a plain role", "CREATE ROLE bob"),
    ("a function's body", "CREATE FUNCTION f() RETURNS void AS $$ DELETE FROM t $$ LANGUAGE sql"),
    ("a trigger's body", "CREATE TRIGGER t AFTER INSERT ON x BEGIN DELETE FROM y; END"),
    (
        "a procedure's blocks",
        "CREATE PROCEDURE p() BEGIN IF 1 THEN DELETE FROM y; END IF;"
        " CASE x WHEN 1 THEN DELETE FROM y; END CASE; END; SELECT 1",
    ),
    ("an index rule", "CREATE RULE r AS ON DELETE TO t DO INSTEAD DELETE FROM u"),
    ("resetting a setting", "RESET search_path"),
    ("a merge that adds", "MERGE INTO t USING s ON t.i=s.i WHEN NOT MATCHED THEN INSERT"),
    ("copy to the client", "COPY t TO STDOUT"),
    ("a psql listing", "\\dt"),
    ("a psql include of nothing", "\\i"),
    ("a plain function named so", "SELECT load_file FROM t"),
    ("vacuum", "VACUUM ANALYZE t"),
    ("a lonely update", "UPDATE"),
    ("update without a set", "UPDATE STATISTICS t"),
    ("a lonely truncate", "TRUNCATE"),
    ("a lonely delete", "DELETE"),
    ("a grant to nobody", "GRANT ALL"),
    ("a restore of a log", "RESTORE LOG db"),
    ("preparing an unknown text", "PREPARE q FROM @unknown"),
    ("create index or replace", "CREATE OR REPLACE VIEW v AS SELECT 1"),
    ("only separators", ";;;"),
    ("only brackets", ")("),
]


@pytest.mark.parametrize("sql", [case[1] for case in HARMLESS], ids=[case[0] for case in HARMLESS])
def test_says_nothing_about_what_loses_nothing(sql: str) -> None:
    assert described(operations_in(sql)) == []


REAL_CONDITIONS = [
    "id = 1",
    "id = 1 AND 1=1",
    "id IN (SELECT id FROM x WHERE 1=1)",
    "active = false",
    "name LIKE 'a%'",
    "name NOT LIKE '%'",
    "a.id = b.id",
    "id BETWEEN 1 AND 5",
    "NOT deleted",
    "(id = 1)",
    "(id) = (id)",
    "id IS NOT NULL",
    "id <> id",
    "created < now()",
    "`a` = 3",
    "@v = 3",
    "f(1)",
    "1 = 0",
    "FALSE",
    "NULL",
    "0",
    "'a' = 'b'",
    "1 <> 1",
    "'text'",
    "",
    "name || 'x' = 'ax'",
    "id = 1 ORDER BY 1",
    "LEFT(name, 3) = 'abc'",
]


@pytest.mark.parametrize("condition", REAL_CONDITIONS)
def test_takes_a_condition_on_the_rows_for_real(condition: str) -> None:
    assert described(operations_in(f"DELETE FROM t WHERE {condition}")) == ["delete-some|table|t"]
    assert described(operations_in(f"UPDATE t SET a=1 WHERE {condition}")) == [
        "update-some|table|t"
    ]


EMPTY_CONDITIONS = [
    "1=1",
    "1 = 1.0",
    "true",
    "1",
    "-1",
    "'1'",
    "'a'='a'",
    "'nan'='nan'",
    "id=id",
    "t.id = t.id",
    '"a" = "a"',
    "1 OR id = 3",
    "id = 3 OR 1=1",
    "id = 3 || 1=1",
    "NOT FALSE",
    "NOT NOT TRUE",
    "! 0",
    "(1=1)",
    "((1)=(1))",
    "1 < 2",
    "1 <= 1",
    "1 <> 2",
    "1 IN (1, 2)",
    "1 BETWEEN 0 AND 2",
    "name LIKE '%'",
    "TRUE IS TRUE",
    "1 IS NOT NULL",
    "EXISTS (SELECT 1)",
    "id = id AND 1=1",
    "1=1 ORDER BY id LIMIT 3",
    "1=1 RETURNING *",
    "(a = 1 OR (2=2))",
    "1+1 = (1+1)",
]


@pytest.mark.parametrize("condition", EMPTY_CONDITIONS)
def test_takes_a_condition_that_always_holds_for_none(condition: str) -> None:
    assert described(operations_in(f"DELETE FROM t WHERE {condition}")) == ["delete-all|table|t"]
    assert described(operations_in(f"UPDATE t SET a=1 WHERE {condition}")) == ["update-all|table|t"]


SOME = [
    ("a real join", "DELETE a FROM a JOIN b ON a.id=b.id", "delete-some|table|a"),
    ("update from", "UPDATE t SET a=1 FROM b WHERE t.id=b.id", "update-some|table|t"),
    ("update a join", "UPDATE a JOIN b ON a.i=b.i SET a.x=1", "update-some|table|a"),
    ("merge", "MERGE INTO t USING s ON t.i=s.i WHEN MATCHED THEN DELETE", "delete-some|table|t"),
    ("alter delete", "ALTER TABLE t DELETE WHERE id=1", "delete-some|table|t"),
    ("grant on one database", "GRANT ALL ON mydb.* TO 'u'@'h'", "grant-some||mydb.*"),
    ("grant select", "GRANT SELECT ON *.* TO 'u'@'%'", "grant-some||*.*"),
]


@pytest.mark.parametrize(
    ("sql", "expected"), [case[1:] for case in SOME], ids=[case[0] for case in SOME]
)
def test_tells_the_limited_from_the_unlimited(sql: str, expected: str) -> None:
    assert described(operations_in(sql)) == [expected]


SEVERAL = [
    ("two statements", "DROP TABLE a; TRUNCATE b", ["drop|table|a", "truncate|table|b"]),
    ("a transaction", "BEGIN; DELETE FROM t; ROLLBACK;", ["delete-all|table|t"]),
    ("two drops in one alter", "ALTER TABLE t DROP a, DROP b", None),
    ("no separator", "SELECT 1 DELETE FROM a DELETE FROM b WHERE i=1", None),
    ("a guard", "IF EXISTS (SELECT 1) DROP TABLE x", ["drop|table|x"]),
    ("batches", "SELECT 1\nGO\nDROP TABLE x\nGO", ["drop|table|x"]),
    ("an analysed plan", "EXPLAIN ANALYZE DELETE FROM x", ["delete-all|table|x"]),
    ("analysed by option", "EXPLAIN (ANALYZE) DELETE FROM x", ["delete-all|table|x"]),
    ("behind a routine", "CREATE TRIGGER t BEGIN SELECT 1; END; DROP TABLE z", ["drop|table|z"]),
    ("a body left open", "CREATE TRIGGER t BEGIN SELECT 1; DROP TABLE z", ["drop|table|z"]),
    ("an open bracket", "SELECT (1; DROP TABLE z", ["drop|table|z"]),
    ("temporary after", "DROP TABLE t; CREATE TEMP TABLE t (a int)", ["drop|table|t"]),
    ("one of two temporary", "CREATE TEMP TABLE t (a int); DROP TABLE t, u", ["drop|table|t, u"]),
]


@pytest.mark.parametrize(
    ("sql", "expected"), [case[1:] for case in SEVERAL], ids=[case[0] for case in SEVERAL]
)
def test_finds_every_statement(sql: str, expected: list[str] | None) -> None:
    found = described(operations_in(sql))

    assert found == expected if expected is not None else len(found) == 2


RUN_AS_SQL = [
    ("an executable comment", "/*!50000 DROP TABLE x */"),
    ("a mariadb comment", "/*M! DROP TABLE x */"),
    ("execute immediate", "EXECUTE IMMEDIATE 'DROP TABLE x'"),
    ("execute a sum", "EXEC('DR' + 'OP TABLE x')"),
    ("sp_executesql", "EXEC sp_executesql N'DROP TABLE x'"),
    ("prepare", "PREPARE q FROM 'DROP TABLE x'; EXECUTE q"),
    ("prepare in double quotes", 'PREPARE q FROM "DROP TABLE x"'),
    ("prepare a variable", "SET @s = 'DROP TABLE x'; PREPARE q FROM @s"),
    ("declare a variable", "DECLARE @s nvarchar(9) = 'DROP TABLE x'; EXEC(@s) EXEC @s"),
    ("a block", "DO $$ BEGIN DROP TABLE x; END $$"),
    ("a block in a block", "DO $$ BEGIN EXECUTE 'DROP TABLE x'; END $$"),
    ("a block with a guard", "DO $$ BEGIN IF true THEN DROP TABLE x; END IF; END $$"),
    ("an escape string", "SELECT E'\\''; DROP TABLE x"),
    ("a hash that is no comment", "SELECT 1 # 2; DROP TABLE x"),
    ("a hash that is one", "SELECT 1 # it's\n; DROP TABLE x"),
    ("a backslash that escapes", "SELECT 'a\\'; SELECT '; DROP TABLE x"),
    ("a backslash that does not", "SELECT 'a\\'; DROP TABLE x; SELECT '"),
    ("two dashes that are minus", "SELECT 1--1; DROP TABLE x"),
    ("a nested comment", "/* /* */ '*/ DROP TABLE x; --'"),
    ("an end in mysql", "SELECT 1\\G DROP TABLE x"),
]


@pytest.mark.parametrize(
    "sql", [case[1] for case in RUN_AS_SQL], ids=[case[0] for case in RUN_AS_SQL]
)
def test_looks_into_text_that_the_server_runs(sql: str) -> None:
    assert "drop|table|x" in described(operations_in(sql))


def test_looks_only_a_few_levels_deep() -> None:
    text = "DROP TABLE x"
    for _ in range(10):
        quoted = text.replace("'", "''")
        text = f"EXECUTE IMMEDIATE '{quoted}'"

    assert described(operations_in(text)) == []


def test_cuts_a_long_target() -> None:
    (found,) = operations_in("DROP TABLE " + ", ".join(f"t{number}" for number in range(99)))

    assert len(found.target) <= 200


SQL_LINES = [
    "DROP TABLE users;",
    "drop database if exists x",
    "delete from users",
    "  DELETE FROM `users` WHERE 1",
    "truncate table x",
    "alter table t add c int",
    "UPDATE users SET a = 1",
    "update t as u set a = 1",
    "insert into t values (1)",
    "REPLACE INTO t VALUES (1)",
    "create table t (a int)",
    "create or replace view v as select 1",
    "merge into t using s",
    "grant all on *.* to bob",
    "revoke all on t from bob",
    "select a, b from t",
    "SELECT\n*\nFROM t",
    "with x as (select 1) delete from t",
    "begin; drop table x",
    "use db; drop table x",
    "explain analyze delete from t",
    "exec xp_cmdshell 'dir'",
    "execute immediate 'drop table x'",
]


@pytest.mark.parametrize("line", SQL_LINES)
def test_knows_a_line_of_sql(line: str) -> None:
    assert looks_like_sql(line)


OTHER_LINES = [
    "",
    "update-alternatives --config editor",
    "update",
    "update set",
    "select x in a b c; do echo $x; done",
    "select",
    "grant",
    "drop",
    "drop table",
    "delete",
    "delete from",
    "truncate -s 0 file",
    "truncate --size 0 table x",
    "alter",
    "insert",
    "create-react-app x",
    "echo DROP TABLE users",
    "psql -c 'DROP TABLE users'",
    "dropdb users",
    "with-env npm run x",
    "exec bash",
    "execute this",
    "begin",
    "use node",
    "merge into",
    "grant access",
]


@pytest.mark.parametrize("line", OTHER_LINES)
def test_leaves_other_lines_alone(line: str) -> None:
    assert not looks_like_sql(line)


MONGO: list[tuple[str, list[str]]] = [
    ("db.dropDatabase()", ["drop|database|"]),
    ("db.orders.drop()", ["drop|collection|orders"]),
    ("db.getCollection('orders').drop()", ["drop|collection|orders"]),
    ("db['orders'].drop()", ["drop|collection|orders"]),
    ("db.dropCollection('x')", ["drop|collection|x"]),
    ("db.users.deleteMany({})", ["delete-all|collection|users"]),
    ("db.users.deleteMany({status: 'old'})", ["delete-some|collection|users"]),
    ("db.users.deleteOne({})", ["delete-some|collection|users"]),
    ("db.users.remove({ })", ["delete-all|collection|users"]),
    ("db.users.remove()", ["delete-all|collection|users"]),
    ("db.users.updateMany({}, {$set: {a: 1}})", ["update-all|collection|users"]),
    ("db.users.updateMany({a: 1}, {$set: {a: 1}})", ["update-some|collection|users"]),
    ("const c = db.users; c.drop()", ["drop|collection|users"]),
    ("db.getSiblingDB('p').dropDatabase()", ["drop|database|p"]),
    ("db.runCommand({dropDatabase: 1})", ["drop|database|"]),
    ("db.adminCommand({ shutdown: 1 })", ["shutdown|database|"]),
    ("db.runCommand({ping: 1})", []),
    ("db.runCommand(x)", []),
    ("db.runCommand()", []),
    ("db._drop('orders')", ["drop|collection|orders"]),
    ("rs.remove('db2:27017')", ["admin|server|remove"]),
    ("rs.status()", []),
    ("db.users.find({})", []),
    ("db.users.countDocuments()", []),
    ("print('db.dropDatabase()')", []),
    ("list.remove({})", []),
    ("// db.dropDatabase()", []),
]


@pytest.mark.parametrize(("script", "expected"), MONGO, ids=[case[0] for case in MONGO])
def test_tells_what_a_mongo_script_does(script: str, expected: list[str]) -> None:
    assert described(mongo_operations_in(script)) == expected


REDIS: list[tuple[str, list[str]]] = [
    ("FLUSHALL", ["delete-all|server|"]),
    ("FlushAll ASYNC", ["delete-all|server|ASYNC"]),
    ("flushdb", ["delete-all|database|"]),
    ("DEL a b", ["delete-some|keys|a b"]),
    ("UNLINK a b", ["delete-some|keys|a b"]),
    ("UNLINK a", ["delete-some|key|a"]),
    ("shutdown nosave", ["shutdown|server|nosave"]),
    ("debug segfault", ["admin|server|segfault"]),
    ("config set maxmemory 1", ["admin|server|maxmemory 1"]),
    ("config set dir /etc/cron.d", ["file-write|server|dir /etc/cron.d"]),
    ("config set", ["admin|server|"]),
    ("config get dir", []),
    ("script flush", ["drop|script|"]),
    ("replicaof 1.2.3.4 6379", ["admin|server|1.2.3.4 6379"]),
    ("module load /tmp/x.so", ["execute|module|/tmp/x.so"]),
    ("get key", []),
    ("ping", []),
    ("", []),
]


@pytest.mark.parametrize(("line", "expected"), REDIS, ids=[case[0] for case in REDIS])
def test_tells_what_a_redis_command_does(line: str, expected: list[str]) -> None:
    assert described(redis_operations_in(line.split())) == expected
    assert described(redis_operations_in([line])) == expected


def test_reads_a_script_for_redis() -> None:
    script = (
        "local x = redis.call('FLUSHALL'); redis.pcall('GET', KEYS[1]); redis.log(1); redis.call()"
    )

    assert described(redis_operations_in(["EVAL", script, "0"])) == ["delete-all|server|"]
    assert described(redis_operations_in(["eval"])) == []
    assert described(redis_operations_in([])) == []


words = st.sampled_from(
    "DROP TABLE DELETE FROM UPDATE SET WHERE 1 = ( ) ; ' \" ` [ ] $$ $a$ -- # /* */ /*! \\ \\! \n"
    " x . , OR AND NOT CREATE TRIGGER BEGIN END CASE EXEC @v 'DROP' EXPLAIN WITH AS GRANT ALL"
    " ON TO MERGE THEN COPY PROGRAM ALTER || BETWEEN \x00 \ud800 .shell".split(" ")
)
scraps = st.lists(words, max_size=40).map(" ".join) | st.text(max_size=60)


@given(scraps)
def test_reads_any_text_and_always_alike(text: str) -> None:
    assert operations_in(text) == operations_in(text)
    assert looks_like_sql(text) in {True, False}
    assert mongo_operations_in(text) == mongo_operations_in(text)
    assert redis_operations_in(text.split()) == redis_operations_in(text.split())


@given(scraps)
def test_never_finds_anything_in_a_string(text: str) -> None:
    quoted = text.replace("'", "''").replace("\\", "")

    assert operations_in(f"INSERT INTO t VALUES ('{quoted}')") == []


@given(scraps)
def test_keeps_its_targets_short(text: str) -> None:
    for found in operations_in(text):
        assert len(found.target) <= 200


@pytest.mark.large
@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "'",
        '"',
        "[a",
        "/*",
        "$a$",
        "\\",
        " ",
        "DELETE FROM a ",
        "WITH a AS (",
        "1=(1+",
        "--a\n",
    ],
)
def test_reads_much_text_in_little_time(unit: str) -> None:
    text = "DELETE FROM t WHERE " + unit * (16_384 // len(unit))
    start = time.process_time()
    operations_in(text)

    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "drop table a",
        "SELECT 1; DROP TABLE a",
        "-- hello\ndrop table a",
        "/* hello */ drop table a",
        "SET x = 1;\n/* a */ ; delete from a",
        "COPY a FROM PROGRAM 'x'",
        "copy (select 1) to '/tmp/x'",
        "DO $$ BEGIN END $$",
        "do language plpgsql $x$ BEGIN END $x$",
        "ATTACH DATABASE 'x' AS y",
    ],
)
def test_every_statement_of_a_text_may_be_the_one_that_is_sql(text: str):
    assert holds_sql(text)


@pytest.mark.parametrize(
    "text",
    ["", ";", "how to drop table users", "do it; then copy a to b", "attach the file", "SELECT 1"],
)
def test_prose_holds_no_sql(text: str):
    assert not holds_sql(text)
