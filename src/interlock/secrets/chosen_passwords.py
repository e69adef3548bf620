"""Is a value put together from words as people choose passwords, or is it a name?"""

from __future__ import annotations

import re
from typing import Final

# Words that stand for a credential in documentation and tests, alone or with digits behind them.
_WORDS: Final = frozenset(
    "password passwords passwd passwort pass pwd passphrase passcode secret secrets token tokens"
    " apikey key keys auth credential credentials test tests testing tester testpass testpassword"
    " testsecret testkey testtoken testuser demo default none null nil true false string str text"
    " bytes int integer number boolean bool object array unknown empty user username userpass guest"
    " login foo bar baz qux bazqux abc abcd abcdef abcdefg abcdefgh asdf asdfgh required optional"
    " encrypted plain plaintext hash hashed salt sha md utf base bearer basic digest oauth jwt pkcs"
    " client server access refresh session cookie public private id mypassword mypass mypasswd"
    " mysecret mytoken myapikey mykey newpassword oldpassword somepassword thepassword apassword"
    " badpassword goodpassword userpassword dbpassword postgres postgresql mysql redis mongo"
    " mongodb rabbitmq minio elastic grafana jenkins github gitlab dev development local localhost"
    " staging prod production ci temp temporary tmp value values name field input output type"
    " prompt label title message error enter repeat confirm confirmation new old current first"
    " second last next prev previous page line file path code item node word char blah hello"
    " helloworld world something anything whatever nothing stuff thing things data info enabled"
    " disabled secretkey secretvalue secretpassword somesecret sometoken somekey asecret"
    " mysupersecret anonymous noreply".split()
)

# What names of things are put together from, and sentences: passwords of several words are not.
_NAMING: Final = _WORDS | frozenset(
    "service form policy reset manager provider handler config module plugin version release beta"
    " alpha admin root database account example unit case step button view widget icon rule"
    " validator validation check method mode level state status group role table column record"
    " entry list map set get put post request response header body query link url uri host port"
    " app application web site api cli sdk lib core main index primary secondary section part"
    " figure chapter appendix issue ticket task job build run stage phase render draw shader"
    " layer frame buffer queue topic event stream policy minimum maximum min max len length size"
    " the your you this that with for and not must have has was are from into will can please"
    " need too than same forgot does match least characters long short strong weak only should"
    " cannot could been when then once again more less all any each does did its them they"
    " rsa dsa ecdsa aes des hmac scram tls ssl http https".split()
)
_SAY_PASSWORD: Final = tuple(
    "password passwords passwd passwort pass pwd passphrase passcode pw secret secrets"
    " token".split()
)
# What is said of passwords and forms, and defaults of programs that every manual names.
_DEFAULTS: Final = frozenset(
    "required optional expired correct incorrect invalid valid empty weak strong wrong missing"
    " blank unset visible shown same masked active stored known passed failed skipped admin root"
    " administrator toor system tiger changeit hunter qwerty letmein open sesame some any changed"
    " rejected accepted short vagrant homestead clickhouse".split()
)
_PIECES: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MARK: Final = r"[!?#$%*@&+^~]"
_CAPITAL: Final = r"[A-Z][a-z]{2,}"
# `Maple-River-51`, `Maple_River51`, `Maple@5100`, `MapleRiver51!`, `maple+River51`
_CAPITALS: Final = re.compile(
    rf"(?:[a-z]{{3,}}{_MARK})?{_CAPITAL}(?:(?:[-_.]|{_MARK})?{_CAPITAL}){{0,4}}(?:[-_.]|{_MARK})?"
    rf"[0-9]{{1,6}}{_MARK}{{0,2}}"
)
_SMALL: Final = re.compile(rf"(?:[a-z]{{3,}}[-_.]){{2,5}}[0-9]{{2,4}}{_MARK}{{0,2}}")
# Small and capital letters, a digit and a sign, as rules for passwords ask for: no name has all.
_EVERY_KIND: Final = re.compile(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?=.*(?:[!#%^&*~?+@]|\$$))[A-Za-z0-9_.!#%^&*~?+@$-]{8,64}"
)
# `maple.River5100`, `Maple51-river`: a capital and a number, wherever they stand.
_JOINED: Final = re.compile(
    r"(?=.*[A-Z])(?=.*[0-9]{2})(?:[A-Z]?[a-z]{3,}[0-9]{0,6}[-_.]){1,3}[A-Z]?[a-z]{3,}[0-9]{0,6}"
)
_LETTERS: Final = re.compile(r"[A-Z]?[a-z]+")
_SEPARATORS: Final = frozenset("-_.!?#$%*@&+^~")
_FEWEST_WORDS: Final = 4
_DRAWN: Final = "correct horse battery staple"
"""The phrase that everybody knows from a cartoon."""


def is_plain_word(secret: str) -> bool:
    """Tell whether it is a word that stands for a credential, with nothing told beside it."""
    core = secret.strip("0123456789!@#$%^&*?.,:;_-+=~")
    varied = secret != secret.lower() and len(secret) - len(core) >= 4
    return core.lower() in _WORDS and not varied


def is_default(secret: str) -> bool:
    """Tell whether it says that a password stands here, how one is, or is one that all know."""
    words = {word.lower() for word in _PIECES.findall(secret)}
    says_so = any(word.endswith(_SAY_PASSWORD) for word in words)
    return says_so or words <= _WORDS or words <= _DEFAULTS


def is_chosen(secret: str, *, small: bool = False) -> bool:
    """Tell whether words and a number are joined by signs, and none of them names a thing.

    With `small`, words without a capital are taken as well, if there are several.
    """
    if _SEPARATORS.isdisjoint(secret):
        return False
    if _CAPITALS.fullmatch(secret) is None and not (
        _EVERY_KIND.fullmatch(secret)
        or _JOINED.fullmatch(secret)
        or (small and _SMALL.fullmatch(secret))
    ):
        return False
    return _NAMING.isdisjoint(word.lower() for word in _LETTERS.findall(secret))


def is_phrase(secret: str) -> bool:
    """Tell whether it is a pass phrase: words with spaces between that make no sentence."""
    words = secret.split(" ")
    return len(words) >= _FEWEST_WORDS and _NAMING.isdisjoint(words) and secret != _DRAWN
