"""Uses the clients that openapi-python-client generates against a demo. Takes the base URL, the
address of the operator's listener, an operator's key and the certificate of the demo."""

import ssl
import sys

from kiosque_client import AuthenticatedClient, Client
from kiosque_client.api.authentication import log_in, log_out
from kiosque_client.api.business import device_page, order_detail, query_order_list
from kiosque_client.api.dashboard import best_selling_product, device_aisle, sales_trend, summary
from kiosque_client.models import (
    BestSellingProductAnswer,
    DashboardFilter,
    DeviceAisleAnswer,
    DeviceFilter,
    DevicePageAnswer,
    LogInAnswer,
    LoginRequest,
    LogOutAnswer,
    OrderDetailAnswer,
    OrderDetailRequest,
    OrderFilter,
    PayStatus,
    QueryOrderListAnswer,
    Refusal,
    RefusalCode,
    SalesTrendAnswer,
    SummaryAnswer,
)
from kiosque_operator_client import AuthenticatedClient as OperatorClient
from kiosque_operator_client.api.fleet import receive_activity
from kiosque_operator_client.api.orders import receive_orders
from kiosque_operator_client.models import (
    ActivityReceived,
    HeartbeatLine,
    OrderLine,
    OrdersReceived,
)

base_url, operator_url, key, certificate = sys.argv[1:]
trusted = ssl.create_default_context(cafile=certificate)
anyone = Client(base_url=base_url, verify_ssl=trusted)

refused = log_in.sync(client=anyone, body=LoginRequest(username="demo", password="wrong"))
assert isinstance(refused, Refusal)
assert refused.code is RefusalCode.CREDENTIALS
assert refused.data == "User name or password is wrong."

session = log_in.sync(client=anyone, body=LoginRequest(username="demo", password="kiosque-demo"))
assert isinstance(session, LogInAnswer)
names = [group.group_name for group in session.data.switchable_groups]
assert names, session

caller = AuthenticatedClient(
    base_url=base_url,
    verify_ssl=trusted,
    token=session.data.access_token,
    prefix="",
    auth_header_name="third-api-token",
)
detailed = device_page.sync_detailed(client=caller, body=DeviceFilter(), current=1, size=8)
assert detailed.headers["content-encoding"] in ("gzip", "zstd")
devices = detailed.parsed
assert isinstance(devices, DevicePageAnswer)
assert devices.data.total >= len(devices.data.records) == 8
first = devices.data.records[0]
last_active: int | None = first.last_active_timestamp
assert int(first.is_online) in (0, 1)

orders = query_order_list.sync(
    client=caller, body=OrderFilter(device_code=first.device_code), size=5
)
assert isinstance(orders, QueryOrderListAnswer)
order = orders.data.records[0]
paid_at: str | None = order.pay_end_time
assert isinstance(order.pay_status, PayStatus) or order.pay_status not in list(PayStatus)
assert all(line.goods_name for line in order.detail_vo_list)

detail = order_detail.sync(client=caller, body=OrderDetailRequest(trade_no_in=order.trade_no_in))
assert isinstance(detail, OrderDetailAnswer)
assert detail.data.pay_end_time == paid_at

figures = summary.sync(client=caller, body=DashboardFilter())
assert isinstance(figures, SummaryAnswer)
assert [figure.code for figure in figures.data.kpi_list][0] == "salesAmount"

days = sales_trend.sync(client=caller, body=DashboardFilter())
assert isinstance(days, SalesTrendAnswer)
assert days.data[0].label.day == 1

best = best_selling_product.sync(client=caller, body=DashboardFilter())
assert isinstance(best, BestSellingProductAnswer)
aisles = device_aisle.sync(client=caller, body=DashboardFilter())
assert isinstance(aisles, DeviceAisleAnswer)
assert len(aisles.data) == devices.data.total

assert isinstance(log_out.sync(client=caller), LogOutAnswer)
ended = device_page.sync(client=caller, body=DeviceFilter())
assert isinstance(ended, Refusal) and ended.code == RefusalCode.TOKEN_INVALID

operator = OperatorClient(base_url=operator_url, verify_ssl=trusted, token=key)
sold = OrderLine(
    order_id="generated-1",
    device_code=first.device_code,
    currency="USD",
    total_amount=150,
    trade_start_time="2026-03-01 09:00:00",
)
unknown = OrderLine.from_dict({**sold.to_dict(), "orderId": "generated-2", "deviceCode": "none"})
received = receive_orders.sync(client=operator, body=[sold, unknown])
assert isinstance(received, OrdersReceived)
assert received.accepted == 1
assert received.rejected[0].reason.startswith("[1] deviceCode:")
again = receive_orders.sync(client=operator, body=sold)
assert isinstance(again, OrdersReceived) and again.unchanged == 1
beat = HeartbeatLine(device_code=first.device_code)
heard = receive_activity.sync(client=operator, body=[beat])
assert isinstance(heard, ActivityReceived) and heard.accepted == 1
