"""Answers as they arrive from the network."""

import io
import ssl
import unittest
from unittest.mock import patch

import urllib3

from kiosque_client import NoAnswer, SetupError
from kiosque_client.transport import HttpsTransport


class Body(io.BytesIO):
    """A body of which a byte arrives each second."""

    now = 0.0

    def read1(self, size=-1):
        self.now += 1
        return super().read1(1)


class Answers(unittest.TestCase):
    def send(self, body, **headers):
        received = urllib3.HTTPResponse(body, headers, status=200, preload_content=False)
        transport = HttpsTransport("https://127.0.0.1/v8", None)
        with patch.object(urllib3.PoolManager, "request", lambda *given, **named: received), \
                patch("time.monotonic", lambda: body.now):
            return transport.send("token", b"{}", None, 3.0)

    def test_an_answer_that_trickles_ends_with_the_timeout(self):
        with self.assertRaises(NoAnswer) as caught:
            self.send(Body(b" " * 1_000))
        self.assertEqual(str(caught.exception),
                         "token: no whole answer after 1 attempt(s): it did not end within 3 s")
        self.assertEqual(self.send(Body(b"{}")).body, b"{}")

    def test_a_certificate_that_is_not_trusted_is_an_error_of_the_setup(self):
        """Such a call is not repeated."""
        transport = HttpsTransport("https://127.0.0.1/v8", None)
        cause = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed")

        def refuse(*given, **named):
            raise urllib3.exceptions.SSLError(cause)

        with patch.object(urllib3.PoolManager, "request", refuse), \
                self.assertRaises(SetupError) as caught:
            transport.send("token", b"{}", None, 3.0)
        said = str(caught.exception)
        self.assertTrue(said.startswith("token: the certificate of the server is not trusted: "))
        self.assertTrue(said.endswith(
            "certificate verify failed: self-signed; if it is self-signed, give it as ca_file"), said)

    def test_an_answer_shorter_than_its_length_was_cut(self):
        with self.assertRaises(NoAnswer) as caught:
            self.send(Body(b"{}"), **{"content-length": "3"})
        self.assertTrue(caught.exception.is_cut)
