"""What happens to a command that is run as a governed run, and to everything that it starts."""

from __future__ import annotations

import os
import random
import signal
import subprocess

import pytest

from interlock.model.run import RunStatus
from interlock.processes import is_alive
from patience import LONG_ENOUGH_S
from service.ledgers import PASSPHRASE
from supervision.supervised import FAMILY, Place, Supervised, have_ended, state_of, watched

_WAITS = FAMILY.format(work="time.sleep(0.01)")
_LOOPS = FAMILY.format(work='os.write(1, b"I am about to try the very same thing\\n")')


def test_passes_output_on_byte_for_byte(place: Place) -> None:
    """Binary, large, in pieces, without a last line break, and errors apart from it."""
    expected = random.Random(7).randbytes(2_000_000)
    (place.workspace / "bytes").write_bytes(expected)
    program = place.program(
        "import os, sys\n"
        "data = open('bytes', 'rb').read()\n"
        "sys.stderr.write('half a line')\n"
        "while data: data = data[os.write(1, data[:70_001]):]\n"
    )

    with place.supervised(program) as supervised:
        output, errors = supervised.process.communicate(timeout=LONG_ENOUGH_S)

    assert output == expected
    assert errors == b"half a line"
    assert supervised.process.returncode == 0


def test_passes_input_through(place: Place) -> None:
    with place.supervised(["cat"], stdin=subprocess.PIPE) as supervised:
        output, _ = supervised.process.communicate(b"to be read\n\0", timeout=LONG_ENOUGH_S)

    assert output == b"to be read\n\0"


@pytest.mark.parametrize(
    ("line", "code", "outcome"),
    [("exit 7", 7, "failed"), ("exit 0", 0, "completed"), ("kill -9 $$", 137, "failed")],
)
def test_ends_as_the_command_does(place: Place, line: str, code: int, outcome: str) -> None:
    program = place.workspace / "program.sh"
    program.write_text(line)

    with place.supervised(["sh", str(program)]) as supervised:
        ending = supervised.ending()

    assert supervised.process.returncode == code
    assert ending["exit_code"] == code
    assert ending["outcome"] == outcome
    with place.open() as interlock:
        state = interlock.resume(supervised.run_id).state
    assert (state.status, state.outcome) == (RunStatus.FINISHED, outcome)


def test_a_command_whose_output_nobody_reads_is_told_so(place: Place) -> None:
    program = place.program(
        "import os, signal\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "while True: os.write(1, b'x' * 4096)\n"
    )

    with place.supervised(program) as supervised:
        assert supervised.process.stdout is not None
        supervised.process.stdout.read(1)
        supervised.process.stdout.close()
        ending = supervised.ending()

    assert ending["exit_code"] == 128 + signal.SIGPIPE


def test_tells_the_command_which_run_it_is(place: Place) -> None:
    program = place.program("import os; print(os.environ['INTERLOCK_RUN'], end='')")

    with place.supervised(program) as supervised:
        output, _ = supervised.process.communicate(timeout=LONG_ENOUGH_S)

    assert output.decode() == supervised.run_id


def test_does_not_start_what_is_refused(place: Place) -> None:
    with place.supervised(["rm", "-rf", "/"]) as supervised:
        ending = supervised.ending()

    assert ending["exit_code"] == 4
    assert "deletes the system" in str(ending["reason"])


def test_waits_for_a_person_who_has_to_agree(place: Place) -> None:
    place.policy = (
        '[[rules]]\nid = "ask"\nwhen = \'commands.exists(c, c.program == "true")\'\n'
        'decision = "require-confirmation"\nseverity = "low"\nmessage = "ask first"\n'
        'remediation = "wait"\nmatch = ["true"]\nnot_match = ["false"]\n'
    )

    with place.supervised(["true"]) as supervised:
        assert " for a person: `interlock approve " in supervised.told()
        with place.open() as interlock:
            (asked,) = interlock.approvals()
            interlock.approve(asked.id, token=interlock.unlock("ada", PASSPHRASE))
        ending = supervised.ending()

    assert ending["outcome"] == "completed"


@pytest.mark.parametrize("everything", [False, True])
def test_a_halt_ends_all_of_it_also_what_will_not(place: Place, *, everything: bool) -> None:
    with (
        place.supervised(place.program(_WAITS), grace_s=0.2) as supervised,
        watched(supervised.family()) as ends,
    ):
        _halt(place, supervised, everything=everything)
        ending = supervised.ending()

        assert have_ended(ends)
    assert ending["exit_code"] == 125
    assert ending["outcome"] == "stopped"
    assert "enough" in str(ending["reason"])


def test_whoever_obeys_within_the_grace_is_not_killed(place: Place) -> None:
    program = place.program(
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('ready', flush=True)\n"
        "signal.sigwait([signal.SIGTERM])\n"
        "print('tidied', flush=True)\n"
        "sys.exit(3)\n"
    )

    with place.supervised(program) as supervised:
        assert supervised.process.stdout is not None
        supervised.process.stdout.readline()
        _halt(place, supervised)
        supervised.ending()
        output = supervised.process.stdout.read()

    assert output == b"tidied\n"


def test_a_loop_is_paused_in_all_its_processes_and_goes_on_when_it_is_lifted(place: Place) -> None:
    with place.supervised(place.program(_LOOPS)) as supervised:
        pids = supervised.family()
        with watched(pids) as ends, supervised.unread():
            paused = supervised.told()

            assert paused.startswith("paused: ")
            assert [state_of(pid) for pid in pids] == ["T", "T"]
            (place.workspace / "go").touch()
            with place.open() as interlock:
                token = interlock.unlock("ada", PASSPHRASE)
                interlock.lift(supervised.run_id, token=token, reason="look again")
            assert supervised.told() == "it goes on"
            assert have_ended(ends)
            ending = supervised.ending()

    assert ending["exit_code"] == 0


def test_a_pause_that_is_denied_ends_it(place: Place) -> None:
    with (
        place.supervised(place.program(_LOOPS), grace_s=0.2) as supervised,
        watched(supervised.family()) as ends,
        supervised.unread(),
    ):
        supervised.told()
        with place.open() as interlock:
            (asked,) = interlock.approvals()
            interlock.deny(asked.id, token=interlock.unlock("ada", PASSPHRASE))
        ending = supervised.ending()

        assert have_ended(ends)
    assert ending["exit_code"] == 125


def test_ends_what_takes_too_long(place: Place) -> None:
    with place.supervised(["sleep", "1000"], wall_time_s=1) as supervised:
        ending = supervised.ending()

    assert ending["exit_code"] == 124
    assert "time" in str(ending["reason"])


def test_nothing_is_left_when_the_supervisor_is_killed(place: Place) -> None:
    with (
        place.supervised(place.program(_WAITS)) as supervised,
        watched(supervised.family()) as ends,
    ):
        supervised.process.kill()

        assert have_ended(ends)
    with place.open() as interlock:
        state = interlock.governor.state(supervised.run_id)
        assert state.status is RunStatus.RUNNING
        assert not is_alive(state.process)


def test_what_it_leaves_in_the_background_ends_with_it(place: Place) -> None:
    with place.supervised(place.program(_WAITS)) as supervised:
        pids = supervised.family()
        with watched(pids) as ends:
            os.kill(pids[0], signal.SIGKILL)
            ending = supervised.ending()

            assert have_ended(ends)
    assert ending["exit_code"] == 137


def test_hands_an_interrupt_on_and_lets_the_command_decide(place: Place) -> None:
    program = place.program(
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        "print('ready', flush=True)\n"
        "signal.sigwait([signal.SIGINT])\n"
        "sys.exit(5)\n"
    )

    with place.supervised(program) as supervised:
        assert supervised.process.stdout is not None
        supervised.process.stdout.readline()
        supervised.process.send_signal(signal.SIGINT)
        ending = supervised.ending()

    assert ending["exit_code"] == 5
    assert ending["reason"] is None


def test_stands_still_with_all_of_it_when_a_shell_says_so(place: Place) -> None:
    with (
        place.supervised(place.program(_WAITS)) as supervised,
        watched(pids := supervised.family()) as ends,
    ):
        supervised.process.send_signal(signal.SIGTSTP)
        supervised.process.wait_until_stopped()

        assert [state_of(pid) for pid in pids] == ["T", "T"]
        (place.workspace / "go").touch()
        supervised.process.send_signal(signal.SIGCONT)
        assert have_ended(ends)


def test_ends_it_when_it_is_told_to_end_itself(place: Place) -> None:
    with (
        place.supervised(place.program(_WAITS), grace_s=0.2) as supervised,
        watched(supervised.family()) as ends,
    ):
        supervised.process.send_signal(signal.SIGTERM)
        ending = supervised.ending()

        assert have_ended(ends)
    assert ending["exit_code"] == 128 + signal.SIGTERM
    assert ending["outcome"] == "cancelled"


def _halt(place: Place, supervised: Supervised, *, everything: bool = False) -> None:
    with place.open() as interlock:
        token = interlock.unlock("ada", PASSPHRASE)
        if everything:
            interlock.halt_all(token=token, reason="it is enough")
        else:
            interlock.halt(supervised.run_id, token=token, reason="it is enough")
