"""Destructive verbs in the grammars of vendors, in requests, and in consoles of frameworks."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_VERBS = (
    "delete", "destroy", "purge", "terminate", "revoke", "rollback", "cancel", "suspend", "drain",
    "expire", "void", "refund", "downgrade", "undo", "revert", "archive", "deactivate",
    "decommission", "deprovision", "unpublish", "wipe", "drop", "invalidate",
)  # fmt: skip
"""What destroys whatever the program: it may be one that nobody has heard of."""
_SERVICE_VERBS = (
    "remove", "rm", "restore", "roll", "rotate", "reset", "disable", "detach", "flush", "clear",
    "truncate", "unregister", "forget", "evict", "failover", "rekey", "regenerate", "abort",
    "abandon", "rebuild", "reimage", "kill", "unlink", "unbind", "cordon", "evacuate",
)  # fmt: skip
_SERVICES = (
    "stripe", "supabase", "confluent", "doctl", "scw", "vault", "okta", "temporal", "databricks",
    "atlas", "neonctl", "sentry-cli", "appwrite", "clever", "flyctl", "ibmcloud", "openstack",
)  # fmt: skip
_LOOKING = ("list", "get", "describe", "show", "status", "info", "view", "search")
_MAKING = ("create", "add", "update", "new", "set")
_NOUNS = ("orders", "service-accounts", "api_keys")

_BODIES = (
    '{"query":"mutation { <call> { id } }"}',
    '{"query": "mutation Go($id: ID!) { <call> { ok } }", "variables": {"id": 1}}',
    '{"query":"mutation{a:<call>{id}}"}',
)
_HOSTS = ("https://api.vendor.example", "api.vendor.example", "https://api.vendor.example:8443")
_SENT = (
    "curl -X POST <host><path>",
    "curl -XPOST <host><path>",
    "curl -s --request POST <host><path>",
    "curl <host><path> -d x=1",
    "curl --json '{}' <host><path>",
    "curl -H 'Authorization: Bearer t' -X PUT <host><path>",
    "http POST <host><path>",
    "xh patch <host><path> a=b",
    "wget --method=POST <host><path>",
    "wget --post-data=a=b <host><path>",
    "Invoke-RestMethod -Method Post -Uri <host><path>",
)
_DESTROYED = (
    "/v1/subscriptions/s_1/cancel",
    "/v1/keys/k1/revoke",
    "/v1/keys/k1/roll",
    "/instances/42/terminate",
    "/zones/9/purge_cache",
    "/deployments/7/rollback",
    "/users/7/deactivate",
    "/items/bulkDelete",
)
_CODE = {
    "rails runner '<code>'": (
        "User.delete_all",
        "Order.destroy_all",
        "User.where(a: 1).delete_all",
    ),
    "bin/rails r '<code>'": ("User.delete_all", "Post.unscoped.destroy_all"),
    "echo '<code>' | rails console": ("User.delete_all", "Post.destroy_all"),
    "bundle exec rails c <<< '<code>'": ("User.delete_all", "Post.destroy_all"),
    "python manage.py shell -c '<code>'": (
        "User.objects.all().delete()",
        "from a.models import U; U.objects.all().delete()",
        "Order.objects.filter().delete()",
    ),
    "./manage.py shell_plus --command='<code>'": ("User.objects.all().delete()",),
    "python3 manage.py shell <<< '<code>'": ("User.objects.all().delete()",),
    "php artisan tinker --execute='<code>'": (
        "User::truncate();",
        'DB::table("users")->delete();',
        "User::query()->delete();",
    ),
    "echo '<code>' | php artisan tinker": ("User::truncate();",),
    "flask shell <<< '<code>'": ("db.drop_all()",),
    "mix run -e '<code>'": ("Repo.delete_all(User)",),
    "wp eval '<code>'": ("wp_delete_post(1, true);",),
    "wp db query '<code>'": ("DROP TABLE users", "TRUNCATE TABLE users", "DELETE FROM users"),
    "wrangler d1 execute db --command '<code>'": ("DROP TABLE users", "DELETE FROM users"),
    "heroku pg:psql -c '<code>'": ("DROP TABLE users", "DELETE FROM users"),
    "./manage.py dbshell -- -c '<code>'": ("DROP TABLE users",),
}
_READ_CODE = {
    "rails runner '<code>'": ("puts User.count", "User.where(active: true).each { |u| puts u.id }"),
    "python manage.py shell -c '<code>'": (
        "print(1)",
        "from a.models import U; print(U.objects.count())",
        "User.objects.filter(id=1).update(a=2)",
    ),
    "php artisan tinker --execute='<code>'": ("echo User::count();", "dump(config('app'));"),
    "wp db query '<code>'": ("SELECT 1", "SELECT post_title FROM wp_posts"),
    "wrangler d1 execute db --command '<code>'": ("SELECT * FROM users",),
    "heroku pg:psql -c '<code>'": ("SELECT 1",),
}
_MIGRATIONS_BACK = (
    "alembic downgrade -1", "alembic downgrade base", "flask db downgrade", "goose down",
    "goose -dir db postgres dsn down-to 3", "goose reset", "migrate -path db -database dsn down 1",
    "migrate -path db -database dsn drop -f", "dbmate rollback", "dbmate drop", "dbmate down",
    "flyway undo", "flyway clean", "liquibase rollback-count 1", "liquibase rollback v1",
    "liquibase drop-all", "sqitch revert", "sqlx migrate revert", "sqlx database drop",
    "diesel migration revert", "diesel database reset", "typeorm migration:revert",
    "typeorm schema:drop", "knex migrate:rollback", "knex migrate:down",
    "npx sequelize-cli db:migrate:undo", "npx sequelize-cli db:migrate:undo:all",
    "npx sequelize-cli db:drop", "npx prisma migrate reset", "prisma db push --force-reset",
    "prisma db push --accept-data-loss", "mikro-orm migration:down", "rails db:rollback",
    "rails db:migrate:down VERSION=1", "bin/rails db:drop", "rake db:reset", "mix ecto.rollback",
    "mix ecto.drop", "php artisan migrate:rollback", "php artisan migrate:fresh",
    "php artisan db:wipe", "php bin/console doctrine:schema:drop --force",
    "bin/console doctrine:database:drop --force", "python manage.py flush --no-input",
    "python manage.py migrate app zero", "django-admin flush", "dotnet ef database drop -f",
    "dotnet ef database update 0", "phinx rollback", "yoyo rollback", "atlas migrate down",
    "drizzle-kit drop", "supabase db reset",
)  # fmt: skip
_MIGRATIONS = (
    "alembic upgrade head", "alembic history", "alembic current", "flask db upgrade", "goose up",
    "goose status", "migrate -path db -database dsn up", "dbmate up", "dbmate status",
    "flyway migrate", "flyway info", "liquibase update", "liquibase status", "sqitch deploy",
    "sqlx migrate run", "sqlx migrate info", "diesel migration run", "typeorm migration:run",
    "knex migrate:latest", "knex migrate:status", "npx sequelize-cli db:migrate",
    "npx prisma migrate dev", "npx prisma migrate deploy", "npx prisma generate",
    "prisma migrate status", "mikro-orm migration:up", "rails db:migrate",
    "rails db:migrate:status", "rails db:seed", "mix ecto.migrate", "php artisan migrate",
    "php artisan migrate:status",
    "php artisan cache:clear", "php bin/console doctrine:migrations:migrate",
    "bin/console cache:clear", "python manage.py migrate", "python manage.py showmigrations",
    "dotnet ef database update", "dotnet ef migrations list", "dotnet restore", "phinx migrate",
    "atlas migrate status", "drizzle-kit generate", "supabase db diff",
)  # fmt: skip
_STORES = (
    "redis-cli FLUSHALL", "redis-cli -n 2 FLUSHDB ASYNC", "redis-cli DEL session:1 session:2",
    "redis-cli -h store.example unlink a b", "echo 'DEL a b' | redis-cli",
    "redis-cli --scan --pattern 'user:*' | xargs redis-cli del",
    "mongosh --eval 'db.dropDatabase()'", "mongosh --eval 'db.users.deleteMany({})'",
    "mongosh db --eval 'db.users.drop()'", "cqlsh -e 'DROP KEYSPACE prod'",
    "cqlsh --execute 'TRUNCATE ks.users'", "snow sql -q 'DROP TABLE t'",
)  # fmt: skip
_STORES_READ = (
    "redis-cli GET a", "redis-cli --scan --pattern 'user:*'", "redis-cli TTL a",
    "redis-cli DEL session:1", "redis-cli INFO",
    "mongosh --eval 'db.users.find()'", "mongosh --eval 'db.users.countDocuments()'",
    "cqlsh -e 'SELECT * FROM ks.users'", "snow sql -q 'SELECT 1'",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Yield what takes something away from a service, and its harmless siblings."""
    yield from _sub_commands()
    yield from _requests()
    for template, codes in _CODE.items():
        yield from asked(template, code=codes)
    for template, codes in _READ_CODE.items():
        yield from free(template, code=codes)
    yield from asked(*_MIGRATIONS_BACK, *_STORES)
    yield from free(*_MIGRATIONS, *_STORES_READ)


def _sub_commands() -> Iterator[Case]:
    yield from asked("shipyard <noun> <verb> x1", noun=_NOUNS, verb=_VERBS)
    yield from asked("shipyard <noun>:<verb> x1", noun=_NOUNS[:1], verb=_VERBS)
    yield from asked("<program> <noun> <verb> x1", program=_SERVICES, noun=("things",), verb=_VERBS)
    yield from asked("<program> things <verb> x1", program=_SERVICES[:6], verb=_SERVICE_VERBS)
    yield from asked("stripe <verb>-things x1", verb=(*_VERBS, *_SERVICE_VERBS))
    yield from asked("okta things-<verb> x1", verb=(*_VERBS, *_SERVICE_VERBS))
    yield from free("shipyard <noun> <verb> x1", noun=_NOUNS, verb=(*_LOOKING, *_MAKING))
    yield from free(
        "<program> things <verb> x1", program=_SERVICES, verb=(*_LOOKING[:4], *_MAKING[:2])
    )
    yield from free("stripe restores <verb>", "velero restore <verb> x", verb=_LOOKING)
    yield from free("<program> things delete x1 --help", program=_SERVICES)
    yield from free("<program> things <verb> x1 --dry-run", program=_SERVICES[:4], verb=_VERBS[:6])
    yield from free(
        "<program> cache <verb>",
        "<program> cache:<verb>",
        program=_SERVICES,
        verb=("clear", "prune"),
    )


def _requests() -> Iterator[Case]:
    yield from asked(*_SENT, host=_HOSTS[:1], path=_DESTROYED)
    yield from asked(_SENT[0], _SENT[3], host=_HOSTS[1:], path=(*_DESTROYED, "/v1/refunds"))
    yield from free("curl <host><path>", "http GET <host><path>", host=_HOSTS[:1], path=_DESTROYED)
    yield from free(*_SENT, host=_HOSTS[:1], path=("/v1/items", "/v1/search", "/users/7/notes"))
    yield from free(_SENT[0], host=("http://localhost:3000",), path=_DESTROYED[:3])
    calls = (
        "deleteUser(id: 1)", "revokeKey(id: $id)", "issueDelete(id: 1)", "cancelOrder(id: 1)",
        "delete_users(where: {})", "archiveProject(input: {id: 1})",
    )  # fmt: skip
    for body in _BODIES:
        yield from asked(
            f"curl https://api.vendor.example/graphql -d '{body}'",
            f"curl -X POST --data-raw '{body}' https://api.vendor.example/graphql",
            call=calls,
        )
        yield from free(
            f"curl https://api.vendor.example/graphql -d '{body}'",
            call=("createUser(name: 1)", "updateUser(id: 1)", "addComment(id: 1)"),
        )
    yield from asked("gh api graphql -f query='mutation { <call> { id } }'", call=calls)
    yield from free("gh api graphql -f query='query { <call> { id deletedAt } }'", call=("viewer",))
    yield from asked(
        'curl -X PATCH https://api.vendor.example/v1/users/1 -d \'{"<key>":"<state>"}\'',
        key=("state", "status"),
        state=("archived", "cancelled", "deactivated", "suspended", "revoked", "deleted"),
    )
    yield from free(
        'curl -X PATCH https://api.vendor.example/v1/users/1 -d \'{"<key>":"<state>"}\'',
        key=("state", "status", "name"),
        state=("active", "open", "enabled", "done"),
    )
    yield from asked(
        "<tool> https://api.vendor.example/v1/users/1",
        tool=(
            "curl -X DELETE", "curl --request=DELETE", "curl -sXDELETE", "http DELETE", "xh delete",
            "wget --method=DELETE", "Invoke-WebRequest -Method DELETE -Uri", "curl -X PURGE",
        ),
    )  # fmt: skip
