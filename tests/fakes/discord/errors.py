"""How Discord says no, "Opcodes and Status Codes, JSON Error Codes"."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

UNKNOWN = {
    "channel": 10003, "guild": 10004, "member": 10007, "message": 10008, "user": 10013, "webhook": 10015,
    "interaction": 10062, "application command": 10063,
}  # fmt: skip


class Refused(Exception):
    """A request that is answered with an error; nothing happened."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(f"{status} {code} {message} {errors or ''}".strip())
        self.status = status
        self.body: Json = {"message": message, "code": code} | ({"errors": errors} if errors else {})

    def inside(self, part: str) -> Refused:
        """The same, said of a part of a greater body."""
        if "errors" in self.body:
            self.body["errors"] = {part: self.body["errors"]}
        return self


def unknown(kind: str) -> Refused:
    return Refused(404, UNKNOWN[kind], f"Unknown {kind.capitalize()}")


def missing_access() -> Refused:
    return Refused(403, 50001, "Missing Access")


def missing_permissions() -> Refused:
    return Refused(403, 50013, "Missing Permissions")


def thread_archived() -> Refused:
    return Refused(400, 50083, "Thread is archived")


def thread_locked() -> Refused:
    return Refused(403, 160005, "This thread is locked")


class Form:
    """The faults of one request body, nested as Discord nests them."""

    def __init__(self) -> None:
        self.errors: Json = {}

    def fault(self, path: str, code: str, message: str) -> None:
        """``path`` is dotted: ``components.0.label``."""
        place = self.errors
        for part in path.split("."):
            place = place.setdefault(part, {})
        place.setdefault("_errors", []).append({"code": code, "message": message})

    def length(self, path: str, value: Any, most: int, *, least: int = 0) -> None:
        """Refuses a text or a list that is too short or too long, and what is neither."""
        if value is None and not least:
            return
        if not isinstance(value, str | list):
            self.fault(path, "BASE_TYPE_REQUIRED", "This field is required")
        elif len(value) > most:
            self.fault(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        elif len(value) < least:
            self.fault(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")

    def one_of(self, path: str, value: Any, choices: tuple[int, ...]) -> bool:
        if value in choices:
            return True
        self.fault(path, "BASE_TYPE_CHOICES", f"Value must be one of {set(choices)}.")
        return False

    def close(self) -> None:
        """Refuses the request if there was any fault."""
        if self.errors:
            raise Refused(400, 50035, "Invalid Form Body", self.errors)
