"""Words for credentials in other scripts, and signs that are written otherwise."""

from __future__ import annotations

import pytest

from interlock.secrets.transcription import text_as_bytes, unescaped
from secret_generator import from_template
from secret_packs import SCANNER

_SAID = (
    "Пароль: {}", "ПАРОЛЬ = {}", "пароля - {}", "密码\uff1a{}", "密码是{}", "パスワード: {}",
    "비밀번호: {}", "סיסמה: {}", "كلمة المرور: {}", "mật khẩu: {}", "Hasło: {}", "şifre: {}",
    "password\uff1a{}", "password → {}", "Kennwort: {}", "mot_de_passe : {}", "la contraseña es {}",
    "Das Passwort lautet {}", "clave: {}", "mdp={}", "lösenord: {}", "jelszó: {}",
)  # fmt: skip


@pytest.mark.parametrize("form", _SAID)
def test_a_password_is_found_in_other_languages_where_it_stands(form: str):
    secret = from_template("[A-Za-z0-9]{12}4Xz", form)
    text = form.format(secret)
    (match,) = SCANNER.scan(text)

    assert text[match.start : match.end] == secret


@pytest.mark.parametrize(
    "text",
    [
        "密码\uff1a请输入您的密码",
        "パスワード: 必須です",
        "Пароль: обязателен",
        "ŞİFRE: gerekli",
        "clave: valor",
    ],
)
def test_words_alone_are_no_password_in_any_language(text: str):
    assert SCANNER.scan(text) == []


@pytest.mark.parametrize(
    "text", ["plain", "café", "密码是x", "ŞİFRE", "“a”…", "\ud800b", "İ пароль"]
)
def test_there_is_one_byte_for_every_character(text: str):
    assert len(text_as_bytes(text)) == len(text)


@pytest.mark.parametrize(
    "form", ['{{"p\\u0061ssword": "{}"}}', "q=%7B%22password%22%3A%22{}%22%7D"]
)
def test_a_name_that_is_escaped_is_read_and_its_value_found_where_it_stands(form: str):
    secret = from_template("[A-Za-z0-9]{12}4Xz", form)
    text = form.format(secret)
    (match,) = SCANNER.scan(text)

    assert text[match.start : match.end].startswith(secret)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('"p\\u0061ss\\u005fword": 1', '"          pass_word": 1'),
        ("%22a%22%3a%22b%22", '\\\\"a\\\\" : \\\\"b\\\\"'),
        ('say "\\u0061" again', 'say "\\u0061" again'),
    ],
)
def test_only_names_and_their_marks_are_unescaped(text: str, read: str):
    assert unescaped(text) == read
    assert len(read) == len(text)
