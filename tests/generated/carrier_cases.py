"""Every destructive effect through every carrier, and what is harmless through the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

HARMFUL = ("rm -rf ~", "git reset --hard", "mkfs.ext4 /dev/sda1")
HARMLESS = ("ls -la", "make test")

_SHELLS = r"""
sh -c '<line>'
bash -lc '<line>'
bash -euxo pipefail -c '<line>'
bash -ec '<line>'
zsh -fc '<line>'
dash -c '<line>'
ksh -c '<line>'
busybox sh -c '<line>'
fish -c '<line>'
echo '<line>' | sh
echo '<line>' | bash -s
echo '<line>' | bash -x
echo '<line>' | sudo bash
bash <<< '<line>'
bash -s <<< '<line>'
bash < <(echo '<line>')
bash <(echo '<line>')
sh /dev/stdin <<< '<line>'
. <(echo '<line>')
source /dev/stdin <<< '<line>'
eval '<line>'
eval "$(echo '<line>')"
eval $(echo <line>)
$(echo <line>)
`echo <line>`
X='<line>'; $X
X='<line>'; eval $X
X='<line>'; eval "$X"
X='<line>'; bash -c "$X"
X='<line>'; sh <<< "$X"
X='<line>'; echo "$X" | sh
f() { <line>; }; f
f() ( <line> ); f
alias z='<line>'; z
trap '<line>' EXIT
trap '<line>' 0 INT
( <line> )
{ <line>; }
! <line>
if <line>; then :; fi
if true; then <line>; fi
while <line>; do break; done
for i in 1 2; do <line>; done
case x in x) <line>;; esac
true && <line>
false || <line>
: ; <line>
<line> &
<line> > /dev/null 2>&1
<line> | cat
echo $( <line> )
echo "`<line>`"
x=$(<line>)
cat <(<line>)
coproc <line>
coproc X { <line>; }
bash --rcfile <(echo '<line>')
bash --init-file <(echo '<line>') -i
capsh --drop=cap_x -- -c '<line>'
capsh -- -c "<line>"
sshfs -o ssh_command='<line>' h: m
mosh h -- <line>
autossh -M 0 h '<line>'
cpio -idmv --rsh-command='<line>' < a
view -c '!<line>'
vimdiff -c '!<line>' a b
gvim -f -c '!<line>'
emacsclient -e '(shell-command "<line>")'
busybox <line>
toybox <line>
just --command <line>
yarn exec '<line>'
pnpm exec <line>
pnpm -r exec <line>
lerna exec -- <line>
podman exec c <line>
oc rsh p <line>
nomad alloc exec x <line>
crictl exec c <line>
nerdctl exec c <line>
wezterm start -- <line>
kitty sh -c '<line>'
alacritty -e <line>
launchctl submit -l x -- <line>
nx exec -- <line>
zellij run -- <line>
hg --config alias.x='!<line>' x
hg --config hooks.pre-status='<line>' status
svn --config-option config:tunnels:x='<line>' ls svn+x://h
wget --use-askpass='<line>' http://h
wget -e use_askpass='<line>' http://h
bat --pager '<line>' f
delta --pager '<line>' f
go build -toolexec '<line>' ./...
go test -exec '<line>' ./...
"""
"""A shell's own ways."""

_WRAPPERS = r"""
/usr/bin/env bash -c '<line>'
env -i sh -c '<line>'
env - sh -c '<line>'
env -S '<line>'
env -iS '<line>'
env -vS'<line>'
env -u X -S '<line>'
env A=b -S '<line>'
env -- <line>
env A=1 -- <line>
nice -n 19 <line>
nice -n19 <line>
nice -19 <line>
nice --adjustment=5 <line>
ionice -c3 <line>
ionice -c 2 -n 7 <line>
chrt -i 0 <line>
taskset -c 0 <line>
taskset 0x1 <line>
timeout 5 <line>
timeout -k 5 10 <line>
timeout -k5 -s KILL 10 <line>
timeout --sig=KILL 10 <line>
timeout --kill-after=3 --foreground 10s <line>
stdbuf -oL <line>
stdbuf -o0 -eL <line>
stdbuf --output=L <line>
setsid -w <line>
setsid --fork <line>
nohup <line> &
time -p <line>
/usr/bin/time -f %e <line>
/usr/bin/time -o out.txt <line>
/usr/bin/time -v <line>
sudo <line>
sudo -E <line>
sudo --command-timeout 5 <line>
_=x <line>
_+=x <line>
sudo -n -- <line>
sudo -nu root <line>
sudo -uroot <line>
sudo -iu root <line>
sudo --user=root <line>
sudo --us root <line>
sudo -u root -g wheel <line>
sudo -H -u root bash -c '<line>'
sudo A=b <line>
sudo -s '<line>'
sudo -i '<line>'
doas -u root <line>
doas <line>
su -c '<line>'
su root -c '<line>'
su - root -c '<line>'
su -lc '<line>' root
su --command='<line>'
su --comm='<line>' root
runuser -u root -- <line>
runuser -l root -c '<line>'
pkexec <line>
pkexec --user root <line>
run0 <line>
setpriv --reuid=0 <line>
setpriv --clear-groups <line>
unshare -r <line>
unshare -m -- <line>
unshare --user --map-root-user <line>
nsenter -t 1 -m <line>
nsenter -t1 -m -u -- <line>
nsenter --target 1 --mount <line>
flock /tmp/l <line>
flock -n /tmp/l <line>
flock -n /tmp/l -c '<line>'
flock -w 5 /tmp/l <line>
flock -w5 /tmp/l <line>
flock --wait 5 /tmp/l <line>
strace -f <line>
strace -f -o /tmp/t <line>
strace -fo /tmp/t <line>
strace -fe trace=file <line>
ltrace -o /tmp/x <line>
perf stat <line>
perf record -g <line>
perf record -o x -- <line>
perf trace <line>
valgrind --leak-check=full <line>
script -c '<line>'
script -qc '<line>' /dev/null
script -q /dev/null <line>
script --command '<line>' /dev/null
script --command='<line>'
script -qec '<line>' /dev/null
watch <line>
watch -n1 <line>
watch -n 1 '<line>'
watch -x <line>
watch -dn 2 '<line>'
command <line>
command -p <line>
builtin command <line>
exec <line>
exec -a name <line>
exec -c <line>
cross-env A=b <line>
dotenv -- <line>
dotenv run <line>
direnv exec . <line>
nix-shell --run '<line>'
nix-shell -p hello --run '<line>'
nix develop -c <line>
nix develop --command sh -c '<line>'
chroot /mnt <line>
chroot /mnt sh -c '<line>'
proot -r /x <line>
firejail --noprofile <line>
fakeroot -- <line>
fakeroot <line>
cpulimit -l 50 -- <line>
prlimit --nofile=10 <line>
numactl -N 0 <line>
caffeinate -i <line>
arch -x86_64 <line>
gtimeout 5 <line>
doppler run -- <line>
op run -- <line>
sops exec-env f '<line>'
infisical run -- <line>
mise exec -- <line>
asdf exec <line>
pyenv exec <line>
conda run -n e <line>
micromamba run -n e <line>
pipenv run <line>
poetry run <line>
uv run <line>
uv run -- <line>
hatch run <line>
pdm run <line>
bundle exec <line>
sudo -- sh -c "<line>"
sudo --stdin <line> <<< pw
sudo -T 10 <line>
sudo --command-timeout=5 <line>
sudo -r role <line>
doas -n <line>
doas -C /etc/doas.conf <line>
chroot --userspec=0:0 /mnt <line>
unshare -rm <line>
unshare --mount --fork --pid <line>
setpriv --reuid 0 --clear-groups <line>
prlimit -n1024 <line>
ionice -c2 -n0 <line>
chrt -f 99 <line>
chrt --fifo 99 <line>
taskset --cpu-list 0-3 <line>
numactl --cpunodebind=0 <line>
stdbuf -i0 -o0 -e0 <line>
timeout --preserve-status 5s <line>
timeout -v 5 <line>
timeout -s9 5 <line>
nohup nice <line> &
nice ionice timeout 5 <line>
time nice -n 5 <line>
command time <line>
exec -l <line>
exec -cl <line>
builtin eval '<line>'
command eval '<line>'
command -- <line>
env -- A=b <line>
env -i -S "PATH=/bin <line>"
env --debug <line>
env --block-signal=INT <line>
env --default-signal <line>
env -a x <line>
env --argv0=x <line>
strace -o '|<line>' ls
ltrace -f <line>
script -e -c '<line>' /dev/null
watch --interval 5 -- <line>
timeout --foreground --signal=TERM 5m sudo <line>
ionice -c idle nice -n19 <line>
"""
"""Programs that run another one."""

_FAN_OUTS = r"""
xargs -a list <line>
parallel ::: '<line>'
parallel -j4 ::: '<line>'
echo x | parallel '<line>'
echo '<line>' | parallel
printf '%s\n' '<line>' | parallel -j2
find . -name x -exec <line> \;
find . -maxdepth 0 -exec <line> \;
find . -maxdepth 0 -exec sh -c '<line>' \;
find . -maxdepth 0 -execdir <line> +
find . -maxdepth 0 -ok <line> \;
find . -maxdepth 0 -exec sh -c '<line>' sh {} +
fd x -x <line>
fd -x sh -c '<line>'
fd x -X sh -c '<line>'
fd --exec sh -c '<line>' \; x
xargs sh -c '<line>'
echo a | xargs sh -c '<line>'
echo a | xargs -I{} sh -c '<line>'
echo a | xargs -i sh -c '<line>'
echo a | xargs -n1 -P4 sh -c '<line>'
echo a | xargs -r -0 sh -c '<line>' _
echo '<line>' | xargs -I{} sh -c {}
echo '<line>' | xargs -I % sh -c %
echo '<line>' | xargs -d '\n' -I % sh -c %
echo '<line>' | xargs -0 sh -c
echo '<line>' | xargs env
find . -name '*.x' | xargs -I@ sh -c '<line>'
"""
"""Templates that are filled."""

_REMOTE = r"""
echo '<line>' | ssh host
echo '<line>' | ssh host bash
echo '<line>' | ssh -T host sh -s
ssh host <line>
ssh host '<line>'
ssh -p 22 host '<line>'
ssh -p22 host '<line>'
ssh -tt host '<line>'
ssh -i key user@host -- '<line>'
ssh -o StrictHostKeyChecking=no host '<line>'
ssh -oStrictHostKeyChecking=no host '<line>'
ssh -J a,b host '<line>'
ssh host -p 22 '<line>'
ssh host -t '<line>'
ssh -o ProxyCommand='<line>' host
ssh -oProxyCommand='<line>' host
ssh -o 'ProxyCommand <line>' host
ssh -o "proxycommand = <line>" host
ssh -vo ProxyCommand='<line>' host
ssh -o PermitLocalCommand=yes -o LocalCommand='<line>' host
ssh -o KnownHostsCommand='<line>' host
ssh -o RemoteCommand='<line>' host
scp -o ProxyCommand='<line>' a host:b
scp -oProxyCommand='<line>' a host:b
scp -S '<line>' a host:b
sftp -o ProxyCommand='<line>' host
sftp -S '<line>' host
rsync -e '<line>' a host:b
rsync --rsh='<line>' a host:b
rsync --rsh '<line>' a host:b
rsync --rsync-path='<line> && rsync' a host:b
rsync --rsync-path='sudo <line>' host:a b
docker exec c <line>
docker exec -it c sh -c '<line>'
docker compose exec -T web sh -c '<line>'
kubectl exec -it p -- <line>
kubectl exec p -c app -- sh -c '<line>'
ftp -n <<< '!<line>'
sftp host <<< '!<line>'
echo '!<line>' | sftp -b - host
sftp -b <(echo '!<line>') host
echo '!<line>' | telnet
mail -s x y <<< '~!<line>'
ansible all -m shell -a '<line>'
ansible all -a '<line>'
ansible localhost -m command -a '<line>'
salt '*' cmd.run '<line>'
pssh -h hosts '<line>'
pdsh -w h1,h2 '<line>'
vagrant ssh -c '<line>'
gcloud compute ssh vm --command='<line>'
gcloud compute ssh vm --command '<line>'
aws ssm send-command --document-name AWS-RunShellScript --parameters 'commands=["<line>"]'
heroku run '<line>'
heroku run -a app <line>
fly ssh console -C '<line>'
adb shell <line>
adb shell '<line>'
multipass exec vm -- <line>
limactl shell default <line>
colima ssh -- <line>
minikube ssh '<line>'
lxc exec c -- <line>
incus exec c -- <line>
machinectl shell root@.host /bin/sh -c '<line>'
aws-vault exec p -- <line>
ssh -F /dev/null -o ProxyCommand='<line>' h
ssh -oLocalCommand='<line>' -oPermitLocalCommand=yes h
ssh -o proxyCommand='sh -c "<line>"' h ls
ssh -E log -p 22 h 'sudo <line>'
ssh h 'bash -s' < wipe.sh; ssh h '<line>'
ssh h bash -c "'<line>'"
ssh h -- <line>
ssh -W x:22 h; ssh h <line>
scp -S '<line>' a h:b
scp -D '<line>' a h:b
sftp -o 'ProxyCommand <line>' h
sftp -D '<line>'
mosh --ssh='<line>' h
rsync -av --rsh='<line>' a h:
rsync -ave 'sh -c "<line>"' a h:
rsync --rsync-path='<line> ; rsync' a h:
docker compose run --rm web sh -c '<line>'
docker exec -u 0 c <line>
docker exec -e A=b -w /x c sh -c '<line>'
kubectl exec -n x deploy/y -- <line>
kubectl run x --image=a --restart=Never -- <line>
vagrant ssh -- <line>
vagrant ssh default -c '<line>'
flyctl ssh console -C '<line>'
gcloud compute ssh x --zone=z -- <line>
aws ecs execute-command --cluster c --task t --command '<line>' --interactive
az container exec -g g -n n --exec-command '<line>'
sshpass -p x ssh h '<line>'
"""
"""Other machines, and how they are reached."""

_GIT = r"""
git -c alias.x='!<line>' x
git -c core.pager='<line>' log
git -c core.editor='<line>' commit
git -c core.sshCommand='<line>' fetch
git -c core.fsmonitor='<line>' status
git -c core.askPass='<line>' fetch
git -c sequence.editor='<line>' rebase -i HEAD~2
git -c diff.external='<line>' diff
git -c credential.helper='!<line>' fetch
git -c credential.https://x.com.helper='!<line>' fetch
git -c pager.log='<line>' log
git -c gpg.program='<line>' commit -S
git -c gpg.ssh.program='<line>' commit -S
git -c merge.x.driver='<line>' merge b
git -c filter.x.clean='<line>' add .
git -c diff.x.textconv='<line>' diff
git -c difftool.x.cmd='<line>' difftool -t x
git -c mergetool.x.cmd='<line>' mergetool -t x
git -c interactive.diffFilter='<line>' add -p
git -c uploadpack.packObjectsHook='<line>' fetch
git -c core.gitProxy='<line>' fetch
git -c remote.o.uploadpack='<line>' fetch o
git -c submodule.x.update='!<line>' submodule update
git -c core.alternateRefsCommand='<line>' fetch
git -c trailer.x.command='<line>' commit
git -c sendemail.sendmailCmd='<line>' send-email x
git -ccore.pager='<line>' log
git bisect run <line>
git bisect run sh -c '<line>'
git submodule foreach '<line>'
git submodule foreach --recursive '<line>'
git submodule --quiet foreach '<line>'
git rebase -x '<line>' HEAD~3
git rebase --exec='<line>' HEAD~3
git rebase --exec '<line>' main
git rebase -ix '<line>' main
git difftool -x '<line>'
git difftool --extcmd='<line>'
git clone --upload-pack='<line>' x:y
git clone -u '<line>' x:y
git clone -c core.sshCommand='<line>' x:y
git clone --config core.fsmonitor='<line>' x:y
git fetch --upload-pack '<line>'
git push --receive-pack='<line>' origin
git ls-remote --upload-pack='<line>' x:y
git grep -O'<line>' x
git grep --open-files-in-pager='<line>' x
git -p -c core.pager='<line>' log
git -c pager.diff='<line>' diff
git -c diff.tool=x -c difftool.x.cmd='<line>' difftool
git -c merge.tool=x -c mergetool.x.cmd='<line>' mergetool
git -c gc.auto=1 -c core.fsmonitor='/tmp/x.sh; <line>' status
git -c user.name=x -c alias.zz='!sh -c "<line>"' zz
git -c "alias.zz=!<line>" zz
git -c remote.origin.receivepack='<line>' push
git -c gpg.x509.program='<line>' verify-commit HEAD
git -c tar.tgz.command='<line>' archive --format=tgz HEAD
git -c browser.x.cmd='<line>' web--browse x
git bisect start && git bisect run sh -c '<line>'
git rebase -i --exec "<line>" HEAD~3
git send-email --sendmail-cmd='<line>' x.patch
git send-email --to-cmd='<line>' x.patch
git difftool --no-prompt --extcmd '<line>'
git difftool -yx '<line>'
git archive --remote=x --exec='<line>' HEAD
git fetch-pack --upload-pack='<line>' x
git -c core.editor='vim -c "!<line>"' commit
"""
"""Settings, options and verbs of git that run something."""

_VARIABLES = r"""
GIT_SSH_COMMAND='<line>' git fetch
GIT_SSH='<line>' git fetch
GIT_EDITOR='<line>' git commit
GIT_SEQUENCE_EDITOR='<line>' git rebase -i HEAD~2
GIT_PAGER='<line>' git log
GIT_EXTERNAL_DIFF='<line>' git diff
GIT_ASKPASS='<line>' git fetch
GIT_PROXY_COMMAND='<line>' git fetch
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='<line>' git log
EDITOR='<line>' git commit
PAGER='<line>' man ls
MANPAGER='<line>' man ls
LESSOPEN='|<line>' less x
BROWSER='<line>' man -H ls
RSYNC_RSH='<line>' rsync a h:b
SSH_ASKPASS='<line>' ssh host
SUDO_ASKPASS='<line>' sudo -A true
TAR_OPTIONS="--checkpoint=1 --checkpoint-action=exec='<line>'" tar cf x a
export EDITOR='<line>' && git commit
"""
"""Variables that programs run."""


def cases() -> Iterator[Case]:
    """Yield each carrier with what is harmful and with what is not."""
    for carriers in (_SHELLS, _WRAPPERS, _FAN_OUTS, _REMOTE, _GIT, _VARIABLES):
        yield from carried(carriers)


def carried(carriers: str) -> Iterator[Case]:
    """Yield the carriers, one a line, with all that they may carry."""
    templates = carriers.strip("\n").splitlines()
    yield from asked(*templates, line=HARMFUL)
    yield from free(*templates, line=HARMLESS)
