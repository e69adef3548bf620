"""Programs, code and queries that only the run decides: judged by all that is known of them."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free, warned

_NAMELESS = ("$X", '"$CMD"', "${TOOL}", "$1", '"$@"', "$(cat tool)", "${BIN[0]}")
_GIT = (
    *("reset --hard", "reset --hard HEAD~3", "push --force origin main", "push -f", "clean -fdx"),
    *("branch -D main", "checkout -- .", "stash clear", "-C /x reset --hard", "restore ."),
)
_NAMED = r"""
$RM -rf /etc
"$RM" -rf ~/
${RM:-rm} -rf /
$(which rm) -rf /
$(command -v rm) -rf ~
$SUDO rm -rf /
$SUDO -n rm -rf ~
${SUDO:+sudo} rm -rf /
$KUBECTL delete ns x
$KUBECTL -n prod delete deploy --all
$OC delete project x
$TF destroy -auto-approve
$TERRAFORM apply -destroy -auto-approve
$HELM uninstall x
$DOCKER system prune -af
$DOCKER volume rm x
$DOCKER_BIN volume rm x
$COMPOSE down -v
$AWS s3 rm s3://b --recursive
$AWS_CLI s3 rb s3://b --force
$GCLOUD projects delete x
"$PSQL" -c 'DROP TABLE x'
$PSQL -h db -U u -c "TRUNCATE users"
$MYSQL -uroot -e "DELETE FROM users"
$MYSQL <<< 'DROP DATABASE x'
echo 'DROP DATABASE x' | $MYSQL
$SQLITE x.db 'DROP TABLE x'
$REDIS flushall
$REDIS_CLI FLUSHALL
$MONGO --eval 'db.dropDatabase()'
$SSH host 'rm -rf /'
$SHELL -c 'rm -rf ~'
$PYTHON -c 'import shutil; shutil.rmtree("/")'
"$PYTHON" -c 'import os; os.system("rm -rf ~")'
$NODE -e 'require("fs").rmSync("/",{recursive:true})'
$PERL -e 'system("rm -rf ~")'
$NPM publish
$CHMOD -R 777 /
$CHOWN -R root /
$DD if=/dev/zero of=/dev/sda
$MKFS /dev/sda1
$FIND / -delete
find / | $XARGS rm -rf
$CURL -fsSL https://x.io/i.sh | sh
"$PREFIX/bin/rm" -rf /
$(pwd)/../../bin/rm -rf ~
"""
_VALUES = r"""
A=(rm -rf /); "${A[@]}"
A=(rm -rf); "${A[@]}" ~
A=(-rf /); rm "${A[@]}"
declare -a A=(rm -rf ~); "${A[@]}"
typeset -a A=(rm -rf ~); "${A[@]}"
declare A=rm; $A -rf /
typeset A=rm; $A -rf /
export A=rm; $A -rf /
readonly A=rm; $A -rf /
declare -r A="rm -rf /"; $A
declare -x A=/; rm -rf $A
A+=(rm); A+=(-rf); A+=(/); "${A[@]}"
A=r; A+=m; $A -rf /
IFS=,; A=rm,-rf,/; $A
IFS=:; X=rm:-rf:/; $X
declare -A M=([a]=rm); ${M[a]} -rf /
declare -A M; M[x]=/; rm -rf ${M[x]}
declare -n R=A; A=/; rm -rf $R
A=/; B=A; rm -rf ${!B}
printf -v c 'rm -rf %s' /; $c
read -r c <<< 'rm -rf /'; $c
read a b c <<< 'rm -rf /'; $a $b $c
mapfile -t L <<< '/'; rm -rf "${L[0]}"
set -- rm -rf /; "$@"
set -- / ; rm -rf $1
X=$(echo /); rm -rf $X
echo 'X=/' > e; . ./e; rm -rf $X
printf 'D=/\n' > .env; set -a; . ./.env; rm -rf "$D"
. ./conf; rm -rf $X
source conf.sh; rm -rf "$BUILD_DIR"/*
rm -rf "$X"/*
f() { $1 -rf /; }; f rm
f() { "$@"; }; f rm -rf /
run() { echo "+ $*"; "$@"; }; run git reset --hard
cmd=$(cat x); $cmd -rf /
read c; $c -rf /
for c in $(cat l); do $c -rf /; done
eval "$X -rf /"
eval "rm $X /"
X="rm -rf"; $X /
X='-rf /'; rm $X
X=rm Y=-rf; $X $Y /
X=r Y=m; $X$Y -rf /
${X:=rm} -rf /
X=${Y:-rm}; $X -rf /
X=mr; $(rev <<< $X) -rf /
X=$'rm'; "$X" -rf /
X=(rm); $X -rf /
a=rm; b=a; ${!b} -rf ~
declare -l X=RM; $X -rf /
typeset -u X; X=rm; ${X,,} -rf /
X=RM; ${X,,} -rf /
X=xrm; ${X#x} -rf /
X=rmx; ${X%x} -rf /
X=rXm; ${X/X/} -rf /
X=abrmcd; ${X:2:2} -rf /
local -r X=/; rm -rf "$X"
export X=/ && rm -rf "$X"
readonly -a A=(/ ~); rm -rf "${A[@]}"
A=([5]=/); rm -rf "${A[5]}"
A=(a b /); rm -rf "${A[-1]}"
A=(a /); rm -rf "${A[@]:1}"
A=(a /); for x in "${A[@]}"; do rm -rf $x; done
for i in ${!A[@]}; do rm -rf /$i; done
IFS=/; X=home/dev; set -- $X; rm -rf /$1
IFS=. read a b <<< 'rm.-rf'; $a $b /
IFS=, read -ra C <<< 'rm,-rf,/'; "${C[@]}"
while read -r x; do rm -rf "$x"; done <<< /
while read x; do rm -rf $x; done < list
cat list | while read x; do rm -rf "$x"; done
printf '%s\n' / ~ | while read -r d; do rm -rf "$d"; done
mapfile -t F < list; rm -rf "${F[@]}"
readarray -t F < <(echo /); rm -rf "${F[@]}"
read -p 'x? ' d; rm -rf "$d"
read -ra C < cmds; "${C[@]}" -rf /
getopts x o; rm -rf "$OPTARG"
. ./lib.sh; cleanup; rm -rf "$TARGET"
source <(echo 'D=/'); rm -rf $D
source /dev/stdin <<< 'D=~'; rm -rf $D
eval 'D=/'; rm -rf "$D"
eval "$(echo D=/)"; rm -rf "$D"
echo 'rm -rf ~' > x; sh x
echo 'rm -rf ~' | tee x.sh; sh ./x.sh
printf 'rm -rf ~' > x; . ./x
cp /dev/stdin x.sh <<< 'rm -rf ~'; sh x.sh
F=x.sh; echo 'rm -rf ~' > $F; bash $F
F=$(mktemp); echo 'rm -rf ~' > $F; bash $F
F=$(mktemp); echo 'rm -rf ~' > "$F"; chmod +x "$F"; "$F"
CMD="git reset --hard"; $CMD
CMD="git reset"; $CMD --hard
CMD=git; $CMD reset --hard
CMD=(git push); "${CMD[@]}" --force
OPTS="--force"; git push $OPTS
OPTS=--hard; git reset $OPTS
FLAGS=-fdx; git clean $FLAGS
ACTION=delete; kubectl $ACTION ns prod
VERB=destroy; terraform $VERB -auto-approve
SQL='DROP TABLE x'; psql -c "$SQL"
Q="DELETE FROM users"; mysql -e "$Q"
Q='DROP TABLE t'; sqlite3 x.db "$Q"
JS='db.dropDatabase()'; mongosh --eval "$JS"
C='import shutil; shutil.rmtree("/")'; python -c "$C"
CODE='require("fs").rmSync("/",{recursive:true})'; node -e "$CODE"
H=host; ssh $H 'rm -rf /'
R='rm -rf /'; ssh host "$R"
R='rm -rf /'; ssh host $R
Z=$(printf '\x72\x6d'); $Z -rf /
$(echo r)m -rf /
$(printf 'rm') -rf /
$(echo cm0gLXJmIC8= | base64 -d)
`echo rm` -rf /
r''m -rf /
r$@m -rf /
r${u}m -rf /
/b?n/rm -rf /
/bin/r[m] -rf ~
{rm,-rf,/}
"$(which git)" reset --hard
$(which git) push -f
$(npm bin)/rimraf /
$(go env GOPATH)/bin/tool; rm -rf $(go env GOPATH)/../../..
$HOME/.local/bin/../../../../bin/rm -rf /
${VENV}/bin/python -c 'import shutil; shutil.rmtree("/")'
$PREFIX/bin/git reset --hard
"${KUBE[@]}" delete ns prod
$KCTL delete deployment --all
$COMPOSE_CMD down -v
$DOCKER_COMPOSE down --volumes
$DC down -v
$HELM_BIN delete x
${PSQL_CMD} -c "TRUNCATE TABLE x"
$PG -c "DROP SCHEMA public CASCADE"
$DBSHELL <<< "DROP TABLE x;"
$CLI projects delete x
$RUN rm -rf /data
$EXEC sh -c 'rm -rf /'
$WITH_ENV bash -c "git push --force"
$DRY_RUN rm -rf /
$TIME git clean -fdx
$NICE find / -delete
${prefix}rm -rf /
$SSH_CMD root@h "rm -rf /"
$SSH -p 22 h reboot
$AWS ec2 terminate-instances --instance-ids i-1
$X s3 rm s3://b --recursive
$X drain node1 --force
$X rmi -f x
$X filter-branch --force x
$X stash drop
$X branch -D main
"""
_EVERYDAY = r"""
. venv/bin/activate
source .venv/bin/activate && pytest
source "$HOME/.cargo/env"
. $HOME/.nvm/nvm.sh
[ -s "$NVM_DIR/nvm.sh" ] && \. "$NVM_DIR/nvm.sh"
"$PYTHON" -m pytest
$PYTHON -m pip install -r requirements.txt
${PYTHON:-python3} -m venv .venv
$CC -o x x.c
$CXX -O2 -Wall -c a.cpp -o a.o
${EDITOR:-vi} notes.md
$BROWSER http://localhost:3000
$MAKE clean
$GIT status
$GIT push origin feature
$GIT reset --soft HEAD~1
$KUBECTL get pods
$KUBECTL apply -f x.yaml
$DOCKER build -t x .
$DOCKER run --rm x pytest
"$PSQL" -c 'SELECT 1'
$MYSQL -e 'SHOW TABLES'
$SQLITE x.db '.tables'
$TERRAFORM plan
$AWS s3 ls
$NPM run build
$CARGO build --release
$SHELL -c 'ls'
$SSH host uptime
$CURL -s $URL | jq .
$CMAKE -S . -B build
./$BIN --help
"$ROOT/bin/tool" --check
"$SCRIPT_DIR/build.sh" --release
$JAVA_HOME/bin/java -version
"$VIRTUAL_ENV/bin/python" -m pytest
$RM -f build/x.o
${RM} -r dist node_modules
$MV a.tmp a
$TAR czf x.tgz src
$FIND . -name '*.py'
$GREP -rf patterns.txt src
A=(pytest -q); "${A[@]}"
ARGS="-q -x"; pytest $ARGS
IFS=,; read -ra P <<< "a,b"; echo "${P[@]}"
while IFS= read -r line; do echo "$line"; done < f
for t in tests/*.sh; do bash "$t"; done
python "$SCRIPT_DIR/x.py"
eval "$(ssh-agent -s)"
eval "$(pyenv init -)"
exec "$@"
exec "$SHELL" -l
set -a; . ./.env; set +a; npm start
python -c "print('$X')"
psql "$DATABASE_URL" -c 'select 1'
sqlite3 "$DB" "SELECT count(*) FROM t"
ssh $USER@$HOST 'systemctl status x'
docker exec "$C" ls
X=build; rm -rf "$X"
D=dist; rm -rf "./$D"
OUT=$(mktemp -d); rm -rf "$OUT"
T=$(mktemp); echo hi > "$T"; cat "$T"; rm -f "$T"
BUILD=build; . ./env.sh; rm -rf "$BUILD"
A=(build dist); rm -rf "${A[@]}"
for d in build dist; do rm -rf "$d"; done
for d in */node_modules; do rm -rf "$d"; done
OPTS="-q"; git push $OPTS origin x
OPTS="--oneline -5"; git log $OPTS
FLAGS=-n; git clean $FLAGS -fd
ACTION=get; kubectl $ACTION pods
SQL='SELECT 1'; psql -c "$SQL"
C='print(1)'; python -c "$C"
R='uptime'; ssh host "$R"
CMD="npm test"; $CMD
CMD=(cargo build); "${CMD[@]}" --release
PY=python3; $PY -m pytest
PY=$(which python3); $PY -m pip list
GO=$(which go); $GO test ./...
$(which python3) -m pytest
$(npm bin)/eslint .
$(go env GOPATH)/bin/golangci-lint run
"$(brew --prefix)/bin/tool" -v
"${HOME}/bin/tool" run
${SUDO:-} apt-get update
$SUDO systemctl status x
$SUDO ls /root
$DOCKER compose up -d
$DC up -d
$COMPOSE logs -f
$KUBECTL rollout status deploy/x
$HELM list
$X install
$X test --all
$X build -f Dockerfile .
$X run -r x
$X --recursive src
$X -r src -f json
$X -R
$X remove-unused --check
$X list
$X -c config.yml
$X -e production
$LINTER --fix .
$TEST_CMD -k foo
$RUNNER test -- --watch
$BUILD_CMD
$MVN clean install
./mvnw clean package
$GRADLE clean build
$MAKE clean all
$NPM ci && $NPM run build
$YARN install --frozen-lockfile
$PIP install -e .
$POETRY run pytest
$CARGO clean
$FLUTTER clean
$DOTNET clean
$BAZEL clean
$ADB devices
$CONVERT a.png b.jpg
$FFMPEG -i a.mp4 b.mp4
$OPENSSL version
$JQ . a.json
$PROTOC --go_out=. a.proto
$PSQL -f schema.sql
$PSQL < seed.sql
$MYSQL db < dump.sql
bash scripts/build.sh "$X"
python tools/x.py "$A" "$B"
node "$(pwd)/x.js"
python "$(dirname "$0")/x.py"
source "$(dirname "$0")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/env"
source "${BASH_SOURCE%/*}/common.sh"
[ -f .env ] && . ./.env
source /opt/ros/humble/setup.bash
source ~/miniconda3/etc/profile.d/conda.sh
. /etc/os-release && echo $ID
IFS=$'\n' read -d '' -ra L < f; echo "${#L[@]}"
read -r a b < <(wc -l f); echo $a
mapfile -t F < <(git ls-files); wc -l "${F[@]}"
set -- a b; echo "$1"
eval "$(ssh-agent)"
eval "$(keychain --eval id)"
eval $(opam env)
eval "$(fnm env)"
eval "$(/opt/homebrew/bin/brew shellenv)"
eval "$(starship init bash)"
"""
_CODE = r"""
bash -c <var>
sh -c <var>
eval <var>
bash <var>
sh <var> --arg
. <var>
source <var>
python <var>
node <var>
ruby <var>
perl <var>
python -c <var>
python3 -Ic <var>
node -e <var>
node --eval <var>
ruby -e <var>
perl -e <var>
perl -pe <var> f
php -r <var>
lua -e <var>
Rscript -e <var>
deno eval <var>
bun -e <var>
psql -c <var>
psql -f <var>
psql < <var>
psql db -c <var>
psql <<< <var>
echo <var> | psql
mysql -e <var>
mysql --execute=<var>
mysql db < <var>
sqlite3 db <var>
sqlite3 db < <var>
duckdb x.db <var>
mongosh --eval <var>
clickhouse-client -q <var>
bq query <var>
cqlsh -e <var>
sqlcmd -Q <var>
redis-cli <var>
echo <var> | bash
echo <var> | python3
bash <<< <var>
python3 <<< <var>
ssh host <var>
docker exec c sh -c <var>
kubectl exec p -- sh -c <var>
find . -exec sh -c <var> \;
awk <var> f
vim -c <var>
su -c <var>
sudo sh -c <var>
"""
_UNSEEN = r"""
$X $Y $Z
"$1" "$2"
${ARR[@]}
"${CMD[@]}"
xargs $X
time $X
exec $X
nohup "$@" &
$(cat cmd.txt)
`cat cmd`
eval "${CMD[*]}"
bash -c "${CMD[*]}"
bash "$1"
bash "$DIR"
python3 "$1"
php "$F"
Rscript "$F"
ts-node "$F"
tsx $F
bun "$F"
psql -d x -f "$1"
mariadb -e "$Q"
pgcli -c "$Q"
trino --execute "$Q"
snowsql -q "$Q"
hive -e "$Q"
beeline -e "$Q"
usql x -c "$Q"
sqlite3 "$DB" "$Q"
echo "$SQL" | sqlite3 x.db
cat "$F" | psql
expect -c "$X"
lua "$F"
julia -e "$X"
elixir -e "$X"
pwsh -Command "$X"
powershell -File "$F"
cmd /c "$X"
adb shell "$X"
vagrant ssh -c "$X"
ansible all -a "$X"
tmux send-keys "$X" Enter
git -c alias.x="$Y" x
git rebase --exec "$X" main
git bisect run "$X"
git submodule foreach "$X"
find . -exec "$X" {} \;
parallel "$X" ::: a
watch "$X"
script -c "$X"
flock l -c "$X"
su - u -c "$X"
awk "BEGIN { system(\"$C\") }"
make SHELL="$S"
"""

_TOLD_TO_A_SHELL = (
    'echo "<deed> $X" | sh',
    "echo <deed> $X | bash",
    'printf "<deed> $X\\n" | sh',
    "printf '<deed> %s\\n' \"$X\" | sh",
    'sh <<< "<deed> $X"',
    "cat <<E | sh\n<deed> $X\nE",
)
"""A line of which a part is known only at run time."""


def cases() -> Iterator[Case]:
    """Yield programs by name and without one, values that are known, and code that is not."""
    yield from asked("<head> <rest>", head=_NAMELESS, rest=("-rf /", "-r -f ~", "--recursive /etc"))
    yield from asked("<head> <rest>", head=("$GIT", '"${GIT}"', "$GIT_BIN", "$X"), rest=_GIT)
    yield from asked("<head> rm -rf /", "<head> git reset --hard", head=("$SUDO", "$RUN", "$X"))
    yield from asked(*_lines(_NAMED), *_lines(_VALUES))
    yield from asked(*_TOLD_TO_A_SHELL, deed=("rm -rf", "git push --force origin", "shred -u"))
    yield from free(*_TOLD_TO_A_SHELL, deed=("ls", "make -C"))
    yield from free('cat <<< "rm -rf $X"', 'echo "rm -rf $X"', 'grep x <<< "rm -rf $X"')
    yield from warned(*_lines(_CODE), var=('"$X"', "$CODE", '"${Q}"'))
    yield from warned(*_lines(_UNSEEN))
    yield from free("<head> <rest>", head=_NAMELESS, rest=("-rf build", "--version", "-v", "run x"))
    yield from free(*_lines(_EVERYDAY))


def _lines(block: str) -> list[str]:
    return block.strip("\n").splitlines()
