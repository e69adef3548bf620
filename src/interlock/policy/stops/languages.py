"""Announcements and hand-overs in languages other than English.

A few common ones each. What is missing here costs an announcement that is overlooked; questions
are recognised by their mark in every script.
"""

from __future__ import annotations

from typing import Final

import re2

from interlock.policy.stops.phrases import one_of

_EDGE: Final = r"(?:^|$|[^\pL\pN_-])"
# Scripts with blanks between words; the verb forms end in a wildcard where a language needs it.
_ANNOUNCED: Final = one_of(r"""
    ich werde, ich führe, ich prüfe, ich muss, ich schaue, lass mich, lassen sie mich,
    als nächstes, jetzt \pL+e ich, nun \pL+e ich,
    je vais, je dois, laissez-moi, laisse-moi, passons à,
    voy a, vamos a, déjame, déjeme, permíteme, necesito \pL+r, ahora \pL+o,
    vou \pL+r, deixe-me, vamos \pL+r, preciso \pL+r,
    lasciami, procedo a, devo ora, ora \pL+o,
    ik ga, ik zal nu, laat me eerst,
    сейчас я, теперь я, мне нужно, давайте
""")
_HANDED_OVER: Final = one_of(r"""
    soll ich, sollen wir, möchtest du, möchten sie, sag mir, sagen sie mir, gib mir bescheid,
    geben sie mir bescheid, melde dich, bitte, wenn du, wenn sie, falls du, falls sie, sobald du,
    sobald sie, si vous, si tu, dès que vous, si quieres, si desea, si deseas, si necesitas,
    si necesita, cuando quieras, se quiser, se precisar, se vuoi, als je, если вы, если нужно,
    voulez-vous, veux-tu, souhaitez-vous, souhaites-tu, dois-je, dites-moi, dis-moi,
    faites-moi savoir, fais-moi savoir, n'hésitez pas, veuillez, s'il te plaît, s'il vous plaît,
    quieres que, quiere que, deseas que, desea que, dígame, dime, avísame, hazme saber,
    hágame saber, por favor,
    quer que, gostaria que, me avise, me diga, fammi sapere, mi faccia sapere, vuoi che,
    vuole che, per favore, laat me weten, laat het me weten, wil je dat, zal ik, alsjeblieft,
    alstublieft, сообщите, дайте знать, пожалуйста
""")
# Scripts without blanks between words.
_ANNOUNCED_WITHOUT_BLANKS: Final = one_of(r"""
    让我, 我将, 我会, 我来, 接下来, 现在我, 我现在, 我需要, 然后我, 讓我, 我會, 接下來,
    次に.+ます, これから.+ます, ましょう, 하겠습니다, 겠습니다
""")
_HANDED_OVER_WITHOUT_BLANKS: Final = one_of(r"""
    吗[。.]?$, 呢[。.]?$, 是否, 请确认, 请告诉, 请告知, 请提供, 请选择, 请回复, 请问, 请随时, 请审,
    如果您, 如果你, 如需, 若您, 需要我, 您想, 你想, 您希望, 你希望, 請確認, 請告訴,
    ください, 場合は, でしょうか, ますか, ですか,
    해 ?주세요, 알려, 습니까, 할까요
""")

ANNOUNCED: Final = re2.compile(rf"{_EDGE}{_ANNOUNCED}{_EDGE}|{_ANNOUNCED_WITHOUT_BLANKS}")
HANDED_OVER: Final = re2.compile(rf"{_EDGE}{_HANDED_OVER}{_EDGE}|{_HANDED_OVER_WITHOUT_BLANKS}")
