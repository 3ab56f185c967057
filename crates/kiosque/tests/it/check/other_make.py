"""A server of the interface of another make, with eight mistakes.

1. A login does not end the earlier session (AUTH-11).
2. `expiresIn` is a duration (AUTH-6).
3. An unknown path is answered with HTTP 200 (ADDR-3).
4. The content type has no charset (ENV-8).
5. `X-Locale` is ignored (ENV-4).
6. A violation is a text (ENV-7).
7. A page past the end is the last page (PAGE-6).
8. The sales trend leaves days without sales out (DASH-21).
"""
import json
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

AUTH, BUSINESS = "/v8/platform-auth/auth/third-api/", "/v8/third-center-web/openapi/v1/"
GROUPS = {"east": ["E1", "E2"], "west": ["W1"]}
TEXTS = {
    "token": (-4, "Token is incorrect or invalid,please login again"),
    "none": (-3, "Request head doesnot have token"),
    "password": (-2, "User name or password is wrong."),
    "group": (-1, "Group does not exist or has been deactivated"),
    "scope": (-1, "Requested device/group is not within your permission scope"),
    "order": (-1, "No such order"),
    "field": (-1, "A field is missing or wrong"),
    "body": (500, "system error"),
}
sessions, count = {}, 0


def order(number):
    time = f"2026-03-02 10:00:{number:02}"
    return {
        "tradeNo": f"T{number}", "orderId": f"O{number}", "currency": "EUR", "totalAmount": 250,
        "payAmount": 250, "shipmentTime": None, "cardNumber": None, "phone": None,
        "tradeStartTime": time, "payEndTime": time, "payEndDate": time, "detailVOList": [],
    }


ORDERS = [order(number) for number in range(5, 0, -1)]


class Refused(Exception):
    pass


def page(records, query):
    current, size = (int(query.get(key, [default])[0]) for key, default in (("current", 1), ("size", 10)))
    if current < 1 or size < 1:
        raise Refused("field")
    last = max(1, -(-len(records) // size))
    start = (min(current, last) - 1) * size
    part = records[start:start + size]
    return {"total": len(records), "current": current, "size": size, "records": part}


def trend(body):
    day_ms = 86_400_000
    days = range(body["startTimestamp"] // day_ms, body["endTimestamp"] // day_ms + 1)
    date = lambda day: time.strftime("%Y-%m-%d", time.gmtime(day * 86_400))
    return [{"day": date(day), "amount": 2.5} for day in days if day % 3]


def begin(group):
    global count
    count += 1
    sessions[f"token-{count}"] = group
    groups = [{"groupId": name} for name in GROUPS]
    return {"accessToken": f"token-{count}", "groupId": group, "switchableGroups": groups, "expiresIn": 7200}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        try:
            body = json.loads(self.raw)
        except ValueError:
            raise Refused("body") from None
        if not isinstance(body, dict):
            raise Refused("body")
        return body

    def group(self, missing="token"):
        token = self.headers.get("third-api-token")
        if token is None:
            raise Refused(missing)
        if token not in sessions:
            raise Refused("token")
        return sessions[token]

    def log_in(self):
        body = self.body()
        if not body.get("username") or not body.get("password"):
            raise Refused("field")
        if (body["username"], body["password"]) != ("other", "secret"):
            raise Refused("password")
        return begin("east")

    def switch(self):
        self.group("none")
        wanted = self.body().get("groupId")
        if wanted not in GROUPS:
            raise Refused("group")
        del sessions[self.headers["third-api-token"]]
        return begin(wanted)

    def log_out(self):
        self.group("none")
        del sessions[self.headers["third-api-token"]]

    def devices_of(self, body, group):
        wanted = body.get("groupId") or group
        codes = body.get("deviceCodes") or []
        if wanted not in GROUPS or any(code not in GROUPS[wanted] for code in codes):
            raise Refused("scope")
        return [{"deviceCode": code} for code in GROUPS[wanted]]

    def business(self, path, query):
        group = self.group()
        if path == "kioskDashboard/onlineDevices":
            return {"list": self.devices_of({}, group)}
        body = self.body()
        if path == "kioskDevice/devicePage":
            return page(self.devices_of(body, group), query)
        if path == "kioskOrder/queryOrderList":
            if not body.get("deviceCode"):
                raise Refused("field")
            if body["deviceCode"] not in GROUPS[group]:
                raise Refused("scope")
            return page(ORDERS if body["deviceCode"] == "E1" else [], query)
        if path == "kioskOrder/orderDetail":
            found = [one for one in ORDERS if one["tradeNo"] == body.get("tradeNoOut")]
            if not found:
                raise Refused("order")
            return found[0]
        self.devices_of(body, group)
        if body.get("startTimestamp", 0) > body.get("endTimestamp", 1 << 62):
            raise Refused("field")
        if path.endswith("salesTrend"):
            return trend(body)
        return None if path.endswith("bestSellingProduct") else {}

    def answer(self):
        address = urlsplit(self.path)
        self.raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, code, text, data = 200, 200, "success", None
        calls = {"token": self.log_in, "switchGroup": self.switch, "logout": self.log_out}
        known = ("kioskDevice/", "kioskOrder/", "kioskDashboard/")
        path = address.path.removeprefix(BUSINESS)
        try:
            if self.command != "POST":
                status, code, text = 404, 0, "Not found"
            elif address.path.startswith(AUTH):
                data = calls[address.path.removeprefix(AUTH)]()
            elif path.startswith(known):
                data = self.business(path, parse_qs(address.query))
            else:
                code, text = 0, "Not found"
        except Refused as refused:
            code, text = TEXTS[str(refused)]
            data = text
        envelope = {"code": code, "msg": text, "enMsg": None if code == 200 else text, "data": data}
        sent = json.dumps(envelope).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(*sys.argv[1:3])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(f"https://127.0.0.1:{server.server_address[1]}/v8", flush=True)
server.serve_forever()
