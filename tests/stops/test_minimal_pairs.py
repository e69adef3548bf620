"""Ends of turns in pairs that differ in one thing: who acts, when, or whether it is an act."""

from __future__ import annotations

import pytest

from interlock.model.stop import StopOutcome
from stops.contexts import decided, goes_on

ACTS = [
    # The same verb with another meaning.
    ("I'm going to break the cycle between them.", "Let me break this down for the record."),
    ("I'll wrap the call in a try block.", "I'll wrap this up here."),
    ("Let me go through them one by one.", "Let me go through your questions once more."),
    # Whose act it is.
    ("I'm only going to run the one module.", "It's only going to run the one module."),
    ("I'm about to rename the package.", "The tool is about to rename the package."),
    ("I must restore the brace first.", "I must admit that the brace was mine."),
    ("I plan to split the module.", "They plan to split the module."),
    ("I'd like to see the log first.", "I'd like to suggest a shorter name."),
    ("Now that I know the layout, I can add it.", "Now that I know the layout, I can see why."),
    ("That confirms it, so I can use the cache.", "It shows whether I can use the cache."),
    ("I'll have to look at the output.", "We'll have to live with the output."),
    ("I'm gonna add a loader", "It's gonna need a loader"),
    ("I have enough context to write it.", "I have enough context to explain it."),
    ("I found it and will now rename it.", "The tool found it and will now rename it."),
    # A verb that no list holds is known by its object.
    ("Swapping in the new parser.", "Swapping in the new parser is safe."),
    ("Adding the index, so it is fast.", "Adding the index makes it fast."),
    ("Adding the index that you gave.", "Adding the index gave us a second."),
    ("Bumping the version.", "Missing the version."),
    ("Now bump the version.", "Now bumps the version."),
    ("Time to hook it up.", "Time to first byte: 40 ms."),
    # What is next, and what is as it was.
    ("Next, `date.ts`.", "`date.ts`."),
    ("Now the backend side.", "Now the backend starts."),
    ("Now for the unit and browser tests.", "Now with the unit and browser tests."),
    ("Back to the original bug.", "Back to normal."),
    ("The parser is done. The printer is next.", "The team decides what is next."),
    ("Two are fixed. 11 more to go.", "Two are fixed. None to go."),
    ("That leaves the docs.", "That leaves the docs to you."),
    ("That leaves the docs.", "That leaves 3 GB free."),
    ("Up next: permissions.", "Next.js: permissions."),
    ("Now batch 2.", "Now version 2."),
    ("I read it.\n\nStep 2: Move the door", "Step 1: Open the door\nStep 2: Move the door"),
    ("One more thing to verify: the default.", "One more thing: the default is 5."),
    ("It is up, so now I can open the page.", "It is up, so now I can see the page."),
    ("It loses an entry; my focus is now on the lock.", "It loses an entry; the focus is on it."),
    ("Three stages. First the dump.", "Three stages. First the dump runs."),
    ("Kicking off with the dump.", "Kicking off with the dump is safe."),
    ("It is set twice; checking its config.", "It is set twice; checking its config is no use."),
    (
        "The docs are clear. Onto the parser.",
        "The docs are clear. They are mapped onto the parser.",
    ),
    ("Before that I'd better save the table.", "Before that you'd better save the table."),
    ("Three are moved. Now the other four.", "Three are moved. Now the other four pass."),
    ("The unit tests are there; I'm on the next.", "The unit tests are there; it's on the next."),
    ("The next change involves moving the door.", "The last change involved moving the door."),
    ("I do need to check the import.", "You do need to check the import."),
    ("Now the second runner call (line 9).", "Now the second runner works (line 9)."),
    ("Let me write the plan. I have all I need.", "That was the plan. I have all I need."),
    ("The server is done. UI next.", "The server is done. See what is next."),
    ("I know it now. Time for the rewrite.", "I know it now. Time for the rewrite was short."),
    ("The server is done! \u2728 Now on to redis.", "The server is done! \u2705 Now on to redis."),
    ("Next up: moving the door, then the test.", "Next up: your part of the door."),
    ("One is in. Two to go, then the push.", "One is in. Two ready to go, then."),
    ("About 4 more steps to go.", "About 4 more steps are ready to go."),
    ("Two are written, 3 more to go: a, b, team.", "Two are written, 3 more went to: a, b, team."),
    ("Bugs 3 and 4 will be handled next.", "Bugs 3 and 4 will be handled by the team next."),
    (
        "It is a stub. That's the next thing on my list.",
        "It is a stub. That's the thing on my list.",
    ),
    (
        "It is at 78. Those are my next two changes.",
        "It is at 78. Those are your next two changes.",
    ),
    ("What's left is moving the door.", "What's left is moving the door, which is optional."),
    ("Create works. Update: not started yet.", "Create works. Update: not part of it."),
    ("First let me check whether it is always set.", "First of all I'll always check it."),
    ("First thing: reproduce the hang.", "First thing: the hang is reproduced."),
]
LISTS = [
    ("I'll create these files:\n- `a.ts`\n- `b.ts`", "I created these files:\n- `a.ts`\n- `b.ts`"),
    ("I need to:\n- find the call\n- move it", "You need to:\n- find the call\n- move it"),
    ("I'll do this in two steps:\n1. Read it\n2. Move it", "I'd do this:\n1. Read it\n2. Move it"),
    ("I'll fix both:\n1. The test\n2. The doc", "Let's analyze both:\n1. The test\n2. The doc"),
    ("I'll fix both:\n1. The test\n2. The doc", "Next time I'll do:\n1. The test\n2. The doc"),
    ("I'll fix both:\n1. The test\n2. The doc", "I'll fix both\n1. The test\n2. The doc"),
]


@pytest.mark.parametrize(("unfinished", "finished"), [*ACTS, *LISTS])
def test_one_word_makes_the_difference(unfinished: str, finished: str) -> None:
    assert goes_on(unfinished)
    assert not goes_on(finished)


def test_what_comes_next_is_no_act_under_a_heading_that_looks_ahead() -> None:
    assert goes_on("We will need to add the login.")
    assert not goes_on("What's next: we will need to add the login.")
    assert decided("Roadmap: we will need to add the login.").veto is None


HALVES = [
    ("The pool gets the connection back even when the", "The pool gets the connection back"),
    ("There are three causes: the index, and third,", "There are three causes: the index"),
    ("- Moved the index to the folder of", "- The people that they speak of"),
    ("Erstens wird die Klasse geteilt, zweitens wird beim", "Zweitens wird die Klasse geteilt"),
    ("| a | b |\n|---|---|\n| 1 | 48", "| a | b |\n|---|---|\n| 1 | 48 |"),
    ("| a | b |\n|---|---|\n| 1 | 48", "a | b\n---|---\n1 | 48"),
    ("Here:\n\n```python\nx = merge(\n    a,", "Here:\n\n```python\nx = merge(\n    a)"),
    ("Here:\n\n```python\nx = merge(\n    a,", "Here:\n\n```\nx = merge(\n    a,\n```\nIt works."),
    ("Here:\n\n```js\nf(x => {\n    g()", "It is:\n\n```js\nf(x => {\n\nThe rest is as before."),
    ("| a | b |\n|---|---|\n| 1 | 4 |\n| 2 |", "| a | b |\n|---|---|\n| 1 | 4 |\n| 2 | |"),
    ("| a | b |\n|---|---|\n| 1 | 4 |\n| 2 |", "| a | b |\n|---|---|\n| `x|y` | 4 |\n| 2 | 3 |"),
    ("It did:\n1. read it\n2. move it\n3.", "It did:\n1. read it\n2. move it\n3. end"),
    ("It did:\n1. read it\n2. move it\n3.", "It did two things, and the count is\n3."),
    ("It did:\n- read it\n-", "It did:\n- read it\n- ok"),
    ("It did:\n- read `a.py`\n- move `", "It did:\n- read `a.py`\n- move `b.py`"),
    ("The server checks it first, and on the client we", "The server checks it first, as we do"),
    ("The old entry of the cache stays until", "The old entry of the cache stays"),
    ('{"path": "a.ts", "new": "const port = Number(', '{"path": "a.ts", "new": "const port"}'),
    ("Here:\n\n```python\nself.hits +=", "Here:\n\n```python\nself.hits += 1"),
    ("# Log\n\n## Facts\nIt fell.\n\n## Root cause", "# Log\n\n## Facts\nIt fell.\n\n## All done"),
    ("# Log\n\n## Facts\nIt fell.\n\n## Root cause", "It fell.\n\n## Root cause"),
    ("# Log\n\n## Facts\nIt fell.\n\n## Root cause", "# Log\n\n## Facts\nIt fell.\n\n## 2 of 2"),
    ('{"path": "a.ts", "new": "const port = Number(', "{name} stands for the name of the port"),
]


@pytest.mark.parametrize(("half", "whole"), HALVES)
def test_what_is_cut_in_the_middle_is_sent_on(half: str, whole: str) -> None:
    assert goes_on(half)
    assert not goes_on(whole)


def test_a_short_line_may_end_with_any_word() -> None:
    assert not goes_on("Fixed it by")
    assert goes_on("The value was fixed by")


CALLS = [
    ("<run_query>\nselect 1\n</run_query>", "<query_result>\nIt is 1.\n</query_result>"),
    ("<bash>\ngit status\n</bash>", "<final_answer>\nIt is clean.\n</final_answer>"),
    ('functions.exec({"cmd": "rg x"})', 'It calls functions.exec({"cmd": "rg x"}) by itself.'),
    ("<|python_tag|>print(1)", "The token is `<|python_tag|>`. It was added in 3.1."),
    ("Thought: I look it up.\nAction: Search[Seoul]", "Thought: I know.\nAction: Finish[Seoul]"),
    ("Thought: Two cities.\nAction: calculator", "Thought: Nothing.\nAction: none"),
    ("Thought: It is full.\nAction: restart", "Cause: It is full.\nAction: restart"),
    ('{"thought": "It is x.", "action": "open"}', '{"thought": "It is x.", "answer": "It is x."}'),
    (
        '{"thoughts": {"plan": "- read it\\n- sum up"}, "command": {}}',
        '{"thoughts": {"plan": "- read it\\n- sum up"}, "command": {"done": true}}',
    ),
    (
        '{"reasoning": "It has two pages.", "next_step": "open"}',
        '{"reasoning": "It has two pages.", "action": "approve"}',
    ),
    ("<|channel|>commentary to=functions.ls {}", "<|channel|>final<|message|>There are two."),
    ("PASS a.test.ts\nFAIL b.test.ts\nTests: 1 failed", "Tests: 1 failed, which is known."),
    ('{"thought": "Go on.", "action": "open"}', '{"thought": "It is the right one."}'),
    ("$ pytest -q\n..F\n1 failed, 2 passed in 0.4s", "$ pytest -q\nThis runs all of the tests."),
    ("[1/2] Resolving packages...\n[2/2] Fetching...", "Resolving packages is step 1 of 2."),
    (
        "collected 2 items\na/test_b.py .F   [100%]\nFAILED a/test_b.py::test_c - assert 1 == 2",
        "FAILED a/test_b.py::test_c, as it did before.",
    ),
    (
        "a.ts:14:7 - error TS2322: no\na.ts:22:3 - error TS2554: no\nFound 2 errors in a.ts",
        "a.ts:14:7 and a.ts:22:3 are the only errors, and\nboth were there before.",
    ),
    (
        "npm WARN deprecated a@3\nnpm ERR! code ERESOLVE",
        "npm WARN is all it says,\nand that is fine.",
    ),
    ("error[E0382]: moved\n  --> a.rs:1:2\n12 | let n;", "error: is what\nit begins with now."),
    ("2024-05-01 10:11:12 up\n[INFO] ready", "2024-05-01 is the date\nof the release."),
    ("<tool_use>\n<name>ls</name>\n</tool_use>", "It ends with `</tool_use>`, as it should."),
    ('<function_calls>\n<invoke name="ls">\n</invoke>', "It ends with `</invoke>`."),
    ('{"tool": "search", "args": {"query": "x"}}', '{"tool": "search", "verdict": "too slow"}'),
    (
        '```json\n{"name": "ls", "parameters": {}}\n```',
        '```json\n{"name": "ls", "input": "a b"}\n```',
    ),
]


@pytest.mark.parametrize(("call", "answer"), CALLS)
def test_a_call_or_output_is_told_from_an_answer(call: str, answer: str) -> None:
    assert goes_on(call)
    assert not goes_on(answer)


def test_a_sentence_within_a_quote_is_not_the_last_one() -> None:
    assert goes_on("It is a long prompt. First, I will read it. Then I will rename it.")
    assert not goes_on('The prompt is: "Be brief. First, I will read it. Then I will rename it."')
    assert not goes_on("The prompt is: \u201cBe brief. Then I will rename it.\u201d")


def test_a_mark_before_every_line_quotes_nobody() -> None:
    assert goes_on("[turn 14]\n> Two tables differ.\n> Next, I'll look at the diff.")
    assert not goes_on("[turn 14]\n> All is green. The change is merged.")
    assert not goes_on("The plan said:\n> Next, I'll look at the diff.")


def test_a_picture_before_the_first_word_changes_nothing_but_a_tick_reports() -> None:
    assert goes_on("\u23f3 Updating the routes...")
    assert not goes_on("\u2705 Updating the routes...")


IN_OTHER_LANGUAGES = [
    ("Ich prüfe die Protokolle.", "Ich habe die Protokolle geprüft."),
    ("Jetzt noch die Tests anpassen.", "Jetzt sind die Tests angepasst."),
    ("Je corrige le test.", "Le script corrige le test."),
    ("Il manque un import, je l'ajoute.", "Il manque un import, l'outil l'ajoute."),
    ("Falta el import, lo hago ahora.", "Falta el import, lo hace el script."),
    ("Próximo passo: atualizar o teste.", "Próximos passos: atualizar o teste."),
    ("ログを確認してから修正します。", "ログが確認されてから修正します。"),
    ("Lo corrijo y vuelvo a probar.", "Lo corregí y lo probé."),
    ("Deixe-me corrigir o erro no teste.", "Corrigi o erro no teste."),
    ("Voy a cambiar el nombre.", "No voy a cambiar el nombre."),
    ("Corrijo o teste.", "O teste foi corrigido."),
    ("Aggiorno il test.", "Il test aggiorna il file."),
    ("Исправляю.", "Исправлено."),
    ("Обновлю тесты.", "Скрипт обновит тесты."),
    ("开始修复登录问题。", "登录问题修复完成。"),
    ("先看一下日志。", "先看日志的人会发现原因。"),
    ("Ich trage sie in `a.xml` nach.", "Ich schlage sie für `a.xml` vor."),
    ("Ich starte ihn und lade sie neu.", "Er startet ihn und lädt sie neu."),
    ("Ahora toca añadir la ruta.", "Ahora añade la ruta."),
    ("Zwei fehlen, die lege ich jetzt an.", "Zwei fehlen, die legt das Skript jetzt an."),
    ("Zwei fehlen, die lege ich jetzt an.", "Zwei fehlten, die habe ich jetzt angelegt."),
    ("Il manque un import, je m'en occupe.", "Il manque un import, l'outil s'en occupe."),
    ("Il me reste à changer les tests.", "Il ne reste rien à changer."),
    ("Falta o índice, faço isso agora.", "Falta o índice, o script faz isso."),
    ("我继续排查。", "系统会继续排查。"),
    ("继续处理下一个文件。", "下一个文件已处理。"),
    ("次のファイルに進みます。", "押すと次の画面に進みます。"),
    ("Weiter mit dem zweiten.", "Mehr ist mit dem zweiten nicht zu tun."),
    ("Ich mache mit dem zweiten weiter.", "Das Skript macht mit dem zweiten weiter."),
    ("Je continue avec le fichier.", "Le script continue avec le fichier."),
    ("Sigo con el módulo.", "Dime cuál prefieres y sigo con el módulo."),
    ("Vamos ao próximo arquivo.", "Fomos ao próximo arquivo."),
    ("Passo al secondo modulo.", "Il primo passo è il secondo modulo."),
    ("我马上改。", "我继续等待。"),
    ("原因です。`a.py` を修正します。", "このコマンドは設定を修正します。"),
    ("テストを追加します。", "テストを自動で追加します。"),
]


@pytest.mark.parametrize(("unfinished", "finished"), IN_OTHER_LANGUAGES)
def test_tense_and_person_make_the_difference_in_every_language(
    unfinished: str, finished: str
) -> None:
    assert goes_on(unfinished)
    assert not goes_on(finished)


WAITS = [
    ("I'll collect the reviews once they report.", "I'll collect the reviews of the three."),
    ("Once the build is done, I'll deploy it.", "Now I'll deploy it."),
    ("I'll verify it again after that.", "I'll verify it again."),
    ("I'm waiting for the pods to become ready.", "I'm checking the pods for their state."),
    ("J'attends qu'il se termine.", "Je vais relancer les tests."),
    ("The subagent is writing it. I'll wait.", "The page is with you. I'll wait."),
    ("Two workers are on it, both are busy scanning. I'll wait for them.", "I'll wait."),
]


@pytest.mark.parametrize(("waits", "acts"), WAITS)
def test_what_ends_by_itself_is_waited_for(waits: str, acts: str) -> None:
    assert decided(waits).outcome is StopOutcome.WAITS
    assert decided(acts).outcome is not StopOutcome.WAITS


ERRORS = [
    ("litellm.RateLimitError: rate limit exceeded", "`litellm.RateLimitError` is raised."),
    ("openai.APIConnectionError: Connection error.", "app.ParseError: unexpected `}`"),
    ("stream disconnected before completion", "The stream is closed by the server now."),
]


@pytest.mark.parametrize(("error", "told"), ERRORS)
def test_an_error_of_a_client_library_is_tried_again(error: str, told: str) -> None:
    assert decided(error).delay_ms
    assert decided(told).delay_ms is None


def test_a_question_stays_open_where_its_writer_says_what_hangs_on_it() -> None:
    question = "Before I start: is the old version still supported?"

    assert decided(f"{question} It decides which syntax I can use.").veto is not None
    assert decided(f"{question} It is, so I can use the old syntax.").veto is None


def test_what_the_person_is_to_pick_is_a_question_within_a_sentence_too() -> None:
    assert decided("Both fit; pick one of them and I'll book it: A, B.").veto is not None
    assert goes_on("Both fit; I'll book the first one: A.")
