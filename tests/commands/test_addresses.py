"""Where addresses lead, by the host that they name."""

import pytest

from interlock.commands.values.addresses import origin_of, origin_of_host, origin_of_index


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("https://crates.io/api", "official", id="official"),
        pytest.param("https://eu-docker.pkg.dev/p/i", "official", id="below-an-official-one"),
        pytest.param("https://golang.org,direct", "official", id="one-of-a-list"),
        pytest.param("git+https://github.com/a/b", "forge", id="repository"),
        pytest.param("a @ git+https://github.com/a/b", "forge", id="behind-a-name"),
        pytest.param("git::https://raw.githubusercontent.com/a", "forge", id="below-a-forge"),
        pytest.param("git@gitlab.com:a/b.git", "forge", id="ssh"),
        pytest.param("root@45.33.32.156:b.git", "foreign", id="login-at-a-number"),
        pytest.param("github:a/b", "forge", id="short-forge"),
        pytest.param("https://john.doe@bitbucket.org/x", "forge", id="name-with-a-dot"),
        pytest.param("a/b", "shorthand", id="shorthand"),
        pytest.param("https://evil.example:8443/x", "foreign", id="foreign"),
        pytest.param("https://github.example.com/x", "foreign", id="own-forge"),
        pytest.param("https://пример.рф/", "foreign", id="one-other-script"),
        pytest.param("https://münchen.de./", "foreign", id="latin-with-marks"),
        pytest.param("https://bit.ly/3x", "shortened", id="shortened"),
        pytest.param("http://185.1.2.3/x", "raw", id="number"),
        pytest.param("http://[2001:db8::1]:80/x", "raw", id="number-of-version-six"),
        pytest.param("http://127.0.0.5:80/x", "local", id="own-number"),
        pytest.param("http://10.0.0.5:80/x", "neighbour", id="number-of-a-neighbour"),
        pytest.param("http://[fe80::1]/x", "neighbour", id="neighbour-of-version-six"),
        pytest.param("http://[::1]/x", "local", id="own-number-of-version-six"),
        pytest.param("http://registry:5000/x", "local", id="name-without-a-dot"),
        pytest.param("http://git.corp/x", "local", id="own-ending"),
        pytest.param("file:///x", "local", id="file"),
        pytest.param("git+file://host/x", "local", id="name-of-this-network"),
        pytest.param("x file://a", "local", id="file-behind-a-name"),
        pytest.param("./x", "local", id="path"),
        pytest.param("https://g\u0456thub.com/x", "disguised", id="mixed-scripts"),
        pytest.param(
            "https://\u0430\u0440\u0440\u04cf\u0435.com/x",
            "disguised",
            id="letters-of-another-script",
        ),
        pytest.param("https://\uff47ithub.com/x", "disguised", id="wide-letters"),
        pytest.param("https://gith\u2060ub.com/x", "disguised", id="letter-that-is-not-seen"),
        pytest.param("https://xn--gthub-n4a.com/x", "disguised", id="punycode"),
        pytest.param("https://www.xn--gthub-n4a.com/x", "disguised", id="punycode-below"),
        pytest.param("https://g1thub.com/x", "disguised", id="digit-for-a-letter"),
        pytest.param("https://git-hub.com/x", "disguised", id="dash"),
        pytest.param("https://githud.com/x", "disguised", id="wrong-letter"),
        pytest.param("https://gihtub.com/x", "disguised", id="swapped-letters"),
        pytest.param("https://githubb.com/x", "disguised", id="letter-too-much"),
        pytest.param("https://githb.com/x", "disguised", id="letter-too-few"),
        pytest.param("https://gitlab.corn/x", "disguised", id="other-ending"),
        pytest.param("https://github.com.evil.example/x", "disguised", id="name-in-front"),
        pytest.param("https://github.com-x.evil.example/x", "disguised", id="name-and-dash"),
        pytest.param("https://github.com@evil.example/x", "disguised", id="name-as-a-login"),
        pytest.param("http://3627734734/x", "disguised", id="one-number"),
        pytest.param("http://0xb9.0x01.0x02.0x03/x", "disguised", id="hexadecimal"),
        pytest.param("http://0185.1.2.3/x", "disguised", id="octal"),
        pytest.param("https://npm.example.com/x", "foreign", id="too-short-to-be-a-slip"),
        pytest.param("requests", "", id="word"),
        pytest.param("URL=https://evil.example", "", id="value-of-a-name"),
        pytest.param("@scope/name", "", id="scope"),
    ],
)
def test_an_address_leads_where_its_host_is(word: str, expected: str):
    assert origin_of(word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("ghcr.io/a/b", "official", id="registry"),
        pytest.param("evil.example/x", "foreign", id="foreign"),
        pytest.param("45.33.32.156:5000/x", "raw", id="number"),
        pytest.param("localhost:5000/x", "local", id="this-machine"),
        pytest.param("https://evil.example", "foreign", id="with-its-scheme"),
        pytest.param("./x.y/z", "local", id="path"),
        pytest.param("8.8.8.8", "", id="number-alone"),
        pytest.param("main.go", "", id="file"),
        pytest.param("conf.d/x", "", id="folder"),
        pytest.param("path/to/x", "", id="no-host"),
        pytest.param("postgres:16", "", id="image"),
        pytest.param("a b", "", id="sentence"),
    ],
)
def test_a_host_may_stand_without_its_scheme(word: str, expected: str):
    assert origin_of_host(word) == expected


@pytest.mark.parametrize(
    ("word", "origin"),
    [
        ("pypi.org", "official"),
        ("evil.example", "foreign"),
        ("evil.example/simple", "foreign"),
        ("http://localhost:8080/simple", "local"),
        ("requests", ""),
    ],
)
def test_the_address_of_an_index_may_do_without_a_scheme(word: str, origin: str):
    assert origin_of_index(word) == origin
