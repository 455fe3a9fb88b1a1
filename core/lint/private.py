"""Private words on pages that everybody reads.

They are keys and passwords, notes that a page is confidential, and numbers of accounts. A secret is masked in
what is shown and kept.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from core.lint.findings import LintFinding, Reading

MASKED = 4  # characters of a secret that are shown
ENTROPY = 3  # kinds of characters of a password that is no word

#: What a service calls its keys: each with its name.
_KEYS: Sequence[tuple[str, str]] = (
    ("a key of AWS", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a token of GitHub", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b"),
    ("a token of GitLab", r"\bglpat-[\w-]{20,}"),
    ("a token of a chat app", r"\bxox[abeoprs]-[\w-]{20,}|\bxapp-\d-[\w-]{20,}"),
    ("a webhook", r"https://hooks\.[\w.]+/services/T\w+/B\w+/\w{20,}"),
    ("a key of Google", r"\bAIza[\w-]{35}\b"),
    ("a key of a model", r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}"),
    ("a key of Stripe", r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("a key of SendGrid", r"\bSG\.[\w-]{20,}\.[\w-]{20,}"),
    ("a token of npm", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a private key", r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    (
        "a password in an address",
        r"\b[a-z][a-z0-9+]*://[^\s:/@<>]+:(?P<secret>[^\s:/@<>{}$*]{6,})@[\w.-]+\.\w",
    ),
)
_PASSWORD = re.compile(
    r"(?i)\b(?:password|passwort|passphrase|pwd|mot de passe|contraseña|senha|secret key|api key)\s*(?:is\s*:?|ist\s*:?|[:=])\s*[`\"']?(?P<secret>[^\s`\"'<>]{6,})",
)
_CONFIDENTIAL = re.compile(
    r"(?i)(?:\A|\n\s*\n|\n#+ )[^\w\n]*(?:(?:this (?:page|document|section|file) is )?(?:strictly |highly )?confidential|"
    r"(?:for )?internal (?:use )?only|not for (?:external )?distribution|company confidential|"
    r"nur für den internen gebrauch|(?:streng )?vertraulich|confidentiel|confidencial|usage interne uniquement|"
    r"solo para uso interno)(?=[ *_]*(?:[:.!—–-]|\n|\Z))"
    r"|\bdo not (?:share|distribute|forward) (?:this|it) (?:page|document|outside|with anyone|externally)",
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_CARD = re.compile(r"(?<![\d.-])(?:\d[ -]?){12,18}\d(?![\d.-])")
_SOCIAL = re.compile(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])")
#: Parts of a value that stands for another: "your-password", "$PASSWORD", "changeme".
_STANDS_FOR = re.compile(
    r"(?i)[$%{}<>*…]|\.{3}|your|example|change|secret|passw|x{3,}|1234|dummy|test|none|null|true|false|required|str\b",
)


def is_iban(text: str) -> bool:
    """ISO 13616: the remainder of the digits by 97 is 1."""
    bare = text.replace(" ", "")
    moved = bare[4:] + bare[:4]
    return 15 <= len(bare) <= 34 and int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def is_card(text: str) -> bool:
    """Luhn's sum, of a number that a card may have."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    is_usual = 13 <= len(digits) <= 19 and digits[0] in (3, 4, 5, 6) and len({*digits}) > 3
    return is_usual and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_secret(text: str) -> bool:
    kinds = sum(bool(re.search(kind, text)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s]"))
    return kinds >= ENTROPY and not _STANDS_FOR.search(text)


_CHECKS: Sequence[tuple[str, re.Pattern[str], Callable[[str], bool]]] = (
    *(
        (name, re.compile(pattern), lambda text: not re.search(r"EXAMPLE|x{4,}|\*{3}", text, re.IGNORECASE))
        for name, pattern in _KEYS
    ),
    ("a password", _PASSWORD, _is_secret),
    ("an account number (IBAN)", _IBAN, is_iban),
    ("a card number", _CARD, is_card),
    ("a social security number", _SOCIAL, bool),
    ("a note that it is not for everybody", _CONFIDENTIAL, bool),
)


def private_words(reading: Reading) -> Iterator[LintFinding]:
    """Parts of a passage that should not stand where everybody reads."""
    for name, pattern, is_meant in _CHECKS:
        for found in pattern.finditer(reading.passage.text):
            secret = found.groupdict().get("secret") or found[0]
            if is_meant(secret):
                place = reading.place(*found.span())
                if pattern is not _CONFIDENTIAL:
                    place = replace(place, quote=found[0].replace(secret, secret[:MASKED] + "…"))
                why = f"Everybody may read this, and it holds {name}."
                yield LintFinding(kind="private", why=why, places=(place,), about=name)
