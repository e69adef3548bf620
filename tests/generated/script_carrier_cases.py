"""The same effects through options, scripts and code that tools are given to run."""

from __future__ import annotations

from collections.abc import Iterator

from generated.carrier_cases import HARMFUL, carried
from generated.cases import Case, asked

_EDITORS = r"""
vim -c ':!<line>'
vim -c '!<line>' -c q
vim -es -c 'silent !<line>' -c q
vim +'!<line>' x
vim --cmd '!<line>' x
vim -c 'call system("<line>")' -c q
vim -c 'r!<line>'
vim -c 'terminal <line>'
vim -c ':term <line>'
nvim --headless -c '!<line>' -c q
nvim -c 'lua os.execute("<line>")'
nvim --headless +'lua vim.fn.system("<line>")' +q
vi -c '!<line>' -c q x
ex -sc '!<line>' -cx x
ex -c '!<line>' x
ed <<< '!<line>'
echo '!<line>' | ed
printf '!<line>\nq\n' | ed -s f
emacs --batch --eval '(shell-command "<line>")'
emacs -Q --batch -eval '(shell-command "<line>")'
emacs -nw -eval '(call-process-shell-command "<line>")'
less +'!<line>' x
man -P '<line>' ls
man --pager='<line>' ls
man -H'<line>' ls
vim -c ':silent! !<line>' -c :q
vim -u NONE -c ':call system("<line>")' -c q
vim -c 'py3 import os; os.system("<line>")'
vim -c ':exe "!<line>"'
vim --cmd ':!<line>'
vim -S <(echo '!<line>')
vim '+!<line>' f
vim -e -s -c '%!<line>' f
nvim -c ':!<line>' -c q
nvim --cmd "call jobstart('<line>')"
nvim -l <(echo 'os.execute("<line>")')
ex -s -c '!<line>' -c q f
ed -s f <<< $'!<line>\nq'
emacs --script <(echo '(shell-command "<line>")')
less '+!<line>' f
man -P 'sh -c "<line>"' ls
"""
"""Editors and pagers with a way out to a shell."""

_SCRIPTS = r"""
awk 'BEGIN{system("<line>")}'
awk 'BEGIN { system("<line>") }' x
gawk 'BEGIN{system("<line>")}'
mawk 'BEGIN{system("<line>")}'
nawk 'BEGIN{system("<line>")}'
busybox awk 'BEGIN{system("<line>")}'
awk 'BEGIN{"<line>" | getline x}'
awk 'BEGIN{while (("<line>" | getline l) > 0) print l}'
awk 'BEGIN{print "x" | "<line>"}'
awk '{print | "<line>"}' x
awk 'BEGIN{print "<line>" | "sh"}'
awk 'BEGIN{print "<line>" | "/bin/sh"}'
awk 'BEGIN{printf "<line>\n" | "bash"}'
awk 'BEGIN{c="<line>"; system(c)}'
awk -v c='<line>' 'BEGIN{system(c)}'
awk -vc='<line>' 'BEGIN{system(c)}'
awk 'BEGIN{c="<line>"; c | getline x}'
awk 'BEGIN{c="<line>"; print "" | c}'
awk 'BEGIN{c="sh"; print "<line>" | c}'
gawk 'BEGIN{print "x" |& "<line>"}'
gawk -e 'BEGIN{system("<line>")}'
gawk --source 'BEGIN{system("<line>")}'
gawk --sour='BEGIN{system("<line>")}'
awk -f <(echo 'BEGIN{system("<line>")}')
awk -f - <<< 'BEGIN{system("<line>")}'
echo 'BEGIN{system("<line>")}' | awk -f -
echo 'BEGIN{system("<line>")}' > x.awk; awk -f x.awk
echo '<line>' | awk '{system($0)}'
echo '<line>' | awk '{print | "sh"}'
echo '<line>' | awk '{print $0 | "bash"}'
sed '1e <line>' x
sed -n '1e <line>' x
sed -e '1e <line>' x
sed -ne '1e <line>' x
sed --expression='1e <line>' x
sed --expr='1e <line>' x
sed -f <(echo '1e <line>') x
sed -f- x <<< '1e <line>'
echo '1e <line>' > s.sed; sed -f s.sed x
awk 'BEGIN { while (("<line>" | getline line) > 0) print line }'
gawk '@load "x"; BEGIN { system("<line>") }'
gawk 'BEGIN { "<line>" |& getline }'
printf '<line>\n' | awk '{ print | "bash" }'
sed '1!e <line>' f
sed 's/x/y/;1e <line>' f
sed -e 'p' -e 'e <line>' f
"""
"""Scripts of awk and sed."""

_CODE = r"""
perl -e 'system("<line>")'
perl -E 'system "<line>"'
perl -we 'exec "<line>"'
perl -Mstrict -e '`<line>`'
perl -ne 'system("<line>")' x
perl -le 'print qx(<line>)'
perl -e 'open(F, "<line> |")'
perl -pe 'BEGIN{system("<line>")}' x
echo 'system("<line>")' | perl
perl <<< 'system("<line>")'
ruby -e 'system("<line>")'
ruby -e '`<line>`'
ruby -rjson -e 'exec "<line>"'
ruby -ne 'system("<line>")' x
ruby -e 'IO.popen("<line>")'
ruby -e '%x(<line>)'
echo 'system("<line>")' | ruby
python -c 'import os; os.system("<line>")'
python3 -c 'import os; os.system("<line>")'
python3.12 -c 'import os; os.system("<line>")'
python3 -Ic 'import os; os.system("<line>")'
python3 -uc 'import os; os.system("<line>")'
python3 -W ignore -c 'import os; os.popen("<line>")'
python3 -Bsc 'import subprocess; subprocess.run("<line>", shell=True)'
python3 -c 'import subprocess as s; s.check_output("<line>".split())'
python3 <<< 'import os; os.system("<line>")'
echo 'import os; os.system("<line>")' | python3
echo 'import os; os.system("<line>")' | python3 -
echo 'import os; os.system("<line>")' > x.py; python3 x.py
python3 -m timeit 'import os; os.system("<line>")'
uv run python -c 'import os; os.system("<line>")'
poetry run python -c 'import os; os.system("<line>")'
ipython -c '!<line>'
node -e 'require("child_process").execSync("<line>")'
node -pe 'require("child_process").execSync("<line>")'
node --eval 'require("child_process").exec("<line>")'
node --eval='require("child_process").exec("<line>")'
node -p 'require("child_process").execSync("<line>")'
echo 'require("child_process").execSync("<line>")' | node
bun -e 'require("child_process").execSync("<line>")'
php -r 'system("<line>");'
php -r '`<line>`;'
php -r 'passthru("<line>");'
echo '<?php system("<line>");' | php
lua -e 'os.execute("<line>")'
lua5.3 -e 'io.popen("<line>")'
Rscript -e 'system("<line>")'
R -e 'system("<line>")'
R --slave -e 'system("<line>")'
expect -c 'spawn <line>'
expect -c 'spawn sh -c "<line>"; interact'
gdb -ex 'python import os; os.system("<line>")'
sudo -R /mnt <line>
unshare -R /mnt <line>
perl -0777 -ne 'system("<line>")' f
python3 -m timeit -s 'import os' 'os.system("<line>")'
"""
"""Languages that call a shell."""

_TOOLS = r"""
env --split-string '<line>'
env --split-string='<line>'
env --split='<line>'
tar -I '<line>' -cf x.tar a
tar --use-compress-program='<line>' -cf x.tar a
tar --use-comp='<line>' -cf x.tar a
tar cf x.tar a -I '<line>'
tar -cf x.tar --checkpoint=1 --checkpoint-action='exec=<line>' a
tar -cf x.tar --checkpoint=1 --checkpoint-action exec='<line>' a
tar -cf x.tar --checkpoint=1 --checkpoint-act=exec='<line>' a
tar xf x.tar --to-command='<line>'
tar xf x.tar --to-command '<line>'
tar xf x.tar --to-com='<line>'
tar cf x.tar --rsh-command='<line>' a
tar cMf x.tar -F '<line>' a
tar cMf x.tar --info-script='<line>' a
tar cMf x.tar --new-volume-script='<line>' a
gtar --to-command='<line>' -xf x.tar
gtar -I '<line>' -cf x.tar a
bsdtar --use-compress-program '<line>' -cf x a
zip x.zip a -T -TT '<line>'
zip -T --unzip-command='<line>' x.zip a
gdb -batch -ex 'shell <line>'
gdb -batch -ex '!<line>'
gdb -ex='shell <line>'
gdb --batch --ex 'shell <line>'
gdb --args <line>
gdb -x <(echo 'shell <line>')
lldb -o 'platform shell <line>'
lldb --one-line 'platform shell <line>'
lldb -b -o 'shell <line>'
make -f - <<< 'x: ; <line>'
make --eval='x: ; <line>' x
make --eval 'x:;<line>' x
make SHELL='<line>'
make -f <(printf 'x:\n\t<line>\n')
printf 'all:\n\t<line>\n' | make -f -
printf 'all:\n\t@<line>\n' > Makefile && make
dc -e '!<line>'
echo '!<line>' | dc
gnuplot -e 'system("<line>")'
m4 <<< 'syscmd(<line>)'
split --filter='<line>' x
split -b 1k --filter '<line>' x
sort --compress-program='<line>' x
sort --compress-prog '<line>' x
rg --pre '<line>' x
fzf --preview '<line>'
entr -s '<line>'
ls | entr -s '<line>'
ls | entr <line>
hyperfine '<line>'
hyperfine --prepare '<line>' true
nodemon --exec '<line>'
nodemon -x '<line>'
watchexec '<line>'
watchexec -- <line>
concurrently '<line>' 'ls'
npx -c '<line>'
npm exec -c '<line>'
npm pkg set scripts.x='<line>'
npm --script-shell='<line>' run x
tmux new -d '<line>'
tmux new-session -d -s x '<line>'
tmux send-keys -t 0 '<line>' Enter
tmux send-keys '<line>' C-m
tmux run-shell '<line>'
tmux split-window '<line>'
tmux if-shell true 'run-shell "<line>"'
tmux -c '<line>'
screen -dm sh -c '<line>'
screen -dmS n <line>
xterm -e '<line>'
xterm -e sh -c '<line>'
gnome-terminal -- <line>
systemd-run <line>
systemd-run --user -p X=y <line>
systemd-run --on-active=5 sh -c '<line>'
start-stop-daemon --start --exec /bin/sh -- -c '<line>'
daemonize /bin/sh -c '<line>'
osascript -e 'do shell script "<line>"'
powershell -Command '<line>'
powershell -c '<line>'
pwsh -NoProfile -NonInteractive -Command '<line>'
pwsh -nop -c '<line>'
cmd /c '<line>'
cmd.exe /C <line>
wsl <line>
wsl -e <line>
wsl -d Ubuntu -- <line>
wsl bash -c '<line>'
gdb <<< 'shell <line>'
systemd-run --scope <line>
systemd-run -t -p User=root <line>
systemd-run --wait --pipe sh -c '<line>'
systemd-run -E A=b --uid=0 <line>
tar cf /dev/null . --checkpoint=1 --checkpoint-action=exec='sh -c "<line>"'
tar --checkpoint=1 --checkpoint-action exec='<line>' -cf a b
tar xf a --use-compress-program '<line>'
tar -xf a -I 'sh -c "<line>"'
tar -cf h:a --rsh-command='<line>' b
zip a b -TT '<line>' -T
gdb -nx -ex '!<line>' -ex quit
entr -r sh -c '<line>' < l
ls *.c | entr -c <line>
make -C / -f - <<< $'all:\n\t<line>'
make SHELL='sh -c "<line>"'
npm set-script x '<line>'
npx -y -c '<line>'
tmux new-session -d '<line>'
tmux neww '<line>'
tmux send -t x '<line>' Enter
screen -dmS x bash -c '<line>'
gnome-terminal -- bash -c '<line>'
osascript -e 'tell app "Terminal" to do script "<line>"'
screen -X stuff '<line>^M'
screen -S x -X stuff '<line>\n'
svn diff --diff-cmd '<line>'
"""
"""Options, files and consoles of other tools."""

_ALWAYS_ASK = r"""
rsync -ave '<line>' a host:b
git -c filter.x.smudge='<line>' checkout .
git -c protocol.ext.allow=always clone 'ext::<line>' x
git config core.pager '<line>'
git config --global core.editor '<line>'
git config alias.st '!<line>'
git config set alias.st '!<line>'
git config --global credential.helper '!<line>'
git config core.sshCommand '<line>'
git filter-branch --msg-filter '<line>' HEAD
VISUAL='<line>' crontab -e
PROMPT_COMMAND='<line>' bash -i
BASH_ENV=<(echo '<line>') bash x.sh
PERL5OPT=-Mx PERL5DB='BEGIN { system("<line>") }' perl -d x
export GIT_SSH_COMMAND='<line>'; git fetch
echo '<line>' | awk '{print}' | sh
sed 's/.*/<line>/e' x
echo '<line>' | sed 's/^/ /e'
echo '<line>' | sed e
echo 'X <line>' | sed 's/X //e'
julia -e 'run(`<line>`)'
elixir -e 'System.cmd("sh", ["-c", "<line>"])'
groovy -e '"<line>".execute()'
tclsh <<< 'exec <line>'
socat EXEC:'<line>' -
socat TCP-LISTEN:99 SYSTEM:'<line>'
socat - 'EXEC:"<line>",pty'
nc -e '<line>' h 1
ncat --sh-exec '<line>' -l 99
ncat -c '<line>' h 1
ncat --exec '<line>' -l 99
tcpdump -i lo -G1 -z '<line>' -w x
docker run --rm -v /:/h alpine <line>
docker run --rm -v /:/host alpine sh -c '<line>'
at now <<< '<line>'
echo '<line>' | at now + 1 minute
echo '<line>' | batch
crontab - <<< '* * * * * <line>'
echo '* * * * * <line>' | crontab -
psql -c '\! <line>'
psql -c "COPY t TO PROGRAM '<line>'"
psql -c "COPY t FROM PROGRAM '<line>'"
echo '\! <line>' | psql
psql <<< '\! <line>'
mysql -e '\! <line>'
mysql -e 'system <line>'
sqlite3 x.db '.shell <line>'
sqlite3 x.db '.system <line>'
sqlite3 x.db <<< '.shell <line>'
az vm run-command invoke -g g -n n --command-id RunShellScript --scripts '<line>'
"""
"""Carriers that wait for a person whatever they carry: it stays set, or nobody sees it run."""


def cases() -> Iterator[Case]:
    """Yield each carrier with what is harmful and, but for a few, with what is not."""
    for carriers in (_EDITORS, _SCRIPTS, _CODE, _TOOLS):
        yield from carried(carriers)
    yield from asked(*_ALWAYS_ASK.strip("\n").splitlines(), line=HARMFUL)
