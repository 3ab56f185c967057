"""Real servers, with data of a test. The variable KIOSQUE_PROGRAM has the path of the program."""

import json
import os
import ssl
import subprocess
import threading
import urllib.request
from pathlib import Path

if "KIOSQUE_PROGRAM" not in os.environ:
    raise RuntimeError("set KIOSQUE_PROGRAM to the path of the program kiosque")
PROGRAM = os.environ["KIOSQUE_PROGRAM"]
GROUPS = ["north", "south", "west"]
AUTH, BUSINESS = "platform-auth/auth/third-api", "third-center-web/openapi/v1"


def fleet():
    """A fleet of three groups with two devices each, and one account."""
    accounts = [{"login_name": "ops", "password": "secret", "third_party_api": True,
                 "groups": GROUPS}]
    groups = [{"id": group, "name": group.title()} for group in GROUPS]
    product = {"id": "cola", "name": "Cola 330 ml", "currency": "EUR", "default_price": 150}
    aisle = {"code": "101", "product": "cola", "price": 150, "stock": 8, "capacity": 12}
    devices = [{"code": code, "name": f"Device {code}", "group": group, "aisle": [aisle]}
               for group in GROUPS for code in device_codes(group)]
    return {"group": groups, "account": accounts, "product": [product], "device": devices}


def device_codes(group):
    return [f"{group}-1", f"{group}-2"]


def order(group, device, number, refunded=0):
    """A record as integrators see it, all of whose fields differ between orders."""
    second = f"{number % 60:02}"
    start = f"2026-03-{1 + number // 60 % 28:02} 08:{number % 60:02}:{second}"
    paid = start[:11] + "09" + start[13:]
    amount = 150 + number
    line = {"goodsId": "cola", "goodsName": f"Cola {number}", "aisleCode": "101", "count": 1,
            "goodsPrice": amount, "salePrice": amount, "payAmount": amount, "shipmentStatus": 1,
            "shipmentErrCode": 0, "shipmentFailDesc": None}
    return {"tradeNo": f"T{device}-{number}", "tradeNoIn": f"I{device}-{number}",
            "orderId": f"{device}-{number}", "deviceCode": device, "currency": "EUR",
            "totalAmount": amount, "payAmount": amount, "refundAmount": refunded,
            "payStatus": 4 if refunded else 1, "shipmentStatus": 1, "payChannelName": "Card",
            "shipmentTime": paid, "cardNumber": None, "phone": None, "tradeStartTime": start,
            "payEndTime": paid, "payEndDate": paid, "detailVOList": [line]}


class Served:
    """A process that prints its base URL, until it is closed."""

    def __init__(self, arguments):
        self.process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.printed = []
        for line in self.process.stdout:
            self.printed.append(line)
            if line.endswith("/v8\n") and "https://" in line:
                self.base_url = "https://" + line.strip().rsplit("https://", 1)[1]
                break
        else:
            raise AssertionError("".join(self.printed))
        # Nothing else may fill the pipe.
        self.reader = threading.Thread(target=self.process.stdout.read)
        self.reader.start()

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Service:
    """A directory with data, and a server for it."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.data = self.directory / "data"
        (self.directory / "fleet.json").write_text(json.dumps(fleet()))
        self.run("apply", str(self.directory / "fleet.json"), "--timezone", "Europe/Paris")
        self.certificate = self.data / "tls/cert.pem"

    def run(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments, "--data", str(self.data)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return done.stdout

    def serve(self):
        return Served(["serve", "--data", str(self.data), "--listen", "127.0.0.1:0",
                       "--operator-listen", "127.0.0.1:0"])

    def proxy(self, base_url, faults, seed):
        """A proxy that answers some calls with a fault, with the certificate of the server."""
        given = [argument for fault in faults for argument in ("--fault", fault)]
        return Served(["fault-proxy", base_url, "--listen", "127.0.0.1:0", "--seed", str(seed),
                       "--ca-file", str(self.certificate), "--tls-cert", str(self.certificate),
                       "--tls-key", str(self.certificate.with_name("key.pem")), *given])

    def import_orders(self, orders):
        file = self.directory / "orders.ndjson"
        unknown = {"payEndDate"}
        lines = [{key: value for key, value in one.items() if key not in unknown} for one in orders]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run("import", "orders", str(file), "--strict")

    def logins(self):
        """The number of logins that the audit trail has."""
        return self.run("audit", "--event", "login", "--output", "json").count('"login"')


class PlainClient:
    """Makes calls with the standard library alone, to compare with what the package returns."""

    def __init__(self, base_url, certificate):
        self.base_url = base_url
        self.trusted = ssl.create_default_context(cafile=certificate)
        self.token = self.post(f"{AUTH}/token", {"username": "ops", "password": "secret"})

    def post(self, path, body):
        headers = {"content-type": "application/json",
                   "third-api-token": getattr(self, "token", {"accessToken": ""})["accessToken"]}
        request = urllib.request.Request(f"{self.base_url}/{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, context=self.trusted) as answer:
            envelope = json.load(answer)
        if envelope["code"] != 200:
            raise AssertionError(envelope)
        return envelope["data"]

    def select(self, group):
        self.token = self.post(f"{AUTH}/switchGroup", {"groupId": group})

    def orders(self, device):
        """The orders of a device in the selected group, the oldest first."""
        path = f"{BUSINESS}/kioskOrder/queryOrderList?current=1&size=1000"
        page = self.post(path, {"deviceCode": device, "includeHistory": True})
        return page["records"][::-1]
