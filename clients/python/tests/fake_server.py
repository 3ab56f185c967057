"""A service in memory, with the sessions of the interface and with answers that a test chooses."""

import json
import threading
from collections.abc import Callable

from kiosque_client import Account, Answer, Timing

JSON = {"content-type": "application/json; charset=UTF-8"}
Choice = Callable[[str, int], "Answer | Exception | None"]


def answer(data: object = None, code: int = 200, status: int = 200, **headers: str) -> Answer:
    message = "success" if code == 200 else f"message {code}"
    envelope = {"code": code, "msg": message, "enMsg": None if code == 200 else message,
                "data": data}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {**JSON, **named}, json.dumps(envelope).encode())


def html(status: int) -> Answer:
    return Answer(status, {"content-type": "text/html"}, b"<h1>Page</h1>")


class FakeServer:
    """Answers calls. `choose` gets the last part of a path and how often it was called before, and
    returns an answer, an error to raise, or `None` for the answer of a working service."""

    def __init__(self, choose: Choice = lambda name, before: None) -> None:
        self.groups = ["north", "south", "west"]
        self.password = "secret"
        self.lifetime = 7200.0
        self.now = 1_000_000.0
        self.calls: list[str] = []
        self.violations: list[str] = []
        self.under_way = threading.Event()
        self._choose = choose
        self._lock = threading.Lock()
        self._token, self._group, self._tokens = "", "", 0
        self._active = 0
        self.meanwhile: Callable[[str], None] = lambda name: None

    def send(self, path: str, body: bytes, token: str | None, timeout: float) -> Answer:
        name = path.split("?")[0].split("/")[-1]
        is_session = name in ("token", "switchGroup", "logout")
        with self._lock:
            before = self.calls.count(name)
            self.calls.append(name)
            chosen = self._choose(name, before)
            if is_session and self._active:
                self.violations.append(f"{name} with {self._active} call(s) under way")
            given = self._answer(name, json.loads(body or b"{}"), token)
            self._active += not is_session
        if not is_session:
            self.meanwhile(name)
            with self._lock:
                self._active -= 1
        if isinstance(chosen, Exception):
            raise chosen
        return chosen or given

    def close(self) -> None:
        self.calls.append("close")

    def end_session(self) -> None:
        with self._lock:
            self._token = ""

    def _answer(self, name: str, body: dict[str, str], token: str | None) -> Answer:
        if name == "token":
            if body["password"] != self.password:
                return answer(code=-2)
            return self._grant(self.groups[0])
        if not token or token != self._token:
            return answer("refused", code=-4)
        if name == "switchGroup":
            if body["groupId"] not in self.groups:
                return answer("no such group", code=-1)
            return self._grant(body["groupId"])
        if name == "logout":
            self._token = ""
            return answer()
        return answer({"group": self._group})

    def _grant(self, group: str) -> Answer:
        self._tokens += 1
        self._token, self._group = f"TOKEN-{self._tokens}", group
        groups = [{"groupId": one, "groupName": one.title()} for one in self.groups]
        return answer({"accessToken": self._token, "groupId": group, "switchableGroups": groups,
                       "expiresIn": int((self.now + self.lifetime) * 1000)})


class Sleeps:
    """Records waits in place of waiting, and moves the clock of a server."""

    def __init__(self, server: FakeServer) -> None:
        self.server, self.waits = server, list[float]()

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.server.now += seconds


def account(server: FakeServer, **arguments: object) -> tuple[Account, Sleeps]:
    """Returns an account of a server whose waits take no time and have no random part."""
    sleeps = Sleeps(server)
    timing = Timing(clock=lambda: server.now, sleep=sleeps, random=lambda: 0.0)
    options = {"password": "secret", "timing": timing, "transport": server, **arguments}
    return Account("https://kiosque.example.com/v8", "acme", **options), sleeps
