"""An account: the session that its users share, and the retries of calls."""

from __future__ import annotations

import json
import os
from typing import Any

from .bounded import read_file
from .errors import InvalidRequest, KiosqueError, NoAnswer, ServerFailed, SetupError, TokenRefused
from .group import Group
from .retry import Timing
from .session import Session
from .session_file import SessionFile
from .transport import HttpsTransport, Transport, envelope_of


class Account:
    """An account of a server. A program has one, for all its threads.

    The first call logs in. The session is renewed before it ends, and when another user of the
    account has replaced it. Closing the account leaves the session: others may use it.
    """

    def __init__(
        self,
        base_url: str,
        username: str,
        *,
        password: str | None = None,
        password_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        session_file: str | os.PathLike[str] | None = None,
        timing: Timing | None = None,
        transport: Transport | None = None,
    ) -> None:
        """`password_file` is read before each login; a line end after the password is ignored.
        `ca_file` has the certificates to trust, as PEM, in place of the system's. Processes
        with the same `session_file` share one session; it must be on a local file system, in a
        directory that only its owner may write."""
        if "@" in base_url:
            raise SetupError("the base URL contains a user name or a password, which is not sent; "
                             "write it like https://kiosque.example.com/v8")
        if not base_url.startswith("https://"):
            raise SetupError(f"{base_url!r} does not begin with https://")
        if (password is None) == (password_file is None):
            raise SetupError("give either password or password_file")
        self._base_url, self._username = base_url.rstrip("/"), username
        self._known_password, self._password_file = password, password_file
        self._timing = timing or Timing()
        file = None
        if session_file is not None:
            file = SessionFile(os.fspath(session_file), self._base_url, username)
        ca_path = None if ca_file is None else os.fspath(ca_file)
        self._transport = transport or HttpsTransport(self._base_url, ca_path)
        self._session = Session(self._transport, username, self._password, self._timing, file)
        self._page_max: int | None = None

    def __repr__(self) -> str:
        return f"Account({self._base_url!r}, {self._username!r})"

    def __enter__(self) -> Account:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Does not log out."""
        self._transport.close()

    def groups(self) -> list[Group]:
        """Returns the groups that the account may select, the default first. Logs in if there is no
        session."""
        with self._session.use(None) as held:
            return [Group(self, group, name) for group, name in held.groups]

    def group(self, group_id: str) -> Group:
        """Returns a group by its id. Nothing is sent yet."""
        return Group(self, group_id)

    def log_out(self) -> None:
        """Ends the session, for all its users. A later call logs in again."""
        self._session.log_out()

    def call(self, group: str, path: str, body: object = None, wait: int = 0) -> Any:
        """Makes a call that reads, in a group, and returns its `data`. `path` is that below the
        base URL, and `wait` the seconds that the server may wait before it answers."""
        sent = b"" if body is None else json.dumps(body).encode()
        failures = refusals = 0
        while True:
            error = self._attempt(group, path, sent, wait)
            if not isinstance(error, KiosqueError):
                return error[0]
            if isinstance(error, TokenRefused):
                refusals += 1
                if refusals > self._timing.refusals_max:
                    raise error
                continue
            failures += 1
            if isinstance(error, NoAnswer):
                error = error.after(failures)
            pause = self._timing.wait_before(failures, error)
            if pause is None:
                raise error
            self._timing.sleep(pause)

    def page_size(self, size: int) -> int:
        """Returns the size to request in place of a size: a server may allow smaller pages only,
        and refuse others (PAGE-4)."""
        return size if self._page_max is None else min(size, self._page_max)

    def is_page_too_large(self, size: int, error: InvalidRequest) -> bool:
        """Returns whether a call failed because of the size of its page. Then pages have at most
        half that size from now on, and the call can be made again."""
        can_shrink = size > 1 and "size" in error.fields
        if can_shrink:
            self._page_max = self.page_size(size // 2)
        return can_shrink

    def is_awaited(self, group: str) -> bool:
        """Returns whether calls of another group wait for the session."""
        return self._session.is_awaited(group)

    def pause(self, seconds: float) -> None:
        """Waits."""
        self._timing.sleep(seconds)

    def _attempt(self, group: str, path: str, body: bytes, wait: int) -> KiosqueError | tuple[Any]:
        """Sends a call once. Returns its error, or its data."""
        with self._session.use(group) as held:
            try:
                answer = self._transport.send(path, body, held.token, self._timing.timeout + wait)
                envelope = envelope_of(path, answer)
            except (NoAnswer, ServerFailed) as failure:
                return failure
            if envelope.is_success:
                return (envelope.data,)
            error = envelope.error()
            if isinstance(error, TokenRefused):
                self._session.refuse(held.token)
            return error

    def _password(self) -> str:
        if self._password_file is None:
            return self._known_password or ""
        path = os.fspath(self._password_file)
        try:
            password = read_file(path).decode().rstrip("\r\n")
        except OSError as error:
            raise SetupError(f"cannot read the password file {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            reason = "it is not UTF-8 text"
            raise SetupError(f"cannot read the password file {path}: {reason}") from None
        if not password or "\n" in password or "\r" in password:
            reason = "has more than one line" if password else "is empty"
            raise SetupError(f"the password file {path} {reason}; write the password to it, on one "
                             "line")
        return password
