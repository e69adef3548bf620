"""Time and memory are bounded, whatever comes; and nothing is read, put back or passed by a trick.

Work is counted, never timed: how many calls a question takes, and how that grows with its size.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import signal
import socket
import string
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from copy import copy
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from edits.workshop import Workshop as EditWorkshop
from edits.workshop import an_edit
from effort import rounds
from gates.policies import gates_with
from governed_edits.workbench import NOTES, Workbench
from interlock import Decision, InputError, PolicyError, evaluate_tool_use
from interlock.checkpoints.bounded_command import Deadline, run_bounded
from interlock.edits.edit_apply import apply_once
from interlock.edits.journal import read_document
from interlock.edits.snapshot import Manifest, restore, take_snapshot
from interlock.errors import EditError
from interlock.model.events import Undone
from interlock.model.review import ReviewOutcome
from interlock.service.policies.policy_files import load_policy
from patience import LONG_ENOUGH_S
from review_flows.checking import ran, scripted
from review_flows.workshop import PASS
from review_flows.workshop import Workshop as ReviewWorkshop
from secret_packs import RULES, SCANNER

_MUCH = rounds(short=24_000, soak=60_000)
KEYWORDS = sorted({keyword for rule in RULES for keyword in rule.literals})
HEADS = sorted({head for rule in RULES for head in rule.beginnings})
NAMES = sorted({name for rule in RULES for name in rule.named if name.isalnum()})


def calls_of(action: Callable[[], object]) -> int:
    """Return how many calls something takes, of Python's and of what it calls."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def drawn(parts: list[str], between: str = "") -> Callable[[int], str]:
    return lambda size: between.join(random.Random(size).choices(parts, k=size // 4))[:size]


def noised(parts: list[str]) -> Callable[[int], str]:
    """Return names with a few other characters between them: a pattern that counts loses count."""

    def made(size: int) -> str:
        chance = random.Random(size)
        return "".join(
            chance.choice(parts)
            + "".join(chance.choices(string.ascii_letters, k=chance.randint(0, 6)))
            for _ in range(size // 5)
        )[:size]

    return made


CLEAN: dict[str, Callable[[int], str]] = {
    "base64": lambda size: base64.b64encode(random.Random(1).randbytes(size)).decode()[:size],
    "base64 of nothing": repeated("A"),
    "hex": lambda size: random.Random(2).randbytes(size).hex()[:size],
    "letters": drawn(list(string.ascii_lowercase)),
    "letters and digits": drawn(list(string.ascii_letters + string.digits)),
    "one long name": drawn(["parse", "value", "of", "next", "item"], "_"),
    "one line of JSON": drawn(['"name":"a1b2",', '"size":12345,', '"items":[1,2,3],']),
    "keys without values": repeated("password="),
    "bait for keys": repeated("AKIA"),
    "bait for tokens": repeated("sk-"),
    "bait for web tokens": repeated("eyJ"),
    "web tokens cut off": repeated("eyJhbGciOiJIUzI1NiJ9. "),
    "bait for addresses": repeated("://"),
    "logins cut off": repeated("https://user:"),
    "digits": drawn(list(string.digits)),
    "begun keys without their word": repeated("-----BEGIN "),
    "blanks": repeated(" "),
    "line ends": repeated("\n"),
    "quotation marks": repeated("\"'"),
    "backslashes": repeated("\\"),
    "other alphabets": repeated("ключ=значение "),
    "half characters": repeated("\ud800x"),
    "dashes": drawn(["-", "--", "-a", "-b-", "c"]),
}
"""What holds no credential, however it looks."""

DENSE: dict[str, Callable[[int], str]] = {
    "every keyword": drawn(KEYWORDS),
    "every keyword as a word": drawn(KEYWORDS, " "),
    "every beginning": drawn(HEADS),
    "every name assigned": drawn(NAMES, '="x'),
    "names in noise": noised(NAMES),
    "a few names in noise": noised(["azure", "mistral", "cohere", "datadog"]),
    "beginnings in noise": noised(HEADS),
    "names that several rules have": repeated("private_key wallet "),
    "quoted keys": repeated('password="'),
    "basic logins": repeated("Authorization: Basic "),
    "curl": noised(["curl -u a:", "wget ", "http "]),
    "flags": noised(["--password ", "--token ", "-pass "]),
    "begun private keys": repeated("-----BEGIN PRIVATE KEY-----\n"),
    "private keys with a body": repeated("-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 + "\n"),
    "access keys": lambda size: "\n".join(
        "AKIA" + "".join(random.Random(number).choices("ABCDEFGHJKLMNPQ234567", k=16))
        for number in range(size // 21)
    ),
    "passwords": lambda size: "\n".join(
        f'password = "x{number * 7919 % 99991}Q!z"' for number in range(size // 24)
    ),
    "Adyen-like": lambda size: "AQE" + drawn(list(string.ascii_letters + "/+"))(size),
}
"""What holds credentials, or almost: as much as there is room for."""


@pytest.mark.parametrize("shape", CLEAN)
def test_hostile_text_without_a_credential_is_clean(shape: str) -> None:
    assert SCANNER.scan(CLEAN[shape](30_000)) == []


@pytest.mark.parametrize("shape", [*CLEAN, *DENSE])
def test_scanning_takes_work_in_proportion_to_the_text(shape: str) -> None:
    make = (CLEAN | DENSE)[shape]
    short, long = make(4_000), make(16_000)
    SCANNER.scan(short)
    SCANNER.scan(long)
    few, many = (calls_of(lambda text=text: SCANNER.scan(text)) for text in (short, long))

    assert many <= 6 * few + 4_000
    # Each call is well below a microsecond.
    assert many <= 12 * len(long)


@pytest.mark.parametrize("shape", DENSE)
def test_what_cannot_be_told_apart_is_covered_as_a_whole_or_in_part(shape: str) -> None:
    text = DENSE[shape](_MUCH)
    found = SCANNER.scan(text)

    assert all(0 <= match.start < match.end <= len(text) for match in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


# Only regular files are read.


@contextmanager
def _socket_at(path: Path) -> Generator[None]:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
            yield
    finally:
        os.chdir(before)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def _sparse(path: Path) -> None:
    with path.open("wb") as huge:
        huge.truncate(3 << 30)


def _folder(path: Path) -> None:
    path.mkdir()


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("the-pipe"))
    path.symlink_to("the-pipe")


def _memory(path: Path) -> None:
    path.symlink_to("/proc/self/mem")


TRAPS = [_pipe, _device, _terminal, _sparse, _folder, _circle, _link_to_a_pipe, _memory]


@pytest.mark.parametrize("layer", ["user", "project"])
@pytest.mark.parametrize("trap", TRAPS)
def test_a_policy_that_is_no_file_is_refused_at_once(
    tmp_path: Path, trap: Callable[[Path], None], layer: str
) -> None:
    file = tmp_path / "interlock.toml"
    trap(file)

    with pytest.raises(PolicyError, match="cannot be read: ") as refused:
        load_policy(**{layer: file})
    assert str(file) in str(refused.value)


def test_a_socket_is_no_policy(tmp_path: Path) -> None:
    with (
        _socket_at(tmp_path / "interlock.toml"),
        pytest.raises(PolicyError, match="cannot be read"),
    ):
        load_policy(project=tmp_path / "interlock.toml")


def test_a_policy_behind_a_link_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("[diff-size]\nthreshold = 5\n")
    (tmp_path / "interlock.toml").symlink_to("real.toml")

    assert load_policy(project=tmp_path / "interlock.toml").config.diff_size.threshold == 5


@pytest.mark.parametrize("trap", [_pipe, _device, _sparse, _folder, _circle])
@pytest.mark.parametrize("name", ["journal.json", "before/0"])
def test_a_store_with_a_trap_in_it_neither_hangs_nor_stays_locked(
    tmp_path: Path, trap: Callable[[Path], None], name: str
) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", "one\n")
    shop.apply(an_edit("a", "one", "two"))
    file = shop.store / "kept" / "set" / name
    file.unlink()
    trap(file)

    with pytest.raises(EditError, match="cannot be read"):
        shop.undo()
    assert shop.read("a") == b"two\n"
    shop.apply(an_edit("a", "two", "three"), set_id="next")


@pytest.mark.parametrize("trap", [_pipe, _device, _folder, _circle])
def test_a_file_that_becomes_a_trap_before_it_is_changed_is_left_alone(
    tmp_path: Path, trap: Callable[[Path], None]
) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", "one\n")
    planned = shop.plan(an_edit("a", "one", "two"))
    (shop.root / "a").unlink()
    trap(shop.root / "a")

    with pytest.raises(EditError):
        apply_once(planned, store=shop.store, set_id="set")
    assert shop.unfinished() == []
    shop.write("b", "one\n")
    shop.apply(an_edit("b", "one", "two"), set_id="next")


@pytest.mark.parametrize("trap", [_pipe, _device, _folder, _circle])
@pytest.mark.parametrize("name", ["manifest.json", "content"])
def test_a_snapshot_with_a_trap_in_it_is_refused(
    tmp_path: Path, trap: Callable[[Path], None], name: str
) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", "one\n")
    take_snapshot(shop.store, "copy", ["a"], workspace=shop.root, limit_bytes=1_000)
    file = shop.store / "snapshots" / "copy" / name
    file.unlink()
    trap(file)

    with pytest.raises(EditError):
        restore(shop.store, "copy")
    assert shop.read("a") == b"one\n"


# Edits of large files.


@pytest.mark.parametrize(
    "content",
    ["x = 1\n" * 1_500_000, "\n" * 300_000, "a" * 9_000_000],
    ids=["many bytes", "many lines", "one line"],
)
def test_what_is_missing_in_a_large_file_is_not_looked_for_in_other_spellings(
    tmp_path: Path, content: str
) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", content)
    tracemalloc.start()
    try:
        with pytest.raises(EditError, match="nothing like it is looked for"):
            shop.plan(an_edit("a", "y  =  2", "z"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 8 * len(content) + 1_000_000


def test_what_stands_in_a_large_file_as_it_is_is_found(tmp_path: Path) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", "x = 1\n" * 1_500_000 + "the end\n")
    shop.apply(an_edit("a", "the end", "over"))

    assert shop.read("a").endswith(b"x = 1\nover\n")


# Journals that somebody has edited.


def _redirected(journal: dict[str, Any]) -> None:
    journal["entries"][0]["target"] = "../outside"


def _absolute(journal: dict[str, Any]) -> None:
    journal["entries"][0]["target"] = "/etc/hosts"


def _through_a_dot(journal: dict[str, Any]) -> None:
    journal["entries"][0]["target"] = "./a.txt"


def _draft_elsewhere(journal: dict[str, Any]) -> None:
    journal["entries"][0]["draft"] = "../draft"


def _folder_elsewhere(journal: dict[str, Any]) -> None:
    journal["entries"][0]["made"] = ["../outside"]


def _emptied_elsewhere(journal: dict[str, Any]) -> None:
    journal["entries"][0]["emptied"] = [".."]


def _other_file(journal: dict[str, Any]) -> None:
    journal["entries"][0]["target"] = journal["entries"][0]["path"] = "b.txt"


def _other_digest(journal: dict[str, Any]) -> None:
    journal["entries"][0]["before"] = journal["entries"][0]["after"]


def _one_less(journal: dict[str, Any]) -> None:
    del journal["entries"][0]


def _other_id(journal: dict[str, Any]) -> None:
    journal["id"] = "another"


def _pretends_to_undo(journal: dict[str, Any]) -> None:
    journal["undoes"] = "another"


EDITED = [
    *(_redirected, _absolute, _through_a_dot, _draft_elsewhere, _folder_elsewhere),
    *(_emptied_elsewhere, _other_file, _other_digest, _one_less, _other_id, _pretends_to_undo),
]


@pytest.mark.parametrize("change", EDITED)
def test_an_edited_journal_puts_nothing_back(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    bench.write("b.txt", "one\n2\nthree\n")
    told = bench.apply(an_edit("a.txt", "two", "2"))
    (file,) = bench.store.glob("kept/*/journal.json")
    journal = json.loads(file.read_bytes())
    change(journal)
    file.write_text(json.dumps(journal))
    before = bench.files()

    with pytest.raises((EditError, InputError)):
        bench.undo(told.undo_id)
    assert bench.files() == before


def test_a_journal_that_leads_to_another_workspace_puts_nothing_back(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("one\n2\nthree\n")
    (file,) = bench.store.glob("kept/*/journal.json")
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"workspace": str(other)}))

    with pytest.raises(EditError, match="is not what is on record"):
        bench.undo(told.undo_id)
    assert (other / "a.txt").read_text() == "one\n2\nthree\n"


class _DiedError(BaseException):
    """The process has come to its end."""


def _died_before_recording(tmp_path: Path) -> tuple[Workbench, Path]:
    """Return the folder of a set whose files were written, and whose maker died right then."""
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    bench.write("b.txt", NOTES)
    real, left = os.rename, tmp_path / "left"

    def renamed(start: Path, end: Path, **named: int) -> None:
        if "kept" in Path(os.fsdecode(end)).parts:
            shutil.copytree(bench.store, left)
            raise _DiedError
        real(start, end, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", renamed)
        with pytest.raises(_DiedError):
            bench.apply(an_edit("a.txt", "two", "2"))
    # Whoever dies puts nothing back.
    shutil.rmtree(bench.store)
    left.rename(bench.store)
    bench.write("a.txt", NOTES.replace("two", "2"))
    (pending,) = (bench.store / "pending").iterdir()
    return bench, pending


def _changed_journal(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = folder / "journal.json"
    journal = json.loads(file.read_bytes())
    change(journal)
    file.write_text(json.dumps(journal))


def _to_the_other(journal: dict[str, Any]) -> None:
    journal["entries"][0] |= {"target": "b.txt", "path": "b.txt"}


def _to_a_hook(journal: dict[str, Any]) -> None:
    journal["entries"][0] |= {"target": ".git/hooks/pre-commit", "after": None}


def _to_the_parent(journal: dict[str, Any]) -> None:
    journal["workspace"] = str(Path(journal["workspace"]).parent)


@pytest.mark.parametrize("change", [_to_the_other, _to_a_hook, _to_the_parent, _pretends_to_undo])
def test_a_set_that_nobody_lived_to_record_changes_what_was_agreed_to_or_nothing(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    bench, pending = _died_before_recording(tmp_path)
    _changed_journal(pending, change)
    before = bench.files()
    with bench.opened():
        assert bench.files() == before

    with pytest.raises(EditError, match="is not what is on record"):
        bench.apply(an_edit("b.txt", "two", "2"))
    assert bench.files() == before
    pending.rename(bench.store / "kept" / pending.name)
    with pytest.raises(EditError, match="is not what is on record"):
        bench.undo(pending.name)
    assert bench.files() == before


def test_a_set_that_nobody_lived_to_record_is_finished_and_can_be_put_back(tmp_path: Path) -> None:
    bench, pending = _died_before_recording(tmp_path)
    with bench.opened():
        assert not pending.exists()
    bench.undo(pending.name)

    assert bench.text("a.txt") == NOTES


def test_a_set_of_another_ledger_is_left_to_it(tmp_path: Path) -> None:
    bench, pending = _died_before_recording(tmp_path)
    other = copy(bench)
    other.place, other.run_id = str(tmp_path / "other.db"), ""
    with other.opened():
        assert pending.exists()
    assert other.apply(an_edit("b.txt", "two", "2")).allowed
    with bench.opened():
        assert not pending.exists()


def test_an_edit_that_was_refused_is_not_made_by_putting_it_back(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    refused = bench.apply(an_edit("interlock.toml", "", "[gates]\n"))
    assert told.undo_id is not None
    assert refused.answer is not None
    forged = f"{refused.answer.action_id.replace(':', '-')}-01234567"
    kept = bench.store / "kept"
    shutil.copytree(kept / told.undo_id, kept / forged)
    _changed_journal(kept / forged, lambda journal: journal.update(id=forged))

    with pytest.raises(EditError, match="is not what is on record"):
        bench.undo(forged)
    assert bench.text("a.txt") != NOTES


def test_a_forged_journal_of_undoing_does_not_stand_for_it(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    assert told.undo_id is not None
    kept = bench.store / "kept"
    forged = f"{told.undo_id}-undo"
    shutil.copytree(kept / told.undo_id, kept / forged)
    _changed_journal(kept / forged, lambda journal: journal.update(id=forged))

    with pytest.raises(EditError, match="is not what is on record"):
        bench.undo(told.undo_id)
    assert bench.events(Undone) == []


def test_what_was_put_back_is_put_back_again_by_its_own_journal(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, str(tmp_path / "ledger.db"))
    bench.write("a.txt", NOTES)
    told = bench.apply(an_edit("a.txt", "two", "2"))
    bench.undo(told.undo_id)
    bench.undo(f"{told.undo_id}-undo")
    bench.undo(f"{told.undo_id}-undo-undo")

    assert bench.text("a.txt") == NOTES


def test_a_snapshot_whose_manifest_was_changed_is_told_by_its_digest(tmp_path: Path) -> None:
    shop = EditWorkshop(tmp_path)
    shop.write("a", "one\n")
    known = take_snapshot(shop.store, "copy", ["a"], workspace=shop.root, limit_bytes=1_000)
    manifest = shop.store / "snapshots" / "copy" / "manifest.json"
    other = tmp_path / "other"
    other.mkdir()
    changed = json.loads(manifest.read_bytes()) | {"workspace": str(other)}
    manifest.write_text(json.dumps(changed))

    with pytest.raises(EditError, match="is not what is on record"):
        restore(shop.store, "copy", is_known=lambda kept: kept.digest == known.digest)
    assert list(other.iterdir()) == []
    assert read_document(manifest, Manifest) is not None


# Whatever a check starts ends with it.

STARTED = {
    "in the background": "{wait} &",
    "in a session of its own": "setsid {wait} &",
    "without its environment": "env -i setsid {wait} &",
    "deaf to a hang-up": "nohup {wait} >/dev/null 2>&1 &",
    "deaf to SIGTERM": "(trap '' TERM HUP INT; {wait}) &",
    "by a parent that has gone": "(setsid sh -c '{wait} &' &)",
    "in two sessions": "setsid sh -c 'setsid {wait} & {wait}' &",
}
_UNTIL_BEGUN = "while ! [ -s pids ]; do :; done; "


@pytest.mark.parametrize("how", STARTED)
@pytest.mark.parametrize("is_late", [False, True], ids=["ends", "late"])
def test_nothing_that_a_check_starts_survives_it(tmp_path: Path, how: str, is_late: bool) -> None:
    script = "wait.sh"
    (tmp_path / script).write_text("echo $$ >> pids\nexec tail -f /dev/null\n")
    begun = STARTED[how].format(wait=f"sh {script}")
    last = "exec tail -f /dev/null" if is_late else "exit 0"
    ended = run_bounded(
        ["sh", "-c", f"{begun}\n{_UNTIL_BEGUN}{last}"],
        folder=tmp_path,
        environment={"PATH": os.environ["PATH"]},
        deadline=_UntilBegun(tmp_path / "pids") if is_late else Deadline(LONG_ENOUGH_S),
        most_said=1_000,
        leaves_nothing=True,
    )

    assert ended.exit_code == (None if is_late else 0)
    started = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert started
    assert not [pid for pid in started if _is_alive(pid, tmp_path)]


class _UntilBegun(Deadline):
    """Time that is over as soon as something has begun, however long that takes."""

    def __init__(self, sign: Path) -> None:
        super().__init__(LONG_ENOUGH_S)
        self._sign = sign

    def left_s(self) -> float:
        return 0.0 if self._sign.exists() and self._sign.read_text() else super().left_s()


def _is_alive(pid: int, folder: Path) -> bool:
    """Whether a process is still what it was: its number may be another's by now."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cwd").resolve() == folder.resolve()
    return False


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 3", 3),
        ("kill -TERM $$", -signal.SIGTERM),
        ("kill -KILL $$", -signal.SIGKILL),
        ("kill -SEGV $$", -signal.SIGSEGV),
        ("for i in 1 2 3 4 5 6 7 8 9; do (setsid true &); done; exit 7", 7),
    ],
)
def test_a_check_ends_as_its_command_did(tmp_path: Path, script: str, code: int) -> None:
    ended = run_bounded(
        ["sh", "-c", script],
        folder=tmp_path,
        environment={"PATH": os.environ["PATH"]},
        deadline=Deadline(LONG_ENOUGH_S),
        most_said=100,
        leaves_nothing=True,
    )

    assert ended.exit_code == code


def test_what_others_have_started_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["tail", "-f", "/dev/null"], start_new_session=True) as foreign:
        try:
            run_bounded(
                ["sh", "-c", "setsid tail -f /dev/null & exit 0"],
                folder=tmp_path,
                environment={"PATH": os.environ["PATH"]},
                deadline=Deadline(LONG_ENOUGH_S),
                most_said=100,
                leaves_nothing=True,
            )

            assert foreign.poll() is None
        finally:
            foreign.send_signal(signal.SIGKILL)


# A PASS counts for the files that the check saw.


@pytest.mark.parametrize(
    ("script", "tries"),
    [
        ("exit 0\n", 1),
        ("mkdir -p build && date >> build/log\n", 1),
        ("test -e new.txt || echo x > new.txt\n", 2),
        ("test -e seen || { touch seen; echo more >> work.txt; }\n", 2),
        ("test -e seen || { touch seen; rm gone.txt; }\n", 2),
        ("test -e seen || { touch seen; chmod 600 work.txt; }\n", 2),
        ("test -e seen || { touch seen; ln -sf /etc link; }\n", 2),
    ],
)
def test_a_check_that_saw_other_files_is_run_again(tmp_path: Path, script: str, tries: int) -> None:
    workshop = _review_workshop(tmp_path)
    counted = f"echo run >> ../runs\n{script}"
    gate = scripted(workshop, counted)
    workshop.does(lambda run: run.review("first", [gate]))
    answer = workshop.says(PASS)

    assert answer.advances
    assert (tmp_path / "runs").read_text().count("run") == tries


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ("echo more >> work.txt", "'work.txt'"),
        ("mv work.txt other.txt || mv other.txt work.txt", "'other.txt', 'work.txt'"),
        ("cp work.txt other.txt && mv other.txt work.txt", "'work.txt'"),
        ("touch -d 2001-01-01 work.txt", "'work.txt'"),
        ("mkdir -p src && date > src/late.py", "'src/late.py'"),
    ],
)
def test_a_check_during_which_files_always_change_leaves_its_gate_unverified(
    tmp_path: Path, change: str, shown: str
) -> None:
    workshop = _review_workshop(tmp_path)
    gate = scripted(workshop, f"echo run >> ../runs; {change}\n")
    workshop.does(lambda run: run.review("first", [gate]))
    answer = workshop.says(PASS)

    assert answer.outcome is ReviewOutcome.RETRY
    assert answer.detail.unverified == ("checked",)
    assert f"files changed while it ran, each of 3 times: {shown}" in answer.reason
    assert (tmp_path / "runs").read_text().count("run") == 3
    assert not ran(workshop)[-1].result.ran


def test_a_check_that_fails_is_run_once_whatever_changes(tmp_path: Path) -> None:
    workshop = _review_workshop(tmp_path)
    gate = scripted(workshop, "echo run >> ../runs; echo more >> work.txt; exit 3\n")
    workshop.does(lambda run: run.review("first", [gate]))
    workshop.says(PASS)

    assert (tmp_path / "runs").read_text().count("run") == 1
    assert ran(workshop)[-1].result.exit_code == 3


def test_what_git_ignores_may_change_while_a_check_runs(tmp_path: Path) -> None:
    workshop = _review_workshop(tmp_path)
    subprocess.run(["git", "init", "-q", str(workshop.folder)], check=True)
    (workshop.folder / ".gitignore").write_text("report.xml\n")
    (workshop.folder / "report.xml").write_text("old")
    gate = scripted(workshop, "echo run >> ../runs; date >> report.xml\n")
    workshop.does(lambda run: run.review("first", [gate]))

    assert workshop.says(PASS).advances
    assert (tmp_path / "runs").read_text().count("run") == 1


def _review_workshop(folder: Path) -> ReviewWorkshop:
    workshop = ReviewWorkshop(str(folder / "ledger.db"), folder)
    for name in ("work.txt", "gone.txt", "link"):
        (workshop.folder / name).write_text("as it was\n")
    return workshop


# Rules and schemas that users write.


def test_loops_in_a_condition_end_and_count_as_fired() -> None:
    rule = (
        "[[rules]]\nid = 'slow'\nwhen = 'params.a.all(x, params.a.all(y, params.a.all(z, true)))'\n"
        "decision = 'warn'\nmessage = 'slow'\n"
    )
    verdict = evaluate_tool_use("Fetch", {"a": list(range(2_000))}, policy=gates_with(rule))

    assert verdict.decision is not Decision.ALLOW
    (finding,) = [each for each in verdict.findings if each.gate == "rules"]
    assert "budget" in finding.message.lower()


@pytest.mark.parametrize("times", [20, 40, 300])
@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_schema_that_doubles_asks_instead_of_never_answering(keyword: str, times: int) -> None:
    lines = ["[tools.schemas.fetch]", '"$ref" = "#/$defs/d0"']
    for number in range(times):
        lines.append(f'[[tools.schemas.fetch."$defs".d{number}.{keyword}]]')
        lines.append(f'"$ref" = "#/$defs/d{number + 1}"')
        lines.append(f'[[tools.schemas.fetch."$defs".d{number}.{keyword}]]')
        lines.append(f'"$ref" = "#/$defs/d{number + 1}"')
    lines.append(f'[tools.schemas.fetch."$defs".d{times}]\ntype = "object"')
    policy = gates_with("\n".join(lines))
    verdict = evaluate_tool_use("fetch", {"url": "x"}, policy=policy)

    assert verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert "schema.too-complex" in [finding.rule for finding in verdict.findings]
