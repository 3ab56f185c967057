"""A session in a file that processes share.

A call holds a shared lock while it is under way, so that the token does not change. A login, a
switch or a log out holds an exclusive lock. A process that waits for either lock holds a second one,
the entrance, so that no further call overtakes a login that waits.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .bounded import read_file
from .errors import SetupError


class Lock:
    """A lock on the session, shared or exclusive, until it is released."""

    def __init__(self, path: str, operation: int) -> None:
        self._entrance = _open(f"{path}.entrance")
        self._lock = -1
        try:
            fcntl.flock(self._entrance, fcntl.LOCK_EX)
            self._lock = _open(f"{path}.lock")
            fcntl.flock(self._lock, operation)
        except BaseException:
            self.release()
            raise
        if operation == fcntl.LOCK_SH:
            self._open_entrance()

    def share(self) -> None:
        """Makes an exclusive lock a shared one; no exclusive one is granted in between."""
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._open_entrance()

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        self._open_entrance()

    def _open_entrance(self) -> None:
        if self._entrance >= 0:
            os.close(self._entrance)
            self._entrance = -1


class SessionFile:
    """The file of a session, which belongs to one account of one server."""

    def __init__(self, path: str, base_url: str, username: str) -> None:
        self._path = os.fspath(path)
        self._owner = {"url": base_url, "username": username}

    def shared(self) -> Lock:
        return self._locked(fcntl.LOCK_SH)

    def exclusive(self) -> Lock:
        return self._locked(fcntl.LOCK_EX)

    def _locked(self, operation: int) -> Lock:
        with self._usable():
            return Lock(self._path, operation)

    def read(self) -> dict[str, Any] | None:
        """Returns the session; `None` if there is none of this account. A file that cannot be
        understood is as good as none: a login replaces it."""
        with self._usable():
            try:
                content = json.loads(read_file(self._path))
            except (FileNotFoundError, ValueError):
                return None
        is_own = isinstance(content, dict) and self._owner.items() <= content.items()
        session = content.get("session") if is_own else None
        return session if isinstance(session, dict) else None

    def write(self, session: dict[str, Any] | None) -> None:
        with self._usable():
            descriptor = _open(f"{self._path}.new", os.O_TRUNC)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({**self._owner, "session": session}, file)
            os.replace(f"{self._path}.new", self._path)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SetupError(f"cannot use the session in {self._path}: {error.strerror}") from error


def _open(path: str, flags: int = 0) -> int:
    """Opens a file that only its owner may read; it has a token."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
