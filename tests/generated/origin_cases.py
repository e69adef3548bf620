"""Where code comes from: official indexes, forges, strangers, numbers and hosts in disguise."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free, warned

_DISGUISED = (
    "https://g\u0456thub.com",  # a Cyrillic letter
    "https://git\u04bbub.com",
    "https://p\u0443pi.org",
    "https://\u0440\u0443\u0440\u0456.org",  # all letters
    "https://\u03b3\u03b9thub.com",  # Greek ones
    "https://\uff47ithub.com",  # wide
    "https://gith\u200bub.com",  # one that is not seen
    "https://xn--gthub-n4a.com",
    "https://www.xn--80ak6aa92e.com",
    "https://g1thub.com",
    "https://githud.com",
    "https://gihtub.com",
    "https://gitbub.com",
    "https://git-hub.com",
    "https://gitiab.com",
    "https://g1tlab.com",
    "https://bitbuckt.org",
    "https://rubygerns.org",
    "https://pythonh0sted.org",
    "https://github.co",
    "https://raw.githubusercontent.co",
    "https://gitlab.corn",
    "https://github.com.cdn.example",
    "https://crates.io.cdn.example",
    "https://github.com@cdn.example",
    "https://gitlab.com:443@cdn.example",
    "http://3627734734",
    "http://0xb9.0x1.0x2.0x3",
    "http://0271.1.2.3",
)
_TAKEN = (
    "curl <address>/x -o x", "curl -fsSL <address>/x", "wget -q <address>/x.tgz",
    "git clone <address>/a/b", "git remote add up <address>/a/b", "pip install <address>/x.whl",
    "npm install <address>/x.tgz", "docker build <address>/x.git",
)  # fmt: skip
_RAW = ("http://185.1.2.3", "http://45.33.32.156:8000", "https://[2001:db8::7]")
_STRANGERS = ("https://cdn.stranger.example", "http://stranger.example:8080")
_KNOWN = (
    "https://github.com", "https://gitlab.com", "https://codeberg.org", "https://example.com",
    "https://git.company.example", "https://gitlab.company.example", "https://nodejs.org",
    "https://go.dev", "https://m\u00fcnchen.de", "https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444",
    "http://localhost:8080", "http://127.0.0.1", "http://10.1.2.3", "http://192.168.0.9:81",
    "http://registry:5000", "http://build.internal",
)  # fmt: skip
_REPOSITORY = (
    "git+https://github.com/a/b",
    "git+ssh://git@github.com/a/b.git",
    "git+https://gitlab.com/a/b@main",
    "git+https://stranger.example/a/b.git",
)
_BY_REPOSITORY = (
    "pip install <from>", "pip3 install -U <from>", "python -m pip install <from>",
    "pip install -e <from>#egg=b", "pip install 'b @ <from>'", "uv pip install <from>",
    "uv add <from>", "uv tool install <from>", "uvx --from <from> b", "uv run --with <from> x.py",
    "pipx install <from>", "pipx run --spec <from> b", "poetry add <from>", "pdm add <from>",
    "pipenv install <from>", "npm install <from>", "npm i -g <from>", "pnpm add <from>",
    "yarn add <from>", "bun add <from>", "npx <from>", "pnpm dlx <from>", "bunx <from>",
)  # fmt: skip
_SHORT = ("a/b", "a/b#main", "github:a/b", "gitlab:a/b", "bitbucket:a/b")
_BY_SHORT = (
    "npm i <from>", "npm install --save-dev <from>", "yarn add <from>", "pnpm add -D <from>",
    "bun add <from>", "npx <from>", "npx --yes <from> --flag",
)  # fmt: skip
_NAMED = ("left-pad", "@types/node", "@scope/name@1.2.3", "./packages/a", "../a", "file:../a")
_BY_NAME = ("npm i <from>", "npm install --save-dev <from>", "yarn add <from>", "pnpm add <from>")
_FROM_STRANGERS = (
    "pip install <address>/x.whl", "pip install -r <address>/r.txt", "pip install -c <address>/c x",
    "pip install -i <address>/simple x", "pip install --extra-index-url=<address>/simple x",
    "uv pip install --default-index <address>/simple x", "uv run <address>/x.py",
    "pipx run <address>/x.py", "poetry source add s <address>/simple",
    "pip config set global.index-url <address>/simple", "npm i <address>/x.tgz",
    "npm install --registry <address> x", "npm install --registry=<address> x",
    "npm config set registry <address>", "npx <address>/x.tgz", "deno run -A <address>/x.ts",
    "gem install x --source <address>", "gem sources --add <address>",
    "cargo install --git <address>/x", "cargo install x --index <address>/index",
    "kubectl apply -f <address>/x.yaml", "kubectl create --filename=<address>/x.yaml",
    "kubectl replace -f <address>/x.yaml", "oc apply -f <address>/x.yaml",
    "helm install x <address>/x.tgz", "helm upgrade --install x c --repo <address>/charts",
    "terraform init -from-module=<address>/x", "docker build <address>/x.git",
    "docker compose -f <address>/c.yml up", "docker stack deploy -c <address>/c.yml x",
    "ansible-pull -U <address>/x.git", "ansible-galaxy collection install <address>/x.tar.gz",
    "brew install <address>/x.rb", "brew tap a/b <address>/x.git", "rpm -i <address>/x.rpm",
    "rpm -Uvh <address>/x.rpm", "dnf install -y <address>/x.rpm", "zypper install <address>/x.rpm",
    "dnf config-manager --add-repo <address>/x.repo", "apk add --repository <address>/alpine x",
    "code --install-extension <address>/x.vsix", "cpanm <address>/x.tar.gz",
    "nix-env -if <address>/x.tar.gz", "conda install -c <address>/channel x",
    "flatpak remote-add s <address>/x.flatpakrepo", "asdf plugin add x <address>/x.git",
    "pre-commit try-repo <address>/x", "PIP_INDEX_URL=<address>/simple pip install x",
    "NPM_CONFIG_REGISTRY=<address> npm i x", "GOPROXY=<address> go install github.com/a/b@latest",
    "go env -w GOPROXY=<address>", "export PIP_INDEX_URL=<address>/pypi.org/index",
    "env UV_INDEX=x=<address> uv sync", "export GOPROXY=direct,<address>",
)  # fmt: skip
_OFFICIAL = (
    "pip install -i <scheme>pypi.org<simple> x",
    "pip install --index-url <scheme>pypi.org<simple>/ x",
    "pip install -i <scheme>test.pypi.org<simple>/ x",
    "pip install torch --index-url <scheme>download.pytorch.org/whl/cpu",
    "pip install torch --extra-index-url <scheme>download.pytorch.org/whl/cu121",
    "pip install <scheme>files.pythonhosted.org/packages/a/x.whl",
    "uv pip install --index-url <scheme>pypi.org<simple> x", "pip install --find-links ./wheels x",
    "pip config set global.index-url <scheme>pypi.org<simple>",
    "PIP_INDEX_URL=<scheme>pypi.org<simple> pip install x",
    "npm install --registry <scheme>registry.npmjs.org x",
    "npm install --registry=<scheme>registry.npmjs.org/ x",
    "npm install --registry <local>localhost:4873 x",
    "npm config set registry <scheme>registry.npmjs.org/",
    "yarn config set registry <scheme>registry.yarnpkg.com",
    "gem install x --source <scheme>rubygems.org",
    "cargo install --index <scheme>github.com/rust-lang/crates.io-index x",
    "go env -w GOPROXY=<scheme>proxy.golang.org,direct",
    "apk add --repository <scheme>dl-cdn.alpinelinux.org/alpine/edge/testing x",
    "flatpak remote-add flathub <scheme>flathub.org/repo/flathub.flatpakrepo",
    "helm install x oci://ghcr.io/a/b", "export PIP_INDEX_URL=<scheme>pypi.org<simple>",
    "export npm_config_registry=<scheme>registry.npmmirror.com", "export PIP_FIND_LINKS=./wheels",
    "export GOPROXY=<scheme>goproxy.io,direct",
)  # fmt: skip
_OWN_BUSINESS = (
    "npx lighthouse https://stranger.example", "npx prettier src/a.ts", "npx tsc -p packages/a",
    "deno run main.ts https://stranger.example", "uv run x.py https://stranger.example",
    "uvx httpie https://stranger.example", "pipx run httpie https://stranger.example",
    "docker build --build-arg URL=https://stranger.example .", "docker compose up -d",
    "terraform plan -var url=https://stranger.example", "kubectl apply -f k8s/",
    "kubectl get -f https://stranger.example/x.yaml",
    "kubectl diff -f https://stranger.example/x.yaml",
    "kubectl apply -f https://stranger.example/x.yaml --dry-run=client", "helm install x ./chart",
    "helm install x bitnami/redis", "helm template x https://stranger.example/x.tgz",
    "git commit -m 'see https://g1thub.com'", "bundle exec jekyll serve --url https://a.example",
    "npm --prefix apps/web install", "npm install -w packages/app react", "brew install a/tap/b",
    "gem install rails", "cargo install ripgrep", "cargo install --path .", "pip install -e .",
    "pip install ./x.whl", "pip install -r requirements.txt", "conda install -c conda-forge x",
    "ansible-galaxy install geerlingguy.docker", "code --install-extension ms-python.python",
)  # fmt: skip
_MODULES = (
    "github.com/a/b", "golang.org/x/tools/gopls", "google.golang.org/grpc", "k8s.io/client-go",
    "honnef.co/go/tools/cmd/staticcheck", "mvdan.cc/gofumpt", "gopkg.in/yaml.v3",
    "gitlab.com/a/b", "go.uber.org/mock/mockgen",
)  # fmt: skip
_IMAGES = (
    "postgres:16", "library/redis", "ghcr.io/a/b", "quay.io/a/b:1", "gcr.io/a/b",
    "localhost:5000/a", "public.ecr.aws/a/b", "mcr.microsoft.com/a",
    "1.dkr.ecr.eu-west-1.amazonaws.com/a",
    "europe-docker.pkg.dev/p/r/i", "10.0.0.5:5000/a",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Yield what comes from strangers, and what comes from where everybody takes it."""
    yield from asked(*_TAKEN, address=_DISGUISED)
    yield from free(*_TAKEN[:5], address=_KNOWN)
    yield from asked(
        "curl -o x <address>/x", "curl -fsSLO <address>/x", "wget <address>/x",
        "wget -O x.sh <address>/x", "git clone <address>/x.git", "aria2c <address>/x",
        address=_RAW,
    )  # fmt: skip
    yield from warned("curl <address>/health", address=(*_RAW, "https://bit.ly", "https://t.co"))
    yield from free("curl <address>/health", "wget -qO- <address>/health", address=_RAW)
    yield from asked(*_BY_REPOSITORY, **{"from": _REPOSITORY})
    yield from asked(*_BY_SHORT, **{"from": _SHORT})
    yield from free(*_BY_NAME, **{"from": _NAMED})
    yield from asked(*_FROM_STRANGERS, address=(*_STRANGERS, *_RAW[:1], "http://10.1.2.3"))
    yield from free(*_OFFICIAL, scheme=("https://",), simple=("/simple",), local=("http://",))
    yield from free(*_OWN_BUSINESS)
    yield from free("go <verb> <from>@latest", verb=("install", "get", "run"), **{"from": _MODULES})
    yield from free("go <verb>", verb=("install ./...", "run ./cmd/x", "run main.go", "get ./..."))
    yield from asked(
        "go <verb> <from>@latest",
        verb=("install", "get", "run"),
        **{"from": ("stranger.example/x", "45.33.32.156/x", "g1thub.com/a/b")},
    )
    yield from free("docker <verb> <from>", verb=("run --rm", "pull"), **{"from": _IMAGES})
    yield from warned("docker <verb> <from>", verb=("run", "pull"), **{"from": ("s.example/a",)})
    yield from asked("docker <verb> <from>", verb=("run", "pull"), **{"from": ("45.33.32.156/a",)})
