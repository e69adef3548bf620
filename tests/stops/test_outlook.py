"""Ends that look ahead by their build, and the same words where they tell how it is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from interlock.model.stop import LastEvent, StopOutcome
from interlock.policy.stops.outlook import asks_for_patience, looks_ahead
from stops.contexts import decided, goes_on

FORMS = msgspec.toml.decode(
    Path(__file__).with_name("turn_forms.toml").read_text(), type=dict[str, tuple[str, ...]]
)
THINGS = ("the parser", "`router.ts`", "the login page", "the unit tests")


def with_things(forms: tuple[str, ...]) -> list[str]:
    """Return each form with each thing that it may be about."""
    return sorted({form.replace(THINGS[0], thing) for form in forms for thing in THINGS})


def test_a_form_that_looks_ahead_is_sent_on_whatever_it_is_about() -> None:
    ends = [f"The lexer is fine. {form}" for form in with_things(FORMS["ahead"])]

    assert len(ends) > 380
    assert [end for end in ends if not goes_on(end)] == []


def test_the_same_words_are_no_announcement_where_they_tell() -> None:
    ends = [f"The lexer is fine. {form}" for form in FORMS["told"]]

    assert len(ends) > 200
    assert [end for end in ends if goes_on(end)] == []


def test_what_only_the_form_says_counts_in_the_middle_of_work_alone() -> None:
    text = "The lexer is fine. The parser is not written yet."

    assert not goes_on(text, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.0)


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ("We should look at the lexer.", "We should look at it when the team is back."),
        ("Before I rename it, one more grep.", "That was so before I renamed it."),
        ("Step 3/5: generate the client.", "Step 3/5: three clients, all generated."),
        ("Not yet migrated: the billing tables.", "Not migrated: nothing that is in use."),
        ("The form and the menu remain to be converted.", "It remains to be seen who uses it."),
        ("French is in. Polish is still missing.", "The key is still missing in your vault."),
        ("The handlers are not written yet.", "The branch is not merged yet."),
        ("Three of the views are not yet migrated.", "Three of the views were migrated."),
        ("Its two failures still have to be fixed.", "It still has to be reviewed by the team."),
        ("I finished the first two of the five.", "I finished the last two of the five."),
        ("4 of the 9 services are updated by now.", "4 of the 9 services needed the update."),
        ("Next: figure out who writes to it.", "Next: a release, which is yours to cut."),
    ],
)
def test_a_word_makes_the_difference(ahead: str, told: str) -> None:
    assert looks_ahead(ahead.lower())
    assert not looks_ahead(told.lower())


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ("Als Nächstes kommen die Views.", "Als Letztes kamen die Views."),
        ("Jetzt fehlen noch die Tests.", "Jetzt fehlt nichts mehr."),
        ("Der Rest der Dateien folgt.", "Der Rest der Dateien blieb, wie er war."),
        ("Ich verdrahte jetzt den Handler.", "Ich habe jetzt den Handler verdrahtet."),
        ("Il reste encore deux fichiers.", "Il ne reste rien à faire."),
        ("Je renommerai la table.", "Je serai bref : la table est renommée."),
        ("Ahora toca la documentación.", "Ya no falta nada."),
        ("Ahora reescribiré el módulo.", "El módulo será más rápido."),
        ("Começando pelo módulo de pagamento.", "O módulo de pagamento está pronto."),
        ("Ainda faltam os testes.", "Não falta nada."),
        ("Mancano ancora i test.", "Non manca niente."),
        ("Riscriverò il modulo.", "Il modulo è riscritto, però resta lento."),
        ("Nu nog de tests.", "De tests zijn nu klaar."),
        ("Осталось обновить тесты.", "Тесты обновлены, ничего не осталось."),
        ("Перепишу модуль.", "Модуль переписан."),
        ("Осталось поправить имя.", "Осталось прежним только имя."),
        ("Ahora voy con las pruebas.", "Ahora van bien las pruebas."),
        ("設定を直して、もう一度ビルドします。", "設定を直すと、もう一度ビルドされます。"),
        ("先从第一步开始。", "第一步已经完成。"),
        ("接下来是注册接口。", "注册接口已经改完。"),
        ("次は登録画面です。", "登録画面は修正しました。"),
        ("다음은 로그인 화면입니다.", "로그인 화면을 수정했습니다."),
        ("이제 화면을 옮기겠습니다.", "화면을 옮겼습니다."),
    ],
)
def test_a_form_makes_the_difference_in_other_languages(ahead: str, told: str) -> None:
    assert goes_on(ahead)
    assert not goes_on(told)


@pytest.mark.parametrize(
    "text",
    [
        "The build is running in the background. I'll check on it when it's done.",
        "テストはバックグラウンドで実行中です。完了したら結果を確認します。",
    ],
)
def test_what_comes_after_the_end_of_a_run_is_waited_for(text: str) -> None:
    assert decided(text).outcome is StopOutcome.WAITS


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        (
            "No `make`. Falling back to calling `cc`.",
            "No `make`. Falling back to it took a minute.",
        ),
        ("Two copies of it. Deduping.", "Two copies of it. Interesting."),
        ("It may be None there. Guarding against it.", "Guarding against it is cheap."),
        ("These are quick: fixing them one by one.", "These were quick: fixed one by one."),
        ("I'm taking the shim, and will add it first.", "I'm glad that it works and stays."),
    ],
)
def test_a_sentence_in_ing_that_has_no_other_verb_is_at_work(ahead: str, told: str) -> None:
    assert goes_on(ahead)
    assert not goes_on(told)


@pytest.mark.parametrize(
    "text",
    [
        "On branch main\nYour branch is up to date with 'origin/main'.\n\n"
        "Changes not staged for commit:\n\tmodified:   src/index.ts",
        "PASS src/app.test.ts\nFAIL src/router.test.ts\n  \u25cf router\n    expect(received)\n\n"
        "Tests: 1 failed, 8 passed, 9 total",
    ],
)
def test_what_git_and_test_runners_print_is_output(text: str) -> None:
    assert decided(text).outcome is StopOutcome.NUDGED


def test_a_long_sentence_is_no_note() -> None:
    assert not looks_ahead("next: " + "the parser and " * 40 + "the lexer.")


def test_to_ask_for_patience_goes_on_unless_somebody_is_handed_on() -> None:
    assert asks_for_patience("just a sec!")
    assert goes_on("Let me check the calendar. Just a sec!")
    assert goes_on("The lexer is fine. Hang on.")
    assert not goes_on("You are being transferred to a colleague. Please hold on.")


TICKED = "- [x] Model\n- [x] Migration\n- [{}] Admin page"


def test_a_list_that_is_ticked_in_part_is_unfinished() -> None:
    assert goes_on(TICKED.format(" "))
    assert not goes_on(TICKED.format("x"))
    assert not goes_on("For Monday:\n- [ ] call the vendor\n- [ ] sign the contract")


@pytest.mark.parametrize(
    "text",
    [
        "To fix this I will:\n- add an index on `orders`\n- rewrite the query in `OrderList`",
        "Here is my plan:\n1. Reproduce the crash\n2. Bisect between 2.3 and 2.4",
    ],
)
def test_a_list_of_what_its_writer_will_do_is_an_announcement(text: str) -> None:
    assert goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "The lock is taken twice. The second time it happens in the handler that writes",
        "The lock is taken twice.\n\nThat happens in the handler that writes the whole file",
    ],
)
def test_prose_that_ends_within_a_sentence_is_cut_off(text: str) -> None:
    assert decided(text).outcome is StopOutcome.NUDGED


@pytest.mark.parametrize(
    "text",
    [
        "The lock was taken twice. Each handler takes its own now and all of them pass",
        "The lock was taken twice. Each of the three handlers has its own, tested and pushed",
        "The lock was taken twice.\n\nBranch to look at: the one named fix lock twice",
        "The lock was taken twice. It is fixed",
        "The lock was taken twice. The change is described at https://example.org/lock",
        "The lock was taken twice\n\nEach of the three handlers has a lock of its own here",
        "yep, the lock was taken twice. each handler has one of its own since the last release",
    ],
)
def test_who_leaves_out_the_last_mark_is_not_cut_off(text: str) -> None:
    assert not goes_on(text)
