"""Retries, and the errors of calls."""

import unittest
from decimal import Decimal

from kiosque_client import Answer, InvalidRequest, NoAnswer, NotAnEnvelope, Refused, ServerFailed

from .fake_server import JSON, FakeServer, account, answer, html


def calling(*answers):
    """Makes a call that gets these answers in turn, then the answer of a working service. Returns
    the result or the error, the number of calls, and the waits."""
    server = FakeServer(lambda name, before: answers[before]
                        if name == "onlineDevices" and before < len(answers) else None)
    acme, sleeps = account(server)
    try:
        result = acme.group("north").online_devices()
    except Exception as error:
        result = error
    return result, server.calls.count("onlineDevices"), sleeps.waits


WORKING = {"group": "north"}
CUT = Answer(200, JSON, b'{"code":200,"msg":"success","data":{"li')
LOST = NoAnswer("onlineDevices", "closed")


class Retries(unittest.TestCase):
    def test_reads_are_repeated_when_the_server_fails(self):
        """The table of retries: after 1, 2 and 4 s."""
        busy = answer("busy", code=500, status=500)
        self.assertEqual(calling(busy, html(503), LOST), (WORKING, 4, [1.0, 2.0, 4.0]))
        error, calls, waits = calling(busy, html(503), LOST, busy)
        self.assertIsInstance(error, ServerFailed)
        self.assertEqual((calls, waits), (4, [1.0, 2.0, 4.0]))
        error, calls, _ = calling(*[LOST] * 4)
        self.assertIsInstance(error, NoAnswer)
        self.assertEqual((calls, error.tries), (4, 4))

    def test_retry_after_is_obeyed(self):
        """ENV-12: a longer one than a minute is left to the caller."""
        self.assertEqual(calling(answer(code=500, status=500, retry_after="7")),
                         (WORKING, 2, [7.0]))
        error, calls, waits = calling(answer(code=500, status=500, retry_after="61"))
        self.assertEqual((error.retry_after, calls, waits), (61.0, 1, []))
        self.assertTrue(str(error).endswith(
            ": message 500; the server asks for a wait of 61 s (Retry-After)"), error)

    def test_an_answer_that_was_cut_is_asked_for_again_at_once(self):
        """DASH-27."""
        self.assertEqual(calling(CUT), (WORKING, 2, [0.0]))
        self.assertEqual(calling(CUT, CUT), (WORKING, 3, [0.0, 2.0]))

    def test_refusals_are_not_repeated(self):
        """REQ-4: also `code` 500 over HTTP 200."""
        for code in [-1, -2, 0, 500, 77]:
            error, calls, waits = calling(answer("why", code=code, x_request_id="r-1"))
            self.assertIsInstance(error, Refused)
            self.assertEqual((error.code, error.http_status, error.data), (code, 200, "why"))
            self.assertEqual((error.en_msg, error.request_id), (f"message {code}", "r-1"))
            self.assertIn("r-1", str(error))
            self.assertEqual((calls, waits), (1, []))

    def test_the_text_of_an_error_is_one_line_that_controls_no_terminal(self):
        """The attributes have the server's text as it is."""
        en_msg = "no\n\x1b[2J\u202e\x07 such"
        error = Refused("devicePage", 200, -1, en_msg, "why\rnot", "r\t1")
        self.assertEqual(
            str(error), "devicePage: HTTP 200, code -1: no  [2J   such: why not (request r 1)")
        self.assertEqual((error.en_msg, error.data), (en_msg, "why\rnot"))
        page = NotAnEnvelope("devicePage", 200, "text/\x1bhtml", "<h1>")
        self.assertEqual(str(page), "devicePage: HTTP 200, text/ html, "
                                    "is no answer of the interface: '<h1>'")

    def test_a_page_of_a_proxy_is_no_envelope(self):
        error, calls, _ = calling(html(404))
        self.assertIsInstance(error, NotAnEnvelope)
        self.assertEqual((error.http_status, error.excerpt, calls), (404, "<h1>Page</h1>", 1))
        for body in [b"7", b"{}", b'{"code":true}']:
            self.assertIsInstance(calling(Answer(200, JSON, body))[0], NotAnEnvelope)

    def test_a_redirect_is_described_with_its_address_or_without(self):
        begin = ("third-center-web/openapi/v1/kioskDashboard/onlineDevices: HTTP 302, no content "
                 "type, is no answer of the interface; it is a redirect ")
        end = ": check the base URL, and proxies between client and server: ''"
        for headers, address in [
            ({}, "without an address"),
            ({"location": "https://b/login"}, "to 'https://b/login', which is not followed"),
        ]:
            error, calls, _ = calling(Answer(302, headers, b""))
            self.assertEqual((str(error), calls), (begin + address + end, 1))

    def test_http_500_is_no_success_whatever_code_says(self):
        self.assertEqual(calling(answer(7, status=500))[0], WORKING)


class Answers(unittest.TestCase):
    def test_violations_name_their_fields(self):
        """REQ-7, REQ-8."""
        error, _, _ = calling(answer(["current must be a positive integer",
                                      "isOnline must be 0 or 1"], code=-1))
        self.assertIsInstance(error, InvalidRequest)
        self.assertEqual(error.fields, ["current", "isOnline"])

    def test_dollars_are_exact(self):
        """DASH-9."""
        body = b'{"code":200,"msg":"success","enMsg":null,"data":[{"amount":0.10},{"amount":7}]}'
        days, _, _ = calling(Answer(200, JSON, body))
        self.assertEqual([day["amount"] for day in days], [Decimal("0.1"), 7])
        self.assertIsInstance(days[0]["amount"], Decimal)
