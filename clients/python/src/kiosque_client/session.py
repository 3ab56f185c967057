"""One session for all threads of a program, and for all processes that share a session file.

An account has one session with one selected group (AUTH-12), and a switch replaces its token. So
calls of one group run together, and a login, a switch or a log out happens when none is under way.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from .errors import NoAnswer, NotAnEnvelope, Refused, ServerFailed, TokenRefused
from .errors import WrongCredentials, WrongGroup
from .retry import Timing
from .session_file import Lock, SessionFile
from .transport import TOKEN_INVALID, Envelope, Transport, envelope_of
from .types import LoginRequest, SessionData, SwitchGroupRequest

LOG_IN = "platform-auth/auth/third-api/token"
SWITCH_GROUP = "platform-auth/auth/third-api/switchGroup"
LOG_OUT = "platform-auth/auth/third-api/logout"

RENEW_BEFORE = 60.0
CALM = 60.0
HOLD_FIRST, HOLD_MAX = 0.25, 60.0
REFUSED_FOR = 10.0


@dataclass(frozen=True)
class Held:
    """A token, the group that it selects, when its session began, and when it is to be renewed, in
    seconds since 1970. A switch continues a session."""

    token: str = field(repr=False)
    group: str
    groups: list[tuple[str, str]]
    since: float
    renew_at: float | None
    ends_at: float | None

    @staticmethod
    def granted(data: SessionData, now: float, since: float) -> Held:
        """Reads `data` of a login or a switch, in a session that began at `since`."""
        entries = data.get("switchableGroups", [])
        groups = [(entry["groupId"], entry.get("groupName", "")) for entry in entries]
        ends = data["expiresIn"] / 1000
        # An end in the past shows that the clocks differ: the session is used until it is refused.
        renew = ends - min(RENEW_BEFORE, (ends - now) / 10) if ends > now else None
        return Held(str(data["accessToken"]), str(data["groupId"]), groups, since, renew,
                    ends if ends > now else None)

    @staticmethod
    def stored(content: dict[str, Any] | None) -> Held | None:
        """Reads a session of the session file."""
        try:
            held = Held(**content) if content else None
        except TypeError:
            return None
        return held if held is not None and held.is_sendable else None

    @property
    def is_sendable(self) -> bool:
        """Whether a header can have the token."""
        return isinstance(self.token, str) and self.token.isascii() and self.token.isprintable()


class Session:
    """The session of an account. Nothing is sent before the first call."""

    def __init__(
        self,
        transport: Transport,
        username: str,
        password: Callable[[], str],
        timing: Timing,
        file: SessionFile | None = None,
    ) -> None:
        self._transport, self._timing, self._file = transport, timing, file
        self._username, self._password = username, password
        self._changed = threading.Condition()
        # All fields below are read and written with the lock of the condition, or by the one
        # thread that has set `_is_changing`.
        self._held: Held | None = None
        self._running = 0
        self._is_changing = False
        self._waiting: dict[int, str | None] = {}
        self._tickets = count()
        self._turn_began = self._last_answer = time.monotonic()
        self._refused_token: str | None = None
        self._losses = 0
        self._hold_until = 0.0
        # A refused login: its error, its password, and when the next one may be sent.
        self._refused_log_in: tuple[Refused, str, float | None] | None = None

    @contextmanager
    def use(self, group: str | None) -> Iterator[Held]:
        """Yields the session for a call in a group, or in any group. No thread and no process
        changes it until the call has ended."""
        lock, held = self._enter(group)
        try:
            yield held
        finally:
            self._leave(lock)

    def is_awaited(self, group: str) -> bool:
        """Returns whether calls of another group wait."""
        with self._changed:
            return any(other not in (None, group) for other in self._waiting.values())

    def refuse(self, token: str) -> None:
        """Forgets the session if it still has this token, which the server has refused."""
        with self._changed:
            held = self._held
            if held is None or held.token != token:
                return
            self._held, self._refused_token = None, token
            now = self._timing.clock()
            if held.ends_at is not None and held.ends_at <= now:
                return
            self._losses = self._losses + 1 if now - held.since < CALM else 1
            if self._losses > 1:
                hold = min(HOLD_FIRST * 2 ** min(self._losses - 2, 20), HOLD_MAX)
                # Two clients that wait equally long would meet again.
                self._hold_until = now + hold * (1 + self._timing.random() / 4)

    def log_out(self) -> None:
        """Ends the session, for all its users, once no call is under way."""
        with self._changed:
            while self._running or self._is_changing:
                self._changed.wait()
            self._is_changing = True
        lock = None
        try:
            lock = self._file.exclusive() if self._file else None
            held = Held.stored(self._file.read()) if self._file else self._held
            if held is None:
                return
            self._keep(None)
            envelope = self._post(LOG_OUT, None, held.token)
            # A session that another user has replaced has ended, too.
            if not envelope.is_success and envelope.code != TOKEN_INVALID:
                raise envelope.error()
        finally:
            self._end_change(lock, running=0)

    def _enter(self, group: str | None) -> tuple[Lock | None, Held]:
        while True:
            lock = self._change(group) if self._wait_for_turn(group) else self._start()
            with self._changed:
                held = self._held
                if held is not None and group in (None, held.group):
                    return lock, held
            # Another process has changed the session.
            self._leave(lock)

    def _wait_for_turn(self, group: str | None) -> bool:
        """Waits until a call may start. Returns whether the session must be changed before."""
        with self._changed:
            ticket = next(self._tickets)
            self._waiting[ticket] = group
            try:
                while True:
                    if self._may_start(group):
                        self._running += 1
                        return False
                    if self._may_change(ticket):
                        self._is_changing = True
                        return True
                    is_idle = not self._running and not self._is_changing
                    self._changed.wait(self._timing.linger if is_idle else None)
            finally:
                del self._waiting[ticket]

    def _needs_change(self, group: str | None) -> bool:
        held = self._held
        return held is None or self._is_due(held) or group not in (None, held.group)

    def _is_due(self, held: Held) -> bool:
        return held.renew_at is not None and held.renew_at <= self._timing.clock()

    def _may_start(self, group: str | None) -> bool:
        if self._is_changing or self._needs_change(group):
            return False
        is_over = time.monotonic() >= self._turn_began + self._timing.turn
        return not (is_over and any(map(self._needs_change, self._waiting.values())))

    def _may_change(self, ticket: int) -> bool:
        """Returns whether this call is the oldest of those that need a change, and no other call
        may start before."""
        if self._is_changing or self._running:
            return False
        needing = [other for other, group in self._waiting.items() if self._needs_change(group)]
        if not needing or ticket != min(needing):
            return False
        if self._held is None or self._is_due(self._held):
            return True
        now, turn_ends = time.monotonic(), self._turn_began + self._timing.turn
        is_lingering = now < min(self._last_answer + self._timing.linger, turn_ends)
        return now >= turn_ends or not (is_lingering or len(needing) < len(self._waiting))

    def _start(self) -> Lock | None:
        """Takes the session of the file, which another process may have changed."""
        if self._file is None:
            return None
        lock = None
        try:
            lock = self._file.shared()
            stored = Held.stored(self._file.read())
        except BaseException:
            self._leave(lock)
            raise
        with self._changed:
            if stored is None or stored.token != self._refused_token:
                self._held = stored
        return lock

    def _leave(self, lock: Lock | None) -> None:
        if lock:
            lock.release()
        with self._changed:
            self._running -= 1
            self._last_answer = time.monotonic()
            self._changed.notify_all()

    def _change(self, group: str | None) -> Lock | None:
        """Logs in and switches as needed, and begins a call."""
        lock, running = None, 0
        try:
            if self._file:
                lock = self._file.shared()
                held = self._current()
                if held is None or group not in (None, held.group):
                    lock.release()
                    lock = self._file.exclusive()
            # Another process may have changed the session meanwhile.
            held = self._current()
            failures = refusals = 0
            while held is None or group not in (None, held.group):
                try:
                    held = self._log_in() if held is None else self._switch(held, str(group))
                except (NoAnswer, ServerFailed) as error:
                    # It happened or not (ENV-11): the token is unknown, so a login is next.
                    held, failures = self._keep(None), failures + 1
                    wait = self._timing.wait_before(failures, error)
                    if wait is None:
                        raise error.after(failures) if isinstance(error, NoAnswer) else error
                    self._timing.sleep(wait)
                except TokenRefused:
                    refusals += 1
                    if held is None or refusals > self._timing.refusals_max:
                        raise
                    self.refuse(held.token)
                    held = self._keep(None)
            if lock:
                lock.share()
            running = 1
            return lock
        finally:
            self._end_change(None if running else lock, running)

    def _end_change(self, lock: Lock | None, running: int) -> None:
        if lock:
            lock.release()
        with self._changed:
            self._is_changing = False
            self._running += running
            self._turn_began = time.monotonic()
            self._changed.notify_all()

    def _current(self) -> Held | None:
        """Returns the session if it can be used: neither refused nor about to end."""
        held = Held.stored(self._file.read()) if self._file else self._held
        if held is not None and (held.token == self._refused_token or self._is_due(held)):
            held = None
        self._held = held
        return held

    def _keep(self, held: Held | None) -> Held | None:
        self._held = held
        if self._file:
            self._file.write(asdict(held) if held else None)
        return held

    def _log_in(self) -> Held | None:
        password = self._password()
        if self._refused_log_in:
            error, refused, until = self._refused_log_in
            if password == refused and (until is None or self._timing.clock() < until):
                raise error
        hold = self._hold_until - self._timing.clock()
        if hold > 0:
            self._timing.sleep(hold)
        try:
            body: LoginRequest = {"username": self._username, "password": password}
            held = self._granted(LOG_IN, body)
        except Refused as error:
            if isinstance(error, ServerFailed):
                raise
            # A wrong password is never sent again: it would use up the attempts of the account.
            wait = REFUSED_FOR if error.retry_after is None else error.retry_after
            is_final = isinstance(error, WrongCredentials)
            until = None if is_final else self._timing.clock() + wait
            self._refused_log_in = (error, password, until)
            raise
        self._refused_log_in, self._hold_until = None, 0.0
        return self._keep(held)

    def _switch(self, held: Held, group: str) -> Held | None:
        body: SwitchGroupRequest = {"groupId": group}
        switched = self._keep(self._granted(SWITCH_GROUP, body, held))
        if switched is not None and switched.group != group:
            raise WrongGroup(group, switched.group)
        return switched

    def _granted(self, path: str, body: object, before: Held | None = None) -> Held:
        envelope = self._post(path, body, before.token if before else None)
        if not envelope.is_success:
            raise envelope.error()
        now = self._timing.clock()
        reason = "data does not have the fields of a login"
        try:
            held = Held.granted(envelope.data, now, before.since if before else now)
            if held.is_sendable:
                return held
            reason = "the accessToken has a character that no header can have"
        except (KeyError, TypeError, AttributeError):
            pass
        self._keep(None)
        kind = envelope.answer.headers.get("content-type", "")
        raise NotAnEnvelope(path, 200, kind, reason)

    def _post(self, path: str, body: object, token: str | None) -> Envelope:
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self._transport.send(path, sent, token, self._timing.timeout)
        return envelope_of(path, answer)
