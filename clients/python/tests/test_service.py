"""The package with a real server, through a proxy that answers some calls with a fault."""

import contextlib
import json
import os
import random
import re
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from kiosque_client import Account, InvalidRequest, NoAnswer, Refused, Timing
from kiosque_client.transport import HttpsTransport

from .service import GROUPS, PlainClient, Service, device_codes, order
from .test_session import in_threads

README = Path(__file__).parents[1] / "README.md"
GUIDE = Path(__file__).parents[3] / "docs/integrating.md"
ORDERS = 150
# Of many calls, so that every kind of call meets most of them.
FAULTS = ["every(7, cut-body)", "every(11, code500)", "every(13, http503)", "every(17, reset)",
          "every(3, shift-page)", "every(19, drop-row)", "every(9, slow(20ms))",
          "nth(2, lose-answer)", "nth(9, lose-answer)", "nth(6, evict)", "nth(70, evict)",
          "nth(1, expire(after=1s))", "nth(5, expire(after=2s))"]


class Observing(HttpsTransport):
    """Records the faults that calls met."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.faults = set()

    def send(self, path, body, token, timeout):
        try:
            answer = super().send(path, body, token, timeout)
        except NoAnswer as error:
            self.faults.add("cut" if error.is_cut else "closed")
            raise
        self.faults.update(answer.headers.get("kiosque-fault", "").split(", "))
        return answer


class WithServer(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.service = Service(directory.name)
        self.directory = self.service.directory
        self.stored = {group: {one["orderId"]: one for device in device_codes(group)
                               for one in [order(group, device, n) for n in range(ORDERS)]}
                       for group in GROUPS}
        self.service.import_orders(
            one for orders in self.stored.values() for one in orders.values())
        self.server = self.service.serve()
        self.addCleanup(self.server.close)

    def account(self, base_url, **arguments):
        account = Account(base_url, "ops", password="secret",
                          ca_file=self.service.certificate, **arguments)
        self.addCleanup(account.close)
        return account

    def test_eight_threads_in_three_groups_read_all_orders_through_faults(self):
        """AUTH-12, ENV-11, PAGE-8, ORD-26."""
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        proxy = self.service.proxy(self.server.base_url, FAULTS, seed)
        self.addCleanup(proxy.close)
        # Waits are short here; with this many faults, a call may meet several in a row.
        timing = Timing(sleep=lambda seconds: time.sleep(min(seconds, 0.02)), retries=20)
        transport = Observing(proxy.base_url, str(self.service.certificate))
        account = self.account(proxy.base_url, timing=timing, transport=transport)
        final = {group: dict(orders) for group, orders in self.stored.items()}
        for group in GROUPS:
            for device in device_codes(group):
                for new in [order(group, device, ORDERS + n) for n in range(20)]:
                    final[group][new["orderId"]] = new
                for changed in [order(group, device, n, refunded=100) for n in range(0, ORDERS, 9)]:
                    final[group][changed["orderId"]] = changed
        imported = threading.Event()

        def follow(group):
            """Keeps a copy, until it has the last order."""
            copy, changes = {}, account.group(group).changes(size=40)
            for change in changes:
                copy[change["order"]["orderId"]] = change["order"]
                if copy == final[group]:
                    changes.stop()
            return copy

        def walk(group):
            """Walks again and again, until the import is done; then once more."""
            walks, is_last = [], False
            while not is_last:
                is_last = imported.is_set()
                walks.append([one for device in device_codes(group)
                              for one in account.group(group).walk(device, size=25)])
            return walks

        def work(i):
            group = GROUPS[i % 3]
            if i < 3:
                return follow(group)
            if i < 6:
                return walk(group)
            if i == 6:
                self.service.import_orders(
                    one for orders in final.values() for one in orders.values())
                imported.set()
                return None
            return [account.group(one).order(internal_no=f"I{one}-1-{n}")
                    for n in range(10) for one in GROUPS]

        followed = in_threads(8, work)
        seen = {"cut", "closed", "code500", "http503", "shift-page", "drop-row", "slow", "evict"}
        self.assertLessEqual(seen, transport.faults)
        for result in followed:
            self.assertNotIsInstance(result, BaseException)
        for group, copy, walks in zip(GROUPS, followed[:3], followed[3:6]):
            self.assertEqual(copy, final[group])
            for read in walks:
                ids = [one["orderId"] for one in read]
                self.assertEqual(len(ids), len(set(ids)), "no order twice")
                self.assertLessEqual(self.stored[group].keys(), set(ids), "no order lost")
                for one in read:
                    self.assertIn(one, [final[group][one["orderId"]],
                                        self.stored[group].get(one["orderId"])])
        details = [(one["orderId"], one["detailList"][0]["goodsName"]) for one in followed[7]]
        self.assertEqual(details, [(f"{group}-1-{n}", f"Cola {n}")
                                   for n in range(10) for group in GROUPS])
        plain = PlainClient(self.server.base_url, self.service.certificate)
        for group, walks in zip(GROUPS, followed[3:6]):
            plain.select(group)
            listed = [one for device in device_codes(group) for one in plain.orders(device)]
            self.assertEqual(walks[-1], listed)

    def test_all_calls_answer(self):
        account = self.account(self.server.base_url)
        north = account.group("north")
        self.assertEqual([group.id for group in account.groups()], GROUPS)
        codes = device_codes("north")
        self.assertEqual([one["deviceCode"] for one in north.devices()], codes)
        self.assertEqual([one["deviceCode"] for one in north.devices({"deviceCode": codes[1]})],
                         codes[1:])
        self.assertEqual({one["orderId"]: one for one in north.orders()}, self.stored["north"])
        march = {"startTimestamp": 1772319600000, "endTimestamp": 1774994400000}
        self.assertEqual(north.order("Tnorth-1-3")["orderId"], "north-1-3")
        self.assertEqual(north.summary(march)["timeZone"], "Europe/Paris")
        self.assertEqual(north.best_selling_product(march)["goodsId"], "cola")
        self.assertIsNone(north.best_selling_product({"startTimestamp": 0, "endTimestamp": 1}))
        sales = north.sales_by_device(march)
        self.assertEqual([one["orderCount"] for one in sales], [ORDERS, ORDERS])
        self.assertEqual(len(north.sales_trend(march)), 31)
        self.assertEqual([one["deviceCode"] for one in north.device_aisle()], codes)
        self.assertEqual(north.device_profile()["list"], north.devices())
        self.assertEqual(north.online_devices()["totalCount"], 2)
        with self.assertRaises(InvalidRequest) as caught:
            north.summary({"startTimestamp": 2, "endTimestamp": 1})
        self.assertEqual(caught.exception.fields, ["startTimestamp"])
        with self.assertRaises(Refused) as caught:
            north.order("absent")
        self.assertEqual((caught.exception.code, caught.exception.en_msg),
                         (-1, "Order does not exist"))
        self.assertTrue(caught.exception.request_id)

    def test_an_answer_whose_head_trickles_ends_with_the_timeout(self):
        certificate = self.service.certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        listening = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listening.close)

        def trickle():
            with contextlib.suppress(OSError):
                connection = context.wrap_socket(listening.accept()[0], server_side=True)
                with connection:
                    connection.sendall(b"HTTP/1.1 200 OK\r\n")
                    while True:
                        connection.sendall(b"x: y\r\n")
                        time.sleep(0.05)

        server = threading.Thread(target=trickle)
        server.start()
        base_url = f"https://127.0.0.1:{listening.getsockname()[1]}/v8"
        transport = HttpsTransport(base_url, str(certificate))
        with self.assertRaises(NoAnswer) as caught:
            transport.send("token", b"{}", None, 1.0)
        transport.close()
        server.join()
        self.assertIn("timed out", str(caught.exception))

    def test_two_processes_with_one_session_file_share_one_session(self):
        """AUTH-11: one login for both, and no token is refused."""
        session_file = str(self.directory / "session")
        arguments = [self.server.base_url, str(self.service.certificate), session_file]
        script = [sys.executable, "-W", "error", "-m", "tests.shares_session"]
        processes = [subprocess.Popen(script + arguments + [group], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True,
                                      cwd=Path(__file__).parents[1])
                     for group in ["north", "south"]]
        for process in processes:
            self.assertEqual(process.stdout.readline(), "ready\n")
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        printed = [process.communicate()[0].split() for process in processes]
        counts = [[int(number) for number in line] for line in printed]
        self.assertEqual([line[:2] for line in counts], [[15, 15 * 2 * ORDERS]] * 2)
        self.assertEqual(sum(line[2] for line in counts), 1, "logins")
        self.assertEqual([line[3] for line in counts], [0, 0], "refused tokens")
        self.assertEqual(self.service.logins(), 1)

    def test_two_accounts_without_a_session_file_end_each_others_session(self):
        """The counts of the test before can fail."""
        accounts = [self.account(self.server.base_url) for _ in range(2)]
        for account in accounts + accounts[:1]:
            account.group("north").online_devices()
        self.assertEqual(self.service.logins(), 3)

    def test_the_program_of_the_guide_copies_all_orders(self):
        """The program of the section In Python, through faults; run again, it adds the changes."""
        blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
        [program] = [block for block in blocks if "import Account" in block and "orders.db" in block]
        script, password = self.directory / "copy_orders.py", self.directory / "password"
        script.write_text(program)
        password.write_text("secret\n")
        faults = ["nth(4, evict)", "nth(2, cut-body(changes))"]
        proxy = self.service.proxy(self.server.base_url, faults, 1)
        self.addCleanup(proxy.close)
        environment = {**os.environ, "KIOSQUE_REMOTE_URL": proxy.base_url, "KIOSQUE_REMOTE_USERNAME": "ops",
                       "KIOSQUE_REMOTE_PASSWORD_FILE": str(password),
                       "KIOSQUE_REMOTE_CA_FILE": str(self.service.certificate)}
        for refunded in [0, 100]:
            changed = order("west", "west-1", 7, refunded)
            self.service.import_orders([changed])
            self.stored["west"][changed["orderId"]] = changed
            subprocess.run([sys.executable, "-W", "error", str(script)], check=True,
                           cwd=self.directory, env=environment)
            self.assertEqual(self.copied(), self.stored)

    def test_the_example_of_the_readme_reads_all_orders(self):
        [example] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        example = example.replace("https://kiosque.example.com/v8", self.server.base_url)
        (self.directory / "acme.pw").write_text("secret\n")
        # The certificate is among the system's, as it is for a reader of the example.
        environment = {**os.environ, "SSL_CERT_FILE": str(self.service.certificate)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example.replace('"acme"', '"ops"')],
            check=True, cwd=self.directory, env=environment, stdout=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:2], ["North 2 devices", "north-1-0 1.50 EUR"])
        self.assertEqual(len(lines), len(GROUPS) * (1 + 2 * ORDERS + 1))

    def copied(self):
        copied = {group: {} for group in GROUPS}
        with contextlib.closing(sqlite3.connect(self.directory / "orders.db")) as db:
            for group, order_id, record in db.execute("select * from orders"):
                copied[group][order_id] = json.loads(record)
        return copied
