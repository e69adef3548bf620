"""What services are told by settings, in options and bodies, and machines that are stopped."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_CLOUDS = ("exo", "scw", "upctl", "civo", "ibmcloud", "yc")
_GUARDS = ("deletion-protection", "backup", "versioning", "audit-logging", "termination-protection")
_OPENINGS = ("0.0.0.0/0", "::/0", "'*'", "10.0.0.0/8,0.0.0.0/0")
_LETS_IN = ("--source", "--ingress-cidr", "--authorized-networks", "--allowed-ips")
_COPIES = ("--replicas", "--desired-capacity", "--nodes", "--instance-count")
_MACHINES = ("server", "instance", "vm", "node", "cluster", "machines")
_HALTS = ("stop", "shutdown", "poweroff", "reboot", "pause")
_CHANGES = ("curl -X PATCH <host> -d <body>", "curl -X PUT <host> --json <body>")
_HOST = ("https://api.vendor.example/v1/things/1",)
_HOSTS_NEAR = ("http://localhost:3000/v1/things/1", "http://127.0.0.1:5000/things/1")
_BODIES = (
    '\'{"archived":true}\'', '\'{"suspended": true}\'', '\'{"enabled": false}\'',
    '\'{"active":false}\'', '\'{"replicas":0}\'', '\'{"quantity": 0}\'',
    '\'{"private":false}\'', '\'{"visibility":"public"}\'', '\'{"permission":"admin"}\'',
    '\'{"deletion_protection": false}\'', '\'{"source":"0.0.0.0/0"}\'',
)  # fmt: skip
_PLAIN_BODIES = (
    '\'{"archived":false}\'', '\'{"enabled": true}\'', '\'{"replicas":3}\'', '\'{"private":true}\'',
    '\'{"visibility":"private"}\'', '\'{"permission":"read"}\'', '\'{"min_replicas":0}\'',
    '\'{"deletion_protection": true}\'', '\'{"source":"10.0.0.0/8"}\'', '\'{"title":"0"}\'',
)  # fmt: skip
_ORDERS = (
    '\'{"actions":[{"remove_index":{"index":"i"}}]}\'', '\'{"delete":{"query":"*:*"}}\'',
    "'<delete><query>*:*</query></delete>'", '\'{"requests":[{"drop_table":{"name":"t"}}]}\'',
)  # fmt: skip
_PLAIN_ORDERS = (
    '\'{"actions":[{"add":{"index":"i"}}]}\'', '\'{"query":{"match":{"a":"delete"}}}\'',
    "'<add><doc>delete</doc></add>'", '\'{"deleted":{"from":1}}\'',
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Yield settings that take a service down or lay it open, and those of everyday work."""
    yield from _protection()
    yield from _openings()
    yield from _copies()
    yield from _machines()
    yield from _bodies()


def _protection() -> Iterator[Case]:
    yield from asked("<cli> db update d1 --no-<guard>", cli=_CLOUDS, guard=_GUARDS)
    yield from asked(
        "<cli> db update d1 --<guard>=<off>",
        "<cli> db update d1 --<guard> <off>",
        cli=_CLOUDS[:2],
        guard=_GUARDS,
        off=("false", "off", "disabled"),
    )
    yield from asked("<cli> db update d1 --no-enabled", cli=_CLOUDS)
    yield from free(
        "<cli> db update d1 --<guard>",
        "<cli> db update d1 --<guard>=true",
        "<cli> db create d1 --no-<guard>",
        "<cli> db show d1 --no-<guard>",
        cli=_CLOUDS[:2],
        guard=_GUARDS,
    )


def _openings() -> Iterator[Case]:
    yield from asked(
        "<cli> firewall create f <option> <who>", cli=_CLOUDS[:3], option=_LETS_IN, who=_OPENINGS
    )
    yield from asked("<cli> bucket update b --public-access <on>", cli=_CLOUDS, on=("on", "true"))
    yield from asked("<cli> bucket update b --visibility public", cli=_CLOUDS)
    yield from free(
        "<cli> firewall create f <option> 10.0.0.0/8",
        "<cli> firewall list <option> 0.0.0.0/0",
        cli=_CLOUDS[:3],
        option=_LETS_IN,
    )
    yield from free(
        "<cli> bucket update b --public-access off",
        "<cli> bucket update b --no-public-access",
        "<cli> server update s --ssh-public-key ~/k.pub",
        "<cli> route create r --destination 0.0.0.0/0",
        "<cli> firewall create f --egress-cidr-allowed-destination 0.0.0.0/0",
        "<cli> repo create r --public",
        "<cli> note edit n --body 'the source: * is public: true'",
        cli=_CLOUDS[:3],
    )


def _copies() -> Iterator[Case]:
    yield from asked(
        "<cli> pool update p <option> 0",
        "<cli> pool update p <option>=0",
        cli=_CLOUDS[:3],
        option=_COPIES,
    )
    yield from asked("<cli> pool update p --scaling desiredSize=0,maxSize=0", cli=_CLOUDS[:3])
    yield from free(
        "<cli> pool update p <option> 10",
        "<cli> pool list <option> 0",
        "<cli> pool create p <option> 0",
        cli=_CLOUDS[:3],
        option=_COPIES,
    )
    yield from free("<cli> pool update p --min-replicas 0 --retry-count 0", cli=_CLOUDS[:3])


def _machines() -> Iterator[Case]:
    yield from asked("<cli> <noun> <verb> m1", cli=_CLOUDS[:2], noun=_MACHINES, verb=_HALTS)
    yield from asked("shipyard <noun> <verb> m1", noun=_MACHINES[1:], verb=_HALTS)
    yield from asked("shipyard <noun>-<verb> m1", noun=_MACHINES[1:4], verb=_HALTS)
    yield from free("shipyard server <verb>", "shipyard server <verb> 8888", verb=_HALTS[:1])
    yield from free("bluetoothctl power off", "pactl set-sink-mute 0 toggle")
    yield from free("vercel deploy --prebuilt --public")
    yield from asked("bmctool chassis power <how>", how=("off", "cycle", "reset"))
    yield from asked("shardctl <noun> remove n1", "ringadm <noun> rm n1", noun=("node", "user"))
    yield from free("shipyard <noun> start m1", "shardctl <noun> list", noun=_MACHINES)
    yield from free("shipyard <verb>", verb=("stop", "pause", "off"))
    yield from free("shipyard music <verb>", "playerctl <verb>", verb=("stop", "pause"))
    yield from free("bmctool chassis power status", "bmctool chassis power", "numactl -N 0 make a")
    yield from asked("curl -X POST <host>/<verb>", host=_MACHINE_HOSTS, verb=_HALTS)
    yield from asked('curl -X POST <host>/actions -d \'{"type":"power_off"}\'', host=_MACHINE_HOSTS)
    yield from free("curl -X POST <host>/start", "curl <host>/stop", host=_MACHINE_HOSTS)
    yield from free('curl -X POST <host>/actions -d \'{"type":"power_on"}\'', host=_MACHINE_HOSTS)
    yield from free("curl -X POST https://api.vendor.example/players/1/pause")


_MACHINE_HOSTS = ("https://api.vendor.example/v1/servers/42", "api.vendor.example/instances/i-1")


def _bodies() -> Iterator[Case]:
    yield from asked(*_CHANGES, host=_HOST, body=_BODIES)
    yield from free(*_CHANGES, host=_HOST, body=_PLAIN_BODIES)
    yield from free(*_CHANGES, host=_HOSTS_NEAR, body=_BODIES)
    yield from asked("curl <host> -d <body>", host=_HOST, body=_ORDERS)
    yield from free("curl <host> -d <body>", host=_HOST, body=_PLAIN_ORDERS)
    for port in ("4566", "8000"):
        endpoint = f"http://localhost:{port}"
        yield from free(f"aws --endpoint-url {endpoint} dynamodb delete-table --table-name t")
        yield from free(f"aws --endpoint-url={endpoint} dynamodb delete-table --table-name t")
    yield from asked("aws --endpoint-url https://db.example dynamodb delete-table --table-name t")
    yield from free("<cli> things delete -h", cli=_CLOUDS[:4])
    yield from asked("<cli> things delete -h web", cli=_CLOUDS)
