"""Where an address leads: an official index, a forge, this machine, or somebody in disguise."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

OFFICIAL: Final = "official"
LOCAL: Final = "local"
FORGE: Final = "forge"
"""A well-known host where anybody may keep a repository."""
FOREIGN: Final = "foreign"
RAW: Final = "raw"
"""A number on the internet instead of a name."""
NEIGHBOUR: Final = "neighbour"
"""A number in a network of one's own: not this machine, and nobody knows whose."""
SHORTENED: Final = "shortened"
DISGUISED: Final = "disguised"
"""A host that is meant to be taken for another one."""
SHORTHAND: Final = "shorthand"
"""`user/repository`, which some programs look for at a forge."""
FETCHED: Final = "fetched"
"""A file here that came from another machine on the same line."""
ELSEWHERE: Final = frozenset((FORGE, FOREIGN, RAW, NEIGHBOUR, SHORTENED, DISGUISED))
"""Neither this machine nor an official index."""
NAMES: Final = (
    OFFICIAL, LOCAL, FORGE, FOREIGN, RAW, NEIGHBOUR, SHORTENED, DISGUISED, SHORTHAND,
    FETCHED,
)  # fmt: skip

_ADDRESS: Final = r"(?s)(?:.*[\s:@])?([A-Za-z][\w.+-]{0,30})://([^/?#\s,;'\"()<>]*)"
_SSH: Final = r"(?:[\w.-]{1,60}@)([\w.-]{1,200}):(?!\d{1,5}(?:/|$)).+"
_SHORT_FORGE: Final = r"(?:(?:github|gitlab|bitbucket|gist|gh|gl|bb|sourcehut):|github\.com/).+/.+"
_SHORTHAND: Final = r"[A-Za-z0-9][\w.-]{0,80}/[\w.-]{1,100}(?:#.{0,200})?"
_HOST: Final = r"([^/?#\s@:]{1,200})(?::\d{1,5})?(?:[/?#].*)?"
_PATH: Final = ("./", "../", "/", "~", "file:", ".\\")
_LOCAL_NAME: Final = r".*\.(?:local|localhost|internal|lan|home|corp|intranet|svc|test)|[^.]*"
_NUMBERS: Final = r"\d{1,3}(?:\.\d{1,3}){3}"
_ODD_NUMBERS: Final = r"(?:0x[0-9a-f]{1,8}|\d{1,12})(?:\.(?:0x[0-9a-f]{1,8}|\d{1,10})){0,3}"
_THIS_MACHINE: Final = r"(?:127|0)\..*|\[::1?\]"
_NEIGHBOURS: Final = (
    r"10\..*|192\.168\..*|169\.254\..*|172\.(?:1[6-9]|2\d|3[01])\..*"
    r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\..*|\[(?:fe80|f[cd]).*\]"
)

_OFFICIAL: Final = frozenset(
    "pypi.org pypi.python.org test.pypi.org files.pythonhosted.org pythonhosted.org"
    " download.pytorch.org data.pyg.org pypi.nvidia.com pypi.ngc.nvidia.com"
    " registry.npmjs.org registry.npmjs.com registry.yarnpkg.com registry.npmmirror.com npm.jsr.io"
    " jsr.io rubygems.org index.rubygems.org crates.io index.crates.io static.crates.io"
    " proxy.golang.org sum.golang.org goproxy.io goproxy.cn golang.org go.dev gopkg.in"
    " google.golang.org go.uber.org honnef.co mvdan.cc k8s.io sigs.k8s.io gotest.tools go.etcd.io"
    " go.opentelemetry.io cloud.google.com modernc.org gorm.io gonum.org entgo.io goa.design"
    " rsc.io filippo.io gocloud.dev buf.build connectrpc.com helm.sh istio.io knative.dev"
    " repo.maven.apache.org repo1.maven.org central.sonatype.com maven.google.com dl.google.com"
    " plugins.gradle.org services.gradle.org repo.spring.io packagist.org repo.packagist.org"
    " api.nuget.org www.nuget.org hex.pm repo.hex.pm hackage.haskell.org cran.r-project.org"
    " cloud.r-project.org cpan.org metacpan.org luarocks.org pub.dev conda.anaconda.org"
    " repo.anaconda.com flathub.org dl.flathub.org dl-cdn.alpinelinux.org deb.debian.org"
    " archive.ubuntu.com security.ubuntu.com packages.microsoft.com download.docker.com"
    " mirrors.fedoraproject.org registry.terraform.io formulae.brew.sh cache.nixos.org nixos.org"
    " docker.io index.docker.io registry-1.docker.io ghcr.io quay.io gcr.io public.ecr.aws"
    " mcr.microsoft.com registry.k8s.io registry.gitlab.com nvcr.io registry.access.redhat.com"
    " registry.redhat.io docker.elastic.co cgr.dev lscr.io".split()
)
_OFFICIAL_BELOW: Final = (
    ".gcr.io", ".pkg.dev", ".amazonaws.com", ".azurecr.io", ".golang.org", ".pythonhosted.org",
    ".debian.org", ".ubuntu.com", ".alpinelinux.org", ".fedoraproject.org", ".k8s.io",
)  # fmt: skip
_FORGES: Final = (
    "github.com", "githubusercontent.com", "github.io", "gitlab.com", "bitbucket.org",
    "codeberg.org", "gitea.com", "sr.ht", "sourceforge.net", "huggingface.co", "gitee.com",
    "salsa.debian.org", "savannah.gnu.org", "kernel.org",
)  # fmt: skip
_SHORTENERS: Final = frozenset(
    "bit.ly tinyurl.com t.co goo.gl is.gd v.gd rb.gy cutt.ly ow.ly buff.ly shorturl.at t.ly".split()
)

_IMITATED: Final[dict[str, frozenset[str]]] = {
    name: frozenset(endings.split())
    for name, endings in (
        ("github", "com io dev blog net org app"),
        ("githubusercontent", "com"),
        ("gitlab", "com io net org cn"),
        ("bitbucket", "org com io"),
        ("pypi", "org io python"),
        ("pythonhosted", "org"),
        ("npmjs", "com org"),
        ("yarnpkg", "com"),
        ("rubygems", "org"),
        ("huggingface", "co com"),
        ("docker", "com io"),
        ("nodejs", "org dev"),
        ("golang", "org"),
        ("crates", "io"),
        ("anaconda", "org com cloud"),
        ("kubernetes", "io dev"),
    )
}
"""Hosts of code that others pretend to be, with the endings under which they are themselves."""
_TYPED_WRONG: Final = 6
"""From how many letters on a name that differs by one is no other name."""
_LETTERS: Final = str.maketrans(
    "аеорсухіјѕԁӏһոѵԛԝкмтвнгαορνικτυεχηγωɡıł",
    "aeopcyxijsdlhnvqwkmtbhraopviktuexnywgil",
)
"""Letters of other scripts that look like Latin ones."""
_DIGITS: Final = str.maketrans("0134578i", "oleastbl")
_OTHER_SCRIPTS: Final = frozenset(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"))


@lru_cache(maxsize=512)
def origin_of(word: str) -> str:
    """Return where the address in a word leads; nothing where it holds none."""
    if word.startswith(_PATH):
        return LOCAL
    found = re.match(_ADDRESS, word)
    if found is not None:
        if found[1].lower() == "file":
            return LOCAL
        user, at, host = found[2].rpartition("@")
        return DISGUISED if at and _is_host_of_code(user) else _of_host(host)
    if re.fullmatch(_SHORT_FORGE, word):
        return FORGE
    found = re.fullmatch(_SSH, word)
    if found is not None:
        # Whoever logs in at a number has a machine there.
        origin = _of_host(found[1])
        return FOREIGN if origin == RAW else origin
    return SHORTHAND if re.fullmatch(_SHORTHAND, word) else ""


@lru_cache(maxsize=512)
def origin_of_host(word: str) -> str:
    """Return where a word leads that may begin with a host: `ghcr.io/owner/image`."""
    if "://" in word or word.startswith(_PATH):
        return origin_of(word)
    found = re.fullmatch(_HOST, word)
    if found is None or ("." not in found[1] and found[1] != "localhost"):
        return ""
    host = found[1]
    ends = host.rpartition(".")[2]
    is_host = (len(ends) > 1 and ends.isalpha()) or re.fullmatch(_NUMBERS, host)
    return _of_host(host) if is_host and host != word else ""


def origin_of_index(word: str) -> str:
    """Return where an index of packages lies; its address may do without a scheme."""
    origin = origin_of(word)
    return origin_of_host(f"{word}/") if origin in {"", SHORTHAND} else origin


def _of_host(given: str) -> str:
    """Return where a host leads, with its port or without."""
    host = given.lower() if given.startswith("[") else given.rpartition(":")[0] or given
    host = host.lower().rstrip(".")
    if host.startswith("["):
        return _of_number(host.partition("]")[0] + "]")
    if re.fullmatch(_NUMBERS, host) and not re.search(r"(?:^|\.)0\d", host):
        return _of_number(host)
    if re.fullmatch(_ODD_NUMBERS, host) or not _is_plain(host):
        return DISGUISED
    if re.fullmatch(_LOCAL_NAME, host):
        return LOCAL
    if host in _OFFICIAL or host.endswith(_OFFICIAL_BELOW):
        return OFFICIAL
    if any(host == forge or host.endswith(f".{forge}") for forge in _FORGES):
        return FORGE
    if _imitates(host):
        return DISGUISED
    return SHORTENED if host in _SHORTENERS else FOREIGN


def _of_number(address: str) -> str:
    if re.fullmatch(_THIS_MACHINE, address):
        return LOCAL
    return NEIGHBOUR if re.fullmatch(_NEIGHBOURS, address) else RAW


def _is_host_of_code(user: str) -> bool:
    """Whether the name in front of an `@` is that of a host: `github.com@evil.example`."""
    name, _, ending = user.partition(":")[0].lower().rpartition(".")
    return ending in _IMITATED.get(name.rpartition(".")[2], ())


def _is_plain(host: str) -> bool:
    """Whether a host is written in one script, and not in the code for others."""
    if host.isascii():
        return not (host.startswith("xn--") or ".xn--" in host)
    from unicodedata import category, name, normalize  # noqa: PLC0415 - hosts are ASCII

    if normalize("NFKC", host) != host:
        return False
    for label in host.split("."):
        scripts = {name(letter, "").partition(" ")[0] for letter in label if letter.isalpha()}
        if any(category(letter) == "Cf" for letter in label):
            return False
        if "LATIN" in scripts and not scripts.isdisjoint(_OTHER_SCRIPTS):
            return False
        if not label.isascii() and label.translate(_LETTERS).isascii():
            return False
    return True


def _imitates(host: str) -> bool:
    """Whether a host pretends to be a well-known one: `g1thub.com`, `github.com.evil.example`."""
    labels = host.split(".")
    for name, ending in pairwise(labels[:-1]):
        if ending.partition("-")[0] in _IMITATED.get(name, ()):
            return True
    name, ending = labels[-2:]
    if name in _IMITATED:
        return ending not in _IMITATED[name]
    plain = _skeleton(name)
    return any(
        plain == _skeleton(known) or (len(known) >= _TYPED_WRONG and _differ_by_one(name, known))
        for known in _IMITATED
    )


def _skeleton(name: str) -> str:
    """Return how a name looks at a glance: `1`, `i` and `l` are the same, `rn` is `m`."""
    joined = name.replace("-", "").replace("rn", "m").replace("vv", "w")
    return joined.translate(_DIGITS)


def _differ_by_one(name: str, known: str) -> bool:
    """Whether one letter is missing, too much, wrong, or two are swapped."""
    if abs(len(name) - len(known)) > 1 or name == known:
        return False
    start = 0
    while start < min(len(name), len(known)) and name[start] == known[start]:
        start += 1
    rest, wanted = name[start:], known[start:]
    return (
        rest[1:] == wanted[1:]
        or rest[1:] == wanted
        or rest == wanted[1:]
        or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])
    )
