"""Errors of calls. None of them contains a password or a token."""

from __future__ import annotations

from collections.abc import Sequence


class KiosqueError(Exception):
    """The base of all errors of this package.

    Its text is one line: texts of a server are in it without characters that control a terminal.
    """

    def __str__(self) -> str:
        return "".join(c if c.isprintable() else " " for c in super().__str__())


class SetupError(KiosqueError):
    """A file or an argument cannot be used; nothing was sent."""


class NoAnswer(KiosqueError):
    """No whole answer arrived.

    `is_cut` says whether the answer began and ended early. `tries` is the number of attempts.
    """

    def __init__(self, path: str, cause: str, *, is_cut: bool = False, tries: int = 1) -> None:
        super().__init__(f"{path}: no whole answer after {tries} attempt(s): {cause}")
        self.path, self.cause, self.is_cut, self.tries = path, cause, is_cut, tries

    def after(self, tries: int) -> NoAnswer:
        """Returns the error of the last of several attempts."""
        return NoAnswer(self.path, self.cause, is_cut=self.is_cut, tries=tries)


class NotAnEnvelope(KiosqueError):
    """The answer is not one of the interface: an HTML page of a proxy, for example."""

    def __init__(
        self, path: str, http_status: int, content_type: str, excerpt: str,
        location: str | None = None,
    ) -> None:
        redirect = ""
        if 300 <= http_status < 400:
            known = f"to {location!r}, which is not followed"
            address = known if location else "without an address"
            redirect = (f"; it is a redirect {address}: check the base URL, and proxies between "
                        "client and server")
        super().__init__(f"{path}: HTTP {http_status}, {content_type or 'no content type'}, "
                         f"is no answer of the interface{redirect}: {excerpt!r}")
        self.path, self.http_status = path, http_status
        self.content_type, self.excerpt = content_type, excerpt


class Refused(KiosqueError):
    """The server answered with a `code` other than 200, or with an HTTP status other than 200."""

    def __init__(
        self,
        path: str,
        http_status: int,
        code: int,
        en_msg: str,
        data: object = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        details = f": {data}" if data not in (None, en_msg) else ""
        request = f" (request {request_id})" if request_id else ""
        wait = ""
        if retry_after is not None:
            wait = f"; the server asks for a wait of {retry_after:g} s (Retry-After)"
        super().__init__(
            f"{path}: HTTP {http_status}, code {code}: {en_msg}{details}{request}{wait}")
        self.path, self.http_status, self.code = path, http_status, code
        self.en_msg, self.data = en_msg, data
        self.request_id, self.retry_after = request_id, retry_after


class InvalidRequest(Refused):
    """Fields of the request are missing or wrong (REQ-7)."""

    @property
    def violations(self) -> Sequence[str]:
        """The violations, each of which begins with the name of its field."""
        return [str(text) for text in self.data] if isinstance(self.data, list) else []

    @property
    def fields(self) -> Sequence[str]:
        """The names of the fields."""
        return [text.split(" ", 1)[0] for text in self.violations]


class WrongCredentials(Refused):
    """The name or the password is wrong, or the account is disabled (AUTH-8). The password is not
    sent again."""


class TokenRefused(Refused):
    """Each of several tokens was refused: another user of the account logs in again and again."""


class ServerFailed(Refused):
    """The server failed or is busy, with HTTP 5xx, at each attempt."""


class WrongGroup(KiosqueError):
    """The server selected, or answered for, another group than the one that was named."""

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"the answer is for the group {got!r}, not for {wanted!r}")
        self.wanted, self.got = wanted, got


class ListChanged(KiosqueError):
    """A list changed in another way than by growing, so that it cannot be read without a gap."""
