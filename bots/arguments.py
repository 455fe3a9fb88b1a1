"""Parsers of a command's arguments."""

import argparse
from typing import Any, NoReturn

SPANS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}  # seconds
DIGITS = 5  # of a span; as weeks, 1,900 years
FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130  # exit codes

#: What a shell completes an argument with that `--help` shows as this.
COMPLETED_AS = {
    "PATH": "file",
    "PATH_OR_URL": "file",
    "FILE": "file",
    "DIR": "directory",
}


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence, and marks for shtab which arguments are files."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        if (kind := COMPLETED_AS.get(str(action.metavar))) is not None:
            action.complete = kind  # type: ignore[attr-defined]  # shtab reads it
        return action

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # No platform named: Python 3.11.7 and 3.12.1 look for the empty list among the choices.
        if value != []:
            super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message}. `{self.prog} --help` shows how it is used.\n")


def port(typed: str) -> int:
    number = int(typed) if typed.isdecimal() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{typed} is not a port")
    return number


def span(typed: str) -> float:
    """Seconds of "7d"."""
    number, unit = typed[:-1], typed[-1:]
    if not (number.isascii() and number.isdecimal()) or unit not in SPANS or not number.strip("0"):
        raise argparse.ArgumentTypeError(f"{typed} is not a span of time, as 12h or 7d")
    if len(number) > DIGITS:
        raise argparse.ArgumentTypeError(f"{typed} is too long a time: {DIGITS} digits are the most")
    return int(number) * SPANS[unit]


def every_of(typed: str) -> float:
    """Seconds, a minute at least; 0 for "off"."""
    if typed == "off":
        return 0.0
    if typed[:-1].isdecimal() and typed.endswith("s"):
        raise argparse.ArgumentTypeError(
            f"{typed} counts seconds, and 1m is the least: name minutes, hours or days, as 30m, 1h or 7d"
        )
    return span(typed)


def span_of(seconds: float) -> str:
    """The span as it is typed: "90m"."""
    unit = max((each for each in SPANS if seconds % SPANS[each] == 0), key=SPANS.__getitem__)
    return f"{seconds / SPANS[unit]:.0f}{unit}"


def from_1_to(most: int) -> Any:
    def parse(typed: str) -> int:
        number = int(typed) if typed.isdecimal() else 0
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"{typed} is not a number from 1 to {most}")
        return number

    return parse
