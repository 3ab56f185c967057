"""Sends requests over HTTPS, and reads envelopes."""

from __future__ import annotations

import errno
import json
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import urllib3
from urllib3.exceptions import DecodeError, HTTPError, ProtocolError

from .bounded import read_file
from .errors import InvalidRequest, NoAnswer, NotAnEnvelope, Refused, ServerFailed, SetupError
from .errors import TokenRefused, WrongCredentials

SUCCESS, BUSINESS, CREDENTIALS, TOKEN_MISSING, TOKEN_INVALID = 200, -1, -2, -3, -4
EXCERPT_MAX = 200
READ_MAX = 65_536


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. `headers` has names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Transport(Protocol):
    """Sends one request, and raises `NoAnswer` if no whole answer arrives."""

    def send(self, path: str, body: bytes, token: str | None, timeout: float) -> Answer: ...

    def close(self) -> None: ...


_call = threading.local()
"""The time at which the call of each thread ends."""


class _Connection(ssl.SSLSocket):
    """Limits each read to the time that is left of the call: an answer may take many reads."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        # A timeout of 0 would not wait at all.
        self.settimeout(max(_call.ends_at - time.monotonic(), 0.001))
        return super().recv_into(buffer, nbytes, flags)


class HttpsTransport:
    """Sends requests to a base URL; its connections are shared by all threads."""

    def __init__(self, base_url: str, ca_file: str | None) -> None:
        self._base = base_url.rstrip("/")
        try:
            context = ssl.create_default_context(cadata=None if ca_file is None else _pem(ca_file))
        except OSError as error:
            raise SetupError(f"{ca_file}: no certificates to trust: {error.strerror}") from error
        context.sslsocket_class = _Connection
        self._pool = urllib3.PoolManager(maxsize=16, retries=False, ssl_context=context)

    def send(self, path: str, body: bytes, token: str | None, timeout: float) -> Answer:
        headers = {"content-type": "application/json", "accept-encoding": "gzip", "x-locale": "en"}
        if token is not None:
            headers["third-api-token"] = token
        _call.ends_at = time.monotonic() + timeout
        try:
            answer = self._pool.request(
                "POST", f"{self._base}/{path}", body=body, headers=headers,
                timeout=timeout, redirect=False, preload_content=False,
            )
        except HTTPError as error:
            # The library passes the error of the TLS connection as an argument of its own.
            if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in error.args):
                raise SetupError(f"{path}: the certificate of the server is not trusted: {error}; "
                                 "if it is self-signed, give it as ca_file") from error
            raise NoAnswer(path, str(error)) from error
        received = bytearray()
        try:
            while part := answer.read1(READ_MAX, decode_content=True):
                received += part
                if time.monotonic() > _call.ends_at:
                    answer.close()
                    raise NoAnswer(path, f"it did not end within {timeout:g} s", is_cut=True)
        except (HTTPError, OSError) as error:
            is_cut = isinstance(error, (ProtocolError, DecodeError))
            raise NoAnswer(path, str(error), is_cut=is_cut) from error
        finally:
            answer.release_conn()
        lower = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, lower, bytes(received))

    def close(self) -> None:
        self._pool.clear()


def _pem(ca_file: str) -> str:
    """Returns the certificates of a file. Comments between them may have any characters."""
    pem = read_file(ca_file).decode("ascii", "ignore")
    if "-----BEGIN " not in pem:
        raise OSError(errno.EINVAL, "expected a certificate in PEM, found none")
    return pem


@dataclass(frozen=True)
class Envelope:
    """The fields of an answer of the interface, with the answer."""

    path: str
    answer: Answer
    code: int
    en_msg: str
    data: Any = field(repr=False)

    @property
    def is_success(self) -> bool:
        return self.answer.status == 200 and self.code == SUCCESS

    def error(self) -> Refused:
        """Returns the error of an answer without success."""
        status = self.answer.status
        kinds = {CREDENTIALS: WrongCredentials, TOKEN_MISSING: TokenRefused,
                 TOKEN_INVALID: TokenRefused}
        kind = kinds.get(self.code, Refused)
        if status >= 500:
            kind = ServerFailed
        elif self.code == BUSINESS and isinstance(self.data, list):
            kind = InvalidRequest
        # The data of a success is not shown, whatever the HTTP status: it may have a token.
        data = None if self.code == SUCCESS else self.data
        request_id = self.answer.headers.get("x-request-id")
        return kind(self.path, status, self.code, self.en_msg, data, request_id,
                    retry_after(self.answer))


def retry_after(answer: Answer) -> float | None:
    """Returns the seconds of the header `Retry-After`; `None` without one."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def envelope_of(path: str, answer: Answer) -> Envelope:
    """Reads an answer. Numbers with a fraction are decimals: binary ones would not be exact.

    Raises `NoAnswer` for a success that is not valid JSON: it was cut. Raises `NotAnEnvelope`, or
    `ServerFailed` with HTTP 5xx, for any other answer without an envelope.
    """
    is_json = "json" in answer.headers.get("content-type", "")
    try:
        read = json.loads(answer.body, parse_float=Decimal)
    except ValueError as error:
        if answer.status == 200 and is_json:
            raise NoAnswer(path, f"it is not valid JSON: {error}", is_cut=True) from None
        read = None
    if isinstance(read, dict) and type(read.get("code")) is int:
        texts = [read.get(name) for name in ("enMsg", "msg")]
        en_msg = next((text for text in texts if isinstance(text, str)), "")
        return Envelope(path, answer, read["code"], en_msg, read.get("data"))
    excerpt = " ".join(answer.body[:EXCERPT_MAX].decode("utf-8", "replace").split())
    if answer.status >= 500:
        raise ServerFailed(path, answer.status, 0, "no envelope", excerpt,
                           retry_after=retry_after(answer))
    raise NotAnEnvelope(path, answer.status, answer.headers.get("content-type", ""), excerpt,
                        answer.headers.get("location"))
