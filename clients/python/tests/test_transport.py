"""Answers as they arrive from the network."""

import io
import unittest
from unittest.mock import patch

import urllib3

from kiosque_client import NoAnswer
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

    def test_an_answer_shorter_than_its_length_was_cut(self):
        with self.assertRaises(NoAnswer) as caught:
            self.send(Body(b"{}"), **{"content-length": "3"})
        self.assertTrue(caught.exception.is_cut)
