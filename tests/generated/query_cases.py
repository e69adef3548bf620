"""Queries and lines for consoles that programs nobody knows are told, and commands for others."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_TAKES_AWAY = (
    "DROP TABLE users", "drop database prod", "TRUNCATE TABLE users", "DELETE FROM users",
    "update users set active = false", "DROP STREAM clicks", "alter table users drop column email",
)  # fmt: skip
_LOOKS = ("SELECT 1 FROM users", "select drop_rate from t", "insert into t values (1)")
_TOLD = (
    'acmedb "<text>"', 'vendorsql -c "<text>"', 'shardtool sql "<text>"', 'lakectl query "<text>"',
    'warehouse --sql "<text>"', 'warehouse --query="<text>"', 'warehouse run --statement "<text>"',
    'cluster-x -q "<text>"', 'cluster-x -e "<text>"', 'dolt sql -q "<text>"', 'db2 "<text>"',
    'sqlite-utils query app.db "<text>"', "echo '<text>;' | vendorsql -h db",
    "sqlplus x <<< '<text>;'",
)  # fmt: skip
_ROUTINES = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity", "select drop_chunks('m', 'x')",
    "SELECT pg_drop_replication_slot('s')", "CALL mysql.rds_kill(3)", "CALL purge_orders (7)",
    "EXEC msdb.dbo.sp_delete_job @job_name = 'n'", "STOP REPLICA", "STOP GROUP_REPLICATION",
    "ALTER TABLE t DISABLE ROW LEVEL SECURITY", "ALTER DATABASE d SET OFFLINE",
)  # fmt: skip
_PLAIN_ROUTINES = (
    "SELECT array_remove(a, 1) FROM t", "SELECT json_delete(a) FROM t", "SELECT is_deleted(a)",
    "INSERT INTO delete_log (a) VALUES (1)", "CREATE TABLE drop_rates (a int)",
    "SELECT a FROM t JOIN kill_list (a) ON true", "SELECT delete_reason FROM t",
    "CREATE INDEX i ON purge_queue (a)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    "EXEC sp_help_job", "START REPLICA",
)  # fmt: skip
_GRAPH = ("MATCH (n) DETACH DELETE n", "match (n:User) delete n", "DROP DATABASE neo4j")
_GRAPH_LOOKS = ("MATCH (n) RETURN count(n)", "MATCH (n {id: 1}) DELETE n", "CREATE (n:User)")
_STORE = (
    'rs.remove("db2:27017")', "rs.stepDown()", 'sh.removeShard("s1")', "db.users.drop()",
    "db.users.deleteMany({})",
)  # fmt: skip
_STORE_LOOKS = ("rs.status()", "sh.status()", "db.users.find()", "rs.conf()")
_LINES = ("rm -rf /srv/data", "sudo rm -rf /var/lib/app", "dd if=/dev/zero of=/dev/sda")
_FOR_OTHERS = (
    "fleet -H prod -- '<line>'", "fleet ssh web '<line>'", "fleet exec all '<line>'",
    "bolt command run '<line>' -t all", "knife ssh 'name:*' '<line>'",
    "az aks command invoke -g g -n c -c '<line>'", "az aks command invoke --command '<line>' -n c",
)  # fmt: skip
_PLAIN_LINES = ("ls -la /srv/data", "uptime", "cat /srv/app/version")


def cases() -> Iterator[Case]:
    """Yield what takes data away by a query or a line that is handed over, and its siblings."""
    yield from asked(*_TOLD, text=_TAKES_AWAY)
    yield from free(*_TOLD, text=_LOOKS)
    yield from free("notes add --title '<text>'", "tickets create '<text>'", text=_TAKES_AWAY)
    yield from free("acmedb --title='<text>'", "ugrep -e '<text>'", text=_TAKES_AWAY[:3])
    yield from asked('psql -c "<text>"', 'mysql -e "<text>"', text=_ROUTINES)
    yield from free('psql -c "<text>"', 'mysql -e "<text>"', text=_PLAIN_ROUTINES)
    yield from asked("cypher-shell '<text>'", "cypher-shell <<< '<text>'", text=_GRAPH)
    yield from free("cypher-shell '<text>'", "cypher-shell <<< '<text>'", text=_GRAPH_LOOKS)
    yield from asked("mongosh --eval '<text>'", text=_STORE)
    yield from free("mongosh --eval '<text>'", text=_STORE_LOOKS)
    code = ('db._dropDatabase("x")', 'db._drop("users")', "db.users.truncate()")
    yield from asked("arangosh --javascript.execute-string '<text>'", text=code)
    yield from free("arangosh --javascript.execute-string 'db._query(\"RETURN 1\")'")
    lines = ("drop 'users'", "delete /users", "disable 'users'; drop 'users'")
    yield from asked('echo "<line>" | tables shell', 'stores-shell <<< "<line>"', line=lines)
    yield from free('echo "<line>" | tables load', 'note-taker <<< "<line>"', line=lines)
    yield from free('echo "<line>" | tables shell', line=("list", "scan 'users'"))
    yield from asked(*_FOR_OTHERS, line=_LINES)
    yield from free(*_FOR_OTHERS, line=_PLAIN_LINES)
    yield from asked(*_FOR_OTHERS[3:], line=("shutdown now", "systemctl stop web"))
