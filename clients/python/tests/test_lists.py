"""Lists: walks over orders, devices, and changes."""

import json
import random
import unittest

from kiosque_client import ListChanged, OrderWalk, SetupError, WrongGroup

from .fake_server import FakeServer, account, answer


def page(orders, current, size, total=None):
    """A page of a list with these orders, the oldest first."""
    rows = orders[::-1][(current - 1) * size:current * size]
    return {"total": len(orders) if total is None else total, "current": current, "size": size,
            "records": [{"orderId": f"o{order}"} for order in rows]}


def ids(orders):
    return [order["orderId"] for order in orders]


class Walks(unittest.TestCase):
    def test_a_walk_neither_loses_nor_repeats_an_order_while_orders_arrive(self):
        """PAGE-8, with single answers that lack a row or are a page of another time."""
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        for _ in range(200):
            size, listed, arrivals = chance.randrange(2, 30), list(range(chance.randrange(200))), 60
            asked = []

            def read(current, size):
                nonlocal arrivals
                asked.append(current)
                answer = page(listed, current, size)
                if len(asked) % 9 == 0 and answer["records"]:
                    answer["records"].pop()
                if arrivals:
                    arrivals -= 1
                    more = chance.randrange(size)
                    listed.extend(range(len(listed), len(listed) + more))
                return answer

            walk = OrderWalk("d", read, size)
            read_ids = ids(walk)
            self.assertEqual(read_ids, [f"o{order}" for order in range(len(read_ids))])
            self.assertEqual(walk.last_ordinal, len(read_ids))
            later = OrderWalk("d", lambda *asked: page(listed, *asked), size, walk.last_ordinal)
            self.assertEqual(len(ids(later)), len(listed) - walk.last_ordinal)

    def test_each_request_reads_most_of_a_page_while_orders_arrive(self):
        """PAGE-8: orders that arrive cause no request for each few of them."""
        listed, asked = list(range(12_000)), []

        def read(current, size):
            asked.append(current)
            answer = page(listed, current, size)
            if len(asked) < 1_000:
                listed.extend(range(len(listed), len(listed) + 2))
            return answer

        reads = iter(OrderWalk("d", read))
        for _ in range(12_000):
            next(reads)
        self.assertLess(len(asked), 30)

    def test_a_later_walk_compares_the_last_order_of_the_earlier_one(self):
        listed = list(range(10))
        later = OrderWalk("d", lambda *asked: page(listed, *asked), 4, 8, "o7")
        self.assertEqual((ids(later), later.last_id), (["o8", "o9"], "o9"))
        with self.assertRaises(ListChanged) as caught:
            list(OrderWalk("d", lambda *asked: page(listed, *asked), 4, 8, "o6"))
        self.assertEqual(str(caught.exception), "d: order 8 was o6 and is o7")

    def failing(self, change):
        """Walks over a list of 10 orders that changes after the second page."""
        asked = []

        def read(current, size):
            asked.append(current)
            listed = list(range(10))
            return page(listed, current, size) if len(asked) < 3 else change(listed, current, size)

        walk, read_ids = OrderWalk("d", read, 4), []
        with self.assertRaises(ListChanged) as caught:
            for order in walk:
                read_ids.append(order["orderId"])
        self.assertEqual(read_ids, ["o0", "o1"])
        return str(caught.exception)

    def test_a_list_that_does_not_only_grow_is_an_error(self):
        shorter = self.failing(lambda listed, current, size: page(listed[9:], current, size))
        self.assertEqual(shorter, "d: the list has 1 orders, and had 2")
        moved = self.failing(lambda listed, current, size: page([99] + listed, 3, size))
        self.assertEqual(moved, "d: order 2 was o1 and is o0")

        def drop(listed, current, size):
            dropped = page(listed, 2, size)
            dropped["records"].pop()
            return dropped
        self.assertEqual(self.failing(drop), "d: page 2 has 3 orders instead of 4")
        newest = self.failing(lambda listed, current, size: page(listed, 1, size))
        self.assertEqual(newest, "d: orders arrive faster than 101 pages")

    def test_numbers_that_no_walk_can_have_are_refused_at_once(self):
        server = FakeServer()
        north = account(server)[0].group("north")
        for given, said in [
            ({"after": -5}, "after is -5; an ordinal is at least 0, before the first order"),
            ({"size": 0}, "size is 0; a page has at least 1 order"),
        ]:
            with self.assertRaises(SetupError) as caught:
                north.walk("d", **given)
            self.assertEqual(str(caught.exception), said)
        self.assertEqual(server.calls, [])

    def test_a_server_may_have_a_smaller_limit_for_pages(self):
        walk = OrderWalk("d", lambda current, size: page(list(range(10)), current, min(size, 3)))
        self.assertEqual(ids(walk), [f"o{order}" for order in range(10)])


class SmallPages(unittest.TestCase):
    """PAGE-4: a server may allow small pages only, and refuse others."""

    def setUp(self):
        self.sizes = []

        def choose(path, body):
            query = dict(one.split("=") for one in path.partition("?")[2].split("&") if one)
            size = int(query.get("size") or body["size"])
            self.sizes.append(size)
            if size > 70:
                return answer(["size must be at most 70"], code=-1)
            if "devicePage" in path:
                listed = page(list(range(150)), int(query["current"]), size)
                for row in listed["records"]:
                    row.update(deviceCode=row["orderId"], groupId="north")
                return answer(listed)
            if "queryOrderList" in path:
                return answer(page(list(range(100)), int(query["current"]), size))
            return answer({"records": [], "next": "c", "more": False})

        class Server(FakeServer):
            def send(self, path, body, token, timeout):
                given = super().send(path, body, token, timeout)
                is_list = path.startswith("third-center-web/")
                return choose(path, json.loads(body)) if is_list else given

        self.account = account(Server())[0]
        self.north = self.account.group("north")

    def test_a_list_of_devices_is_read_in_pages_that_the_server_allows(self):
        self.assertEqual(len(self.north.devices()), 150)
        self.assertEqual(self.sizes, [500, 250, 125, 62, 62, 62])

    def test_a_walk_is_read_in_pages_that_the_server_allows(self):
        for asked in [[500, 250, 125, 62, 50, 50], [62, 50, 50]]:
            self.sizes.clear()
            self.assertEqual(len(ids(self.north.walk("d"))), 100)
            self.assertEqual(self.sizes, asked)

    def test_changes_are_read_in_pages_that_the_server_allows(self):
        self.assertEqual(list(self.north.changes(follow=False)), [])
        self.assertEqual(self.sizes, [500, 250, 125, 62])


def devices(total, *codes, group="north"):
    records = [{"deviceCode": code, "groupId": group} for code in codes]
    return answer({"total": total, "current": 1, "size": 500, "records": records})


class Devices(unittest.TestCase):
    def read(self, *pages):
        server = FakeServer(
            lambda name, before: pages[before % len(pages)] if name == "devicePage" else None)
        return account(server)[0].group("north").devices()

    def test_a_list_that_changes_is_read_again(self):
        pages = [devices(501, "b"), devices(502, "c"), devices(2, "a", "b")]
        self.assertEqual([one["deviceCode"] for one in self.read(*pages)], ["a", "b"])
        with self.assertRaises(ListChanged):
            self.read(devices(501, "a"), devices(502, "a"))

    def test_a_device_of_another_group_is_an_error(self):
        with self.assertRaises(WrongGroup):
            self.read(devices(1, "a", group="south"))


def change(number):
    return {"changeNo": number, "order": {"orderId": f"o{number}"}}


class Changes(unittest.TestCase):
    ANSWERS = [answer({"records": [change(1), change(2)], "next": "c2", "more": True}),
               answer({"records": [change(3)], "next": "c3", "more": False}),
               answer({"records": [], "next": "c3", "more": False}),
               answer({"records": [change(4)], "next": "c4", "more": False})]

    def group(self):
        server = FakeServer(lambda name, before: self.ANSWERS[before] if name == "changes" else None)
        return account(server)[0].group("north")

    def test_without_follow_they_end_with_the_last_one(self):
        changes = self.group().changes(follow=False)
        pages = [([one["changeNo"] for one in page.records], page.cursor)
                 for page in changes.pages()]
        self.assertEqual(pages, [([1, 2], "c2"), ([3], "c3")])

    def test_the_cursor_is_behind_the_pages_that_were_returned(self):
        changes = self.group().changes()
        cursors = []
        for one in changes:
            cursors.append((one["changeNo"], changes.cursor))
            if one["changeNo"] == 4:
                changes.stop()
        self.assertEqual(cursors, [(1, None), (2, None), (3, "c2"), (4, "c3")])
        self.assertEqual(changes.cursor, "c4")
