"""The rules by which threads share a session."""

import tempfile
import threading
import time
import traceback
import unittest
from pathlib import Path

from kiosque_client import Account, NoAnswer, NotAnEnvelope, Refused, ServerFailed, SetupError
from kiosque_client import TokenRefused, WrongCredentials, WrongGroup

from .fake_server import FakeServer, account, answer, html


def in_threads(count, work):
    """Runs work(i) in threads, and returns the results."""
    results = [None] * count

    def run(i):
        try:
            results[i] = work(i)
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=[i]) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Sharing(unittest.TestCase):
    def test_every_call_is_answered_for_its_own_group(self):
        """AUTH-12: eight threads in three groups share one login, and no switch is under a call."""
        server = FakeServer()
        acme, _ = account(server)
        server.meanwhile = lambda name: time.sleep(0.001)

        def work(i):
            group = acme.group(server.groups[i % 3])
            return [group.online_devices()["group"] == group.id for _ in range(50)]

        self.assertEqual(in_threads(8, work), [[True] * 50] * 8)
        self.assertEqual(server.violations, [])
        self.assertEqual(server.calls.count("token"), 1)

    def test_calls_of_one_group_run_together(self):
        server = FakeServer()
        acme, _ = account(server)
        barrier = threading.Barrier(4)
        server.meanwhile = lambda name: barrier.wait()
        results = in_threads(4, lambda i: acme.group("south").online_devices()["group"])
        self.assertEqual(results, ["south"] * 4)
        self.assertEqual(server.calls.count("switchGroup"), 1)

    def test_many_refusals_of_one_token_cause_one_login(self):
        server = FakeServer(lambda name, before:
                            answer(code=-4) if name == "onlineDevices" and before < 8 else None)
        acme, _ = account(server)
        barrier = threading.Barrier(8)
        server.meanwhile = lambda name: server.calls.count(name) <= 8 and barrier.wait()
        results = in_threads(8, lambda i: acme.group("north").online_devices()["group"])
        self.assertEqual(results, ["north"] * 8)
        self.assertEqual(server.calls.count("token"), 2)
        self.assertEqual(server.violations, [])

    def test_a_refusal_of_an_earlier_token_leaves_the_session(self):
        server = FakeServer()
        acme, _ = account(server)
        acme.group("south").online_devices()
        acme._session.refuse("TOKEN-1")
        acme.group("south").online_devices()
        self.assertEqual(server.calls.count("token"), 1)

    def test_a_renewed_session_is_in_the_group_again(self):
        """AUTH-4: a login selects the default group."""
        server = FakeServer()
        acme, _ = account(server)
        south = acme.group("south")
        south.online_devices()
        server.end_session()
        self.assertEqual(south.online_devices()["group"], "south")
        session = [name for name in server.calls if name != "onlineDevices"]
        self.assertEqual(session, ["token", "switchGroup"] * 2)

    def test_a_session_is_renewed_a_minute_before_it_ends(self):
        """AUTH-6: no call meets -4."""
        server = FakeServer()
        acme, _ = account(server)
        north = acme.group("north")
        for passed, logins in [(7139, 1), (1, 2), (7140, 3)]:
            north.online_devices()
            server.now += passed
            north.online_devices()
            self.assertEqual(server.calls.count("token"), logins)

    def test_an_end_in_the_past_is_ignored(self):
        """The clocks differ: the session is used until it is refused."""
        server = FakeServer()
        server.lifetime = -10.0
        acme, _ = account(server)
        for _ in range(3):
            acme.group("north").online_devices()
        self.assertEqual(server.calls.count("token"), 1)

    def test_the_groups_are_those_of_the_login(self):
        acme, _ = account(FakeServer())
        names = [(group.id, group.name) for group in acme.groups()]
        self.assertEqual(names, [("north", "North"), ("south", "South"), ("west", "West")])

    def test_closing_leaves_the_session_and_a_log_out_ends_it(self):
        server = FakeServer()
        with account(server)[0] as acme:
            acme.groups()
            acme.log_out()
            acme.groups()
        self.assertEqual(server.calls, ["token", "logout", "token", "close"])


class Failures(unittest.TestCase):
    def test_a_lost_answer_of_a_switch_is_followed_by_a_login(self):
        """ENV-11: the token is unknown then."""
        for lost in [NoAnswer("switchGroup", "closed"), answer("busy", code=500, status=500),
                     html(503)]:
            server = FakeServer(
                lambda name, before: lost if (name, before) == ("switchGroup", 0) else None)
            acme, sleeps = account(server)
            self.assertEqual(acme.group("south").online_devices()["group"], "south")
            self.assertEqual(server.calls, ["token", "switchGroup"] * 2 + ["onlineDevices"])
            self.assertEqual(sleeps.waits, [1.0])

    def test_logins_and_switches_are_repeated_three_times(self):
        for failing in ["token", "switchGroup"]:
            server = FakeServer(lambda name, before: html(503) if name == failing else None)
            acme, sleeps = account(server)
            with self.assertRaises(ServerFailed):
                acme.group("south").online_devices()
            self.assertEqual(server.calls.count(failing), 4)
            self.assertEqual(sleeps.waits, [1.0, 2.0, 4.0])

    def test_a_wrong_password_is_sent_once(self):
        """AUTH-8: until the file has another one."""
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "password")
            file.write_text("wrong\n")
            server = FakeServer()
            acme, _ = account(server, password=None, password_file=file)
            for _ in range(3):
                with self.assertRaises(WrongCredentials):
                    acme.groups()
            self.assertEqual(server.calls, ["token"])
            file.write_text("secret\r\n")
            self.assertEqual(len(acme.groups()), 3)

    def test_a_refused_login_is_repeated_after_the_time_that_it_says(self):
        """LIM-7."""
        server = FakeServer(lambda name, before:
                            answer(code=-1, retry_after="90") if before == 0 else None)
        acme, _ = account(server)
        for passed in [0, 89]:
            server.now += passed
            with self.assertRaises(Refused) as caught:
                acme.groups()
            self.assertEqual((caught.exception.code, caught.exception.retry_after), (-1, 90))
        self.assertEqual(server.calls, ["token"])
        server.now += 1
        acme.groups()

    def test_a_session_that_others_replace_is_taken_back_later_each_time(self):
        server = FakeServer(lambda name, before:
                            answer(code=-4) if name == "onlineDevices" else None)
        acme, sleeps = account(server)
        with self.assertRaises(TokenRefused):
            acme.group("north").online_devices()
        self.assertEqual(server.calls.count("onlineDevices"), 6)
        self.assertEqual(sleeps.waits, [0.25, 0.5, 1.0, 2.0])

    def test_a_session_is_as_old_as_its_login(self):
        """A switch continues it: evictions that are minutes apart are no series."""
        server = FakeServer()
        acme, sleeps = account(server)
        for _ in range(5):
            acme.group("north").online_devices()
            server.now += 120
            acme.group("south").online_devices()
            server.end_session()
        self.assertEqual(sleeps.waits, [])

    def test_the_error_of_a_login_has_the_number_of_attempts(self):
        server = FakeServer(lambda name, before: NoAnswer("token", "refused"))
        acme, _ = account(server)
        with self.assertRaises(NoAnswer) as caught:
            acme.groups()
        self.assertEqual((caught.exception.tries, server.calls), (4, ["token"] * 4))

    def test_a_refused_switch_leaves_the_session(self):
        """AUTH-19."""
        server = FakeServer()
        acme, _ = account(server)
        with self.assertRaises(Refused) as caught:
            acme.group("elsewhere").online_devices()
        self.assertEqual(caught.exception.code, -1)
        acme.group("north").online_devices()
        self.assertEqual(server.calls, ["token", "switchGroup", "onlineDevices"])

    def test_a_switch_to_another_group_than_the_named_one_is_an_error(self):
        server = FakeServer()
        server._choose = lambda name, before: (
            server._grant("west") if name == "switchGroup" else None)
        acme, _ = account(server)
        with self.assertRaises(WrongGroup) as caught:
            acme.group("south").online_devices()
        self.assertEqual((caught.exception.wanted, caught.exception.got), ("south", "west"))
        self.assertNotIn("onlineDevices", server.calls)

    def test_a_token_that_cannot_be_sent_is_named(self):
        """AUTH-3: the login is not repeated, and the token is not shown."""
        for token in ["s3cret\r\nx: y", "s3cret\0", "s3crét"]:
            data = {"accessToken": token, "groupId": "north", "expiresIn": 0}
            server = FakeServer(lambda name, before: answer(data) if name == "token" else None)
            acme, sleeps = account(server)
            with self.assertRaises(NotAnEnvelope) as caught:
                acme.groups()
            self.assertEqual(
                str(caught.exception),
                "platform-auth/auth/third-api/token: HTTP 200, application/json; charset=UTF-8, is "
                "no answer of the interface: 'the accessToken has a character that no header can "
                "have'")
            self.assertEqual((server.calls, sleeps.waits), (["token"], []))

    def test_data_of_another_kind_is_no_login(self):
        for data in [None, {}, {"accessToken": "SECRET-1"}, "text"]:
            acme, _ = account(FakeServer(lambda name, before: answer(data)))
            with self.assertRaises(NotAnEnvelope) as caught:
                acme.groups()
            self.assertNotIn("SECRET", str(caught.exception))

    def test_no_error_and_no_repr_has_a_password_or_a_token(self):
        odd = [answer(code=-1), answer(code=-2), html(404), html(503), NoAnswer("token", "closed"),
               answer({"accessToken": "TOKEN-9", "groupId": "north"}, status=500)]
        for failing in ["token", "switchGroup", "onlineDevices"]:
            for chosen in odd:
                server = FakeServer(lambda name, before: chosen if name == failing else None)
                acme, _ = account(server)
                with self.assertRaises(Exception) as caught:
                    acme.group("south").online_devices()
                text = "".join(traceback.format_exception(caught.exception)) + repr(acme)
                text += repr(acme._session._held) + repr(acme.group("south")) + repr(chosen)
                self.assertNotIn("TOKEN-", text)
                self.assertNotIn("secret", text)

    def test_arguments_that_cannot_be_used_are_refused_at_once(self):
        server = FakeServer()
        for arguments in [{"password": None}, {"password_file": "x"}]:
            with self.assertRaises(SetupError):
                account(server, **arguments)
        with self.assertRaises(SetupError):
            account(server, transport=None, ca_file="/no/such/file")
        self.assertEqual(server.calls, [])

    def test_a_password_file_that_cannot_be_used_is_named(self):
        server = FakeServer()
        limit = "it has more than 4194304 bytes, the limit; check that it is the intended one"
        with tempfile.TemporaryDirectory() as directory:
            empty, two, latin = (Path(directory, name) for name in ["empty", "two", "latin"])
            empty.write_text("\n")
            two.write_text("a\nb\n")
            latin.write_bytes(b"\xe9\n")
            for file, said in [
                ("/no/such/file", "cannot read the password file FILE: No such file or directory"),
                (directory, "cannot read the password file FILE: Is a directory"),
                ("/dev/zero", f"cannot read the password file FILE: {limit}"),
                (latin, "cannot read the password file FILE: it is not UTF-8 text"),
                (empty, "the password file FILE is empty; write the password to it, on one line"),
                (two, "the password file FILE has more than one line; write the password to it, on "
                      "one line"),
            ]:
                acme, _ = account(server, password=None, password_file=file)
                with self.assertRaises(SetupError) as caught:
                    acme.groups()
                self.assertEqual(str(caught.exception), said.replace("FILE", str(file)))
        self.assertEqual(server.calls, [])

    def test_a_file_of_certificates_is_read_up_to_the_limit(self):
        limit = "it has more than 4194304 bytes, the limit; check that it is the intended one"
        for file, said in [("/dev/zero", limit),
                           ("/dev/null", "expected a certificate in PEM, found none"),
                           ("/no/such/file", "No such file or directory")]:
            with self.assertRaises(SetupError) as caught:
                account(FakeServer(), transport=None, ca_file=file)
            self.assertEqual(str(caught.exception), f"{file}: no certificates to trust: {said}")

    def test_a_password_in_the_base_url_is_refused_and_not_shown(self):
        for url in ["https://me:secret@a.example/v8", "http://me:secret@a.example/v8",
                    "https://me:se/cret@a.example/v8"]:
            with self.assertRaises(SetupError) as caught:
                Account(url, "acme", password="x", transport=FakeServer())
            self.assertEqual(str(caught.exception),
                             "the base URL contains a user name or a password, which is not sent; "
                             "write it like https://kiosque.example.com/v8")


class SessionFiles(unittest.TestCase):
    """Accounts with one session file share one session, as processes do."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = Path(directory.name, "session")
        self.server = FakeServer()

    def account(self, **arguments):
        return account(self.server, session_file=self.file, **arguments)[0]

    def test_they_do_not_end_each_others_session(self):
        accounts = [self.account() for _ in range(4)]
        self.server.meanwhile = lambda name: time.sleep(0.001)

        def work(i):
            group = accounts[i % 4].group(self.server.groups[i % 3])
            return [group.online_devices()["group"] == group.id for _ in range(20)]

        self.assertEqual(in_threads(8, work), [[True] * 20] * 8)
        self.assertEqual(self.server.violations, [])
        self.assertEqual(self.server.calls.count("token"), 1)

    def test_their_calls_in_one_group_run_together(self):
        accounts = [self.account() for _ in range(3)]
        accounts[0].group("south").online_devices()
        barrier = threading.Barrier(3)
        self.server.meanwhile = lambda name: barrier.wait()
        results = in_threads(3, lambda i: accounts[i].group("south").online_devices()["group"])
        self.assertEqual(results, ["south"] * 3)

    def test_a_later_one_needs_no_login(self):
        self.account().group("south").online_devices()
        self.account().group("south").online_devices()
        self.assertEqual(self.server.calls, ["token", "switchGroup"] + ["onlineDevices"] * 2)

    def test_a_refused_token_is_renewed_by_one(self):
        accounts = [self.account() for _ in range(3)]
        for acme in accounts:
            acme.group("north").online_devices()
        self.server.end_session()
        for acme in accounts:
            acme.group("north").online_devices()
        self.assertEqual(self.server.calls.count("token"), 2)

    def test_a_file_of_another_account_or_without_sense_is_not_used(self):
        self.account().groups()
        options = {"password": "secret", "transport": self.server, "session_file": self.file}
        Account("https://kiosque.example.com/v8", "other", **options).groups()
        Account("https://other.example.com/v8", "acme", **options).groups()
        for text in ["{", "[]", '{"session": 7}']:
            self.file.write_text(text)
            self.account().groups()
        self.assertEqual(self.server.calls, ["token"] * 6)

    def test_a_file_without_an_end_is_no_session(self):
        """It is neither read to its end nor replaced."""
        self.file.symlink_to("/dev/zero")
        with self.assertRaises(SetupError) as caught:
            self.account().groups()
        self.assertEqual(str(caught.exception),
                         f"cannot use the session in {self.file}: it has more than 4194304 bytes, "
                         "the limit; check that it is the intended one")
        self.assertTrue(self.file.is_symlink())

    def test_a_token_of_the_file_that_cannot_be_sent_is_not_used(self):
        self.account().groups()
        self.file.write_text(self.file.read_text().replace("TOKEN-1", "TOKEN-1\\r\\n"))
        self.account().groups()
        self.assertEqual(self.server.calls, ["token"] * 2)

    def test_only_its_owner_may_read_it(self):
        self.account().groups()
        self.assertEqual(self.file.stat().st_mode & 0o077, 0)
        with self.assertRaises(SetupError):
            account(self.server, session_file="/no/such/directory/session")[0].groups()
