"""What a written manifest asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from interlock.policy.actions.calls.payload import Payload
from interlock.policy.evidence.dependencies import ECOSYSTEMS, dependencies_in

_MANIFESTS = (
    "requirements.txt constraints.txt pyproject.toml setup.cfg setup.py Pipfile environment.yml"
    " package.json Cargo.toml go.mod Gemfile a.gemspec pom.xml build.gradle build.gradle.kts"
    " composer.json App.csproj packages.config mix.exs pubspec.yaml"
).split()
_SNIPPETS = st.sampled_from(
    [
        *("\n", " ", "\t", "  - ", '"', "'", "{", "}", "[", "]", "(", ")", ":", "=", ",", "#", "."),
        *("dependencies", "[dependencies]\n", "[project]\n", "[tool.poetry.dependencies]\n"),
        *("install_requires", "require (", "gem ", "name", '"a": "^1"', "x>=1", "v1.2", "{:a, "),
        *("<project>", "<dependency>", "<artifactId>a<", "<groupId>b<", "<!--", "-->", "pip:\n"),
        *("-e ", "git+https://h/a.git", "@", "npm:", "\ufeff", "\ud800", "\x00", "é", "\r\n"),
    ]
)


def added(path: str, content: str, old: str | None = None) -> set[str]:
    names = list(dependencies_in(Payload(path=path, content=content, old=old)))
    assert len(names) == len(set(names))
    return set(names)


def named(ecosystem: str, names: str) -> set[str]:
    return {f"{ecosystem}:{name}" for name in names.split()}


@pytest.mark.parametrize(
    "path",
    [
        "requirements.txt",
        "app/requirements-dev.txt",
        "dev-requirements.in",
        "requirements/prod.txt",
        "constraints.txt",
        "C:\\app\\Requirements.txt",
    ],
)
def test_knows_a_file_of_requirements_by_its_path(path: str) -> None:
    assert added(path, "requests") == {"python:requests"}


@pytest.mark.parametrize("path", ["notes.txt", "src/app.py", "package-lock.json", "", "a/go.mod/b"])
def test_other_files_ask_for_nothing(path: str) -> None:
    assert added(path, 'requests\n"left-pad": "1.0.0"') == set()


def test_an_edit_without_a_path_asks_for_nothing() -> None:
    assert list(dependencies_in(Payload(content="requests"))) == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("requests", "requests"),
        ("Foo__Bar.baz==1.0", "foo-bar-baz"),
        ("requests[socks] >= 2, < 3", "requests"),
        ('requests ; python_version < "3"', "requests"),
        ("requests>=2  # for the client", "requests"),
        ("requests==2 \\", "requests"),
        ("requests==2 --hash=sha256:abc", "requests"),
        ("thing @ git+https://host/org/other.git@main", "thing"),
        ("-e git+https://host/org/thing.git#egg=Other", "other"),
        ("--editable=git+https://host/org/thing.git@v1", "thing"),
        ("https://host/files/some_thing-1.2-py3-none-any.whl", "some-thing"),
        ("https://host/files/some-thing-v1.2.tar.gz#sha256=ab", "some-thing"),
        ("git+ssh://git@host/org/thing", "thing"),
    ],
)
def test_reads_a_requirement(line: str, name: str) -> None:
    assert added("requirements.txt", f"\ufeff{line}\r\n") == {f"python:{name}"}


@pytest.mark.parametrize(
    "line", ["", "# requests", "-r other.txt", "--index-url x", "two words", "!", "/", "--hash=a:b"]
)
def test_a_line_without_a_requirement_asks_for_nothing(line: str) -> None:
    assert added("requirements.txt", line) == set()


def test_reads_a_whole_pyproject() -> None:
    text = """
[build-system]
requires = ["hatchling>=1"]
[project]
name = "app"
version = "1.0"
keywords = ["keyword"]
dynamic = ["readme"]
dependencies = ["requests>=2", "Zope.Interface", 3]
[project.optional-dependencies]
cli = ["click[x]>=8"]
none = []
[dependency-groups]
test = ["pytest", { include-group = "lint" }]
all = [{ include-group = "test" }]
[tool.poetry.dependencies]
python = "^3.11"
httpx = "^1"
rich = { version = "^13", optional = true }
many = [{ version = "1" }, { version = "2" }]
[tool.poetry.group.docs.dependencies]
sphinx = "*"
[tool.uv]
dev-dependencies = ["ruff"]
[tool.pdm.dev-dependencies]
lint = ["black"]
empty = []
[tool.hatch.envs.x]
extra-dependencies = ["mypy"]
[tool.setuptools.dynamic]
dependencies = { file = ["requirements.txt"] }
[tool.ruff]
select = ["E"]
"""

    assert added("pyproject.toml", text) == named(
        "python",
        "hatchling requests zope-interface click pytest httpx rich many sphinx ruff black mypy",
    )


def test_reads_a_pyproject_that_no_parser_reads() -> None:
    text = """
[project]
version = "1.0"
keywords = ["keyword"]
dependencies = [
    # "commented",
    "requests>=2",
    "httpx",
]
[dependency-groups]
test = ["pytest"]
[tool.poetry.dependencies]
python = "^3.11"
rich = "^13"
[tool.ruff]
select = ["E"]
broken =
"""

    assert added("pyproject.toml", text) == named("python", "requests httpx pytest rich")


@pytest.mark.parametrize(
    ("fragment", "names"),
    [
        ('    "requests>=2",\n    "evil",', "requests evil"),
        ('dependencies = ["evil"]', "evil"),
        ('dev = [\n  "evil",\n]', "evil"),
        ('evil = "^2.0"\npython = "^3.11"', "evil"),
        ("evil = { version = '1' }", "evil"),
        ('evil = ""', "evil"),
        ('["evil", "worse"]', "evil worse"),
        ('version = "2.0"\nrequires-python = ">=3.11"', ""),
        ('keywords = [\n  "cli",\n]', ""),
        ('name = "thing"', ""),
        ('mode = "strict"', ""),
        ('evil = "^1"\n[tool.poetry.group.dev.dependencies]\nworse = "*"', "evil worse"),
    ],
)
def test_reads_a_fragment_of_a_pyproject(fragment: str, names: str) -> None:
    assert added("pyproject.toml", fragment, old="") == named("python", names)


def test_a_key_of_very_many_parts_is_read_in_linear_time() -> None:
    text = "[project]\n" + "a." * 100_000 + 'b = 1\ndependencies = ["evil"]'

    assert added("pyproject.toml", text) == {"python:evil"}


def test_a_very_long_pyproject_is_read_line_by_line() -> None:
    text = "[project]\n" + "# filler\n" * 20_000 + 'dependencies = ["evil"]'

    assert added("pyproject.toml", text) == {"python:evil"}


def test_reads_a_whole_pipfile() -> None:
    text = """
[[source]]
name = "index"
[packages]
Requests = "*"
[dev-packages]
pytest = { version = "*" }
[docs]
sphinx = "*"
[requires]
python_version = "3.11"
"""

    assert added("Pipfile", text) == named("python", "requests pytest sphinx")
    assert added("Pipfile", text + "broken =") == named("python", "requests pytest sphinx")


def test_reads_a_fragment_of_a_pipfile() -> None:
    assert added("Pipfile", 'evil = "*"\n# no = "*"\nverify_ssl = "1"', old="") == {"python:evil"}


def test_reads_a_setup_cfg() -> None:
    text = """[metadata]
name = app
[options]
packages = find:
install_requires =
    requests>=2; python_version < "3.12"
    # commented
    ; commented
    Foo_Bar
setup_requires = wheel; setuptools
[options.extras_require]
dev =
    pytest
docs = sphinx
[flake8]
ignore = E501
"""

    assert added("setup.cfg", text) == named(
        "python", "requests foo-bar wheel setuptools pytest sphinx"
    )


def test_reads_a_fragment_of_a_setup_cfg() -> None:
    assert added("setup.cfg", "    requests>=2\n    evil\nname = app", old="") == named(
        "python", "requests evil"
    )


def test_reads_what_a_setup_py_seems_to_ask_for() -> None:
    text = """
from setuptools import setup
setup(
    name="app",
    version="1.0",
    packages=["app"],
    # "commented",
    install_requires=["requests", 'httpx>=1', "%%%"],
    extras_require={
        "dev": ["pytest>=8"],
        "docs": [
            "sphinx",
        ],
    },
)
"""

    assert added("setup.py", text) == named("python", "requests httpx pytest sphinx")


def test_reads_an_environment_of_conda() -> None:
    text = """name: app
channels:
  - conda-forge
dependencies:
  - python=3.11
  - conda-forge::numpy>=1.2  # fast
  - "scipy 1.0"
  - pip:
    - requests==2
    - git+https://host/org/thing.git
  - pandas
  - "!"
"""

    assert added("environment.yml", text) == (
        named("conda", "python numpy scipy pandas") | named("python", "requests thing")
    )


def test_of_a_fragment_of_an_environment_both_are_told() -> None:
    assert added("environment.yaml", "  - evil=1.0", old="") == {"conda:evil", "python:evil"}


def test_reads_a_whole_package_json() -> None:
    text = """{
  "name": "app", "version": "1.0.0", "config": {"port": "8080"},
  "dependencies": {"React": "^18", "@scope/pkg": "1", "alias": "npm:left-pad@1.3.0"},
  "devDependencies": {"jest": "*", "scoped": "npm:@evil/thing@1"},
  "peerDependencies": {"vue": ">=3"},
  "optionalDependencies": {"fsevents": "2", "odd": 3},
  "bundleDependencies": ["bundled", 3],
  "bundledDependencies": true,
  "overrides": {"parent": {"child@^1": "2"}},
  "resolutions": {"**/a/@b/c@^1": "1", "**/deep": "1"},
  "pnpm": {"overrides": {"up>down": "1"}}
}"""

    assert added("web/package.json", text) == named(
        "npm",
        "react @scope/pkg left-pad jest @evil/thing vue fsevents odd bundled parent child @b/c deep"
        " down",
    )


@pytest.mark.parametrize(
    ("fragment", "names"),
    [
        ('    "left-pad": "^1.3.0",\n    "evil": "latest"', "left-pad evil"),
        ('"dependencies": {"evil": "1"}', "evil"),
        ('{"evil": "workspace:*"}', "evil"),
        ('"evil": "git+https://host/a.git"', "evil"),
        ('"evil": "org/repo#main"', "evil"),
        ('"alias": "npm:@evil/thing@1"', "@evil/thing"),
        ('"name": "app", "version": "1.0.0", "node": ">=18"', ""),
        ('"test": "jest --ci"', ""),
        ("[" * 100_000, ""),
        ("3", ""),
    ],
)
def test_reads_a_fragment_of_a_package_json(fragment: str, names: str) -> None:
    assert added("package.json", fragment, old="") == named("npm", names)


def test_reads_a_composer_json() -> None:
    text = """{
  "require": {"php": ">=8", "ext-json": "*", "Evil/Thing": "1"},
  "require-dev": {"a/b": "1"}
}"""

    assert added("composer.json", text) == named("composer", "evil/thing a/b")
    assert added("composer.json", '"evil/thing": "^1.0",\n"php": "^8"', old="") == {
        "composer:evil/thing"
    }


def test_reads_a_whole_cargo_toml() -> None:
    text = """
[package]
name = "app"
version = "0.1.0"
[features]
default = ["serde"]
[dependencies]
serde = "1"
alias = { package = "real_name", version = "1" }
[dependencies.tokio]
version = "1"
[dev-dependencies]
proptest = "1"
[build-dependencies]
cc = { workspace = true }
[target.'cfg(unix)'.dependencies]
nix = "0.1"
[workspace.dependencies]
shared = "1"
[patch.crates-io]
patched = { path = "x" }
[replace]
"old:0.1.0" = { path = "y" }
"""
    crates = named("cargo", "serde real-name tokio proptest cc nix shared patched")

    assert added("Cargo.toml", text) == crates | {"cargo:old"}
    assert added("Cargo.toml", text + "broken =") == crates


@pytest.mark.parametrize(
    ("fragment", "names"),
    [
        ('serde = "1"\nversion = "0.2.0"', "serde"),
        ("serde.workspace = true", "serde"),
        ('alias = { package = "evil" }', "evil"),
        ('[dependencies.alias]\npackage = "evil"\nversion = "1"\nbroken =', "alias evil"),
        ('full = ["a", "b"]', ""),
        ("]", ""),
    ],
)
def test_reads_a_fragment_of_a_cargo_toml(fragment: str, names: str) -> None:
    assert added("Cargo.toml", fragment, old="") == named("cargo", names)


def test_reads_a_go_mod() -> None:
    text = """module example.com/app
go 1.22
require example.com/one v1.0.0
require (
\tExample.com/two/v2 v2.1.0 // indirect
\t// example.com/commented v1.0.0
)
exclude example.com/no v1.0.0
exclude (
\texample.com/neither v1.0.0
)
replace example.com/one => example.com/fork v1.0.1
replace example.com/two => ../two
require example.com/three v0.1.0
"""

    assert added("go.mod", text) == {
        "go:example.com/one",
        "go:example.com/two/v2",
        "go:example.com/fork",
        "go:example.com/three",
    }


def test_reads_gems() -> None:
    text = """source "https://host"
gem "rails", "~> 7"
gem('pg')
# gem "commented"
spec.add_dependency "rack"
spec.add_development_dependency("rspec", ">= 3")
gemspec
"""

    assert added("Gemfile", text) == named("gem", "rails pg rack rspec")
    assert added("app.gemspec", text) == named("gem", "rails pg rack rspec")


def test_reads_a_pom() -> None:
    text = """<project>
  <groupId>org.own</groupId><artifactId>app</artifactId>
  <parent><groupId>org.up</groupId><artifactId>parent</artifactId></parent>
  <dependencies>
    <!-- <dependency><groupId>no</groupId><artifactId>no</artifactId></dependency> -->
    <dependency>
      <artifactId> core </artifactId>
      <groupId>org.log</groupId>
      <exclusions><exclusion><groupId>x</groupId><artifactId>y</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
  <build><plugins><plugin><artifactId>jar-plugin</artifactId></plugin></plugins></build>
</project>"""

    assert added("pom.xml", text) == named("maven", "org.up:parent org.log:core jar-plugin")


def test_reads_a_fragment_of_a_pom() -> None:
    fragment = "<groupId>a</groupId><artifactId>b</artifactId>\n<groupId>c</groupId><artifactId>d<"

    assert added("pom.xml", fragment, old="") == named("maven", "a:b c:d")
    assert added("pom.xml", "<groupId>a</groupId>", old="") == set()


@pytest.mark.parametrize("path", ["build.gradle", "app/build.gradle.kts"])
def test_reads_a_gradle_script(path: str) -> None:
    text = """dependencies {
    implementation 'org.log:core:1.0'
    api("org.own:api")
    // testImplementation "no:no:1"
    runtimeOnly group: 'org.run', name: 'time', version: '1'
    implementation(project(":local"))
}
repositories { maven { url "https://host/maven" } }
"""

    assert added(path, text) == named("maven", "org.log:core org.own:api org.run:time")


def test_reads_a_dotnet_project() -> None:
    text = """<Project><ItemGroup>
  <PackageReference Include="Newtonsoft.Json" Version="13" />
  <PackageReference
      Version="1" Include='Serilog' />
  <PackageVersion Update="Moq" />
  <Compile Include="a.cs" />
</ItemGroup></Project>"""

    assert added("App.csproj", text) == named("nuget", "newtonsoft.json serilog moq")
    assert added("packages.config", '<package id="NUnit" version="3" />') == {"nuget:nunit"}


def test_reads_a_mix_exs() -> None:
    text = """defp deps do
  [
    {:phoenix, "~> 1.7"},
    {:local, path: "../local"},
    # {:commented, "~> 1.0"},
    {:ok, value}
  ]
"""

    assert added("mix.exs", text) == named("hex", "phoenix local")


def test_reads_a_pubspec() -> None:
    text = """name: app
version: 1.0.0
environment:
  sdk: ">=3.0.0"
dependencies:
  flutter:
    sdk: flutter
  http: ^1.0.0
  # commented: ^1.0.0
dev_dependencies:
    lints: any
flutter:
  uses-material-design: true
"""

    assert added("pubspec.yaml", text) == named("pub", "flutter http lints")


def test_reads_a_fragment_of_a_pubspec() -> None:
    fragment = "http: ^1.0.0\n  evil: any\n  version: 1.0.0\n  title: hello"

    assert added("pubspec.yaml", fragment, old="") == named("pub", "http evil")


def test_only_what_is_new_is_told() -> None:
    old = "requests==1\nhttpx"

    assert added("requirements.txt", "Requests==2\nevil\nhttpx", old=old) == {"python:evil"}


def test_a_new_version_or_a_removal_adds_nothing() -> None:
    assert added("package.json", '"left-pad": "2.0.0"', old='"left-pad": "1.0.0"') == set()
    assert added("package.json", "", old='"left-pad": "1.0.0"') == set()


def test_names_that_no_registry_would_take_are_left_out() -> None:
    text = '{"dependencies": {"a b": "1", "": "1", "\\u0000": "1", "%s": "1", "good": "1"}}'

    assert added("package.json", text % ("x" * 215)) == {"npm:good"}


def test_no_more_than_500_names_are_told() -> None:
    text = "\n".join(f"package-{number}" for number in range(501))

    assert len(added("requirements.txt", text)) == 500
    assert added("requirements.txt", text + "\nevil", old=text) == {"python:evil"}


def test_empty_lines_hide_nothing() -> None:
    assert added("requirements.txt", " \n" * 300_000 + "evil") == {"python:evil"}


def test_of_a_text_without_end_the_beginning_is_read() -> None:
    assert added("requirements.txt", "first\n" + "# more\n" * 300_000) == {"python:first"}


@pytest.mark.parametrize("path", _MANIFESTS)
@examples(12, soak=500)
@given(st.lists(_SNIPPETS, max_size=30).map("".join), st.none() | st.text(max_size=40))
def test_no_text_makes_a_reader_raise(path: str, content: str, old: str | None) -> None:
    names = added(path, content, old)

    assert all(name.partition(":")[0] in ECOSYSTEMS and name.partition(":")[2] for name in names)
    assert names == added(path, content, old)


@pytest.mark.parametrize("path", _MANIFESTS)
@examples(12, soak=500)
@given(st.lists(_SNIPPETS, max_size=30).map("".join))
def test_a_text_adds_nothing_to_itself(path: str, content: str) -> None:
    assert added(path, content, old=content) == set()
