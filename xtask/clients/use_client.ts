// Uses the types that openapi-typescript generates, with openapi-fetch, against a demo. Takes the
// base URL.

import createClient from "openapi-fetch";
import type { components, paths } from "./kiosque.js";
import type { paths as OperatorPaths } from "./operator.js";

declare const process: { argv: string[] };

type Order = components["schemas"]["Order"];
type OperatorStatus =
  OperatorPaths["/operator/v1/status"]["get"]["responses"][200]["content"]["application/json"];

/** Fields that are always sent are required, and null when they have no value. */
function paidAt(order: Order): string | null {
  return order.payEndTime;
}

/** The last activity of any device, as the operator's status has it. */
function lastActive(status: OperatorStatus): number | null {
  return status.lastActiveTimestamp;
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** A type guard: the codes of refusals are not a closed set. */
function isSuccess<T extends { code: number }>(answer: T): answer is Extract<T, { code: 200 }> {
  return answer.code === 200;
}

const baseUrl = process.argv[2] ?? "";
const client = createClient<paths>({ baseUrl });

const login = async (password: string) => {
  const body = { username: "demo", password };
  const { data } = await client.POST("/platform-auth/auth/third-api/token", { body });
  check(data !== undefined, "no answer to a login");
  return data;
};

const refused = await login("wrong");
check(!isSuccess(refused) && refused.code === -2, "a wrong password is refused");
check(refused.data === refused.enMsg, "a refusal has a text");

const session = await login("kiosque-demo");
check(isSuccess(session), `log in: ${session.msg}`);
const groups: string[] = session.data.switchableGroups.map((group) => group.groupName);
check(groups.length > 0, "an account has groups");
const headers = { "third-api-token": session.data.accessToken };

const devices = await client.POST("/third-center-web/openapi/v1/kioskDevice/devicePage", {
  params: { query: { current: 1, size: 2 } },
  body: {},
  headers,
});
check(devices.response.headers.get("x-request-id") !== null, "each answer names its request");
check(devices.data !== undefined && isSuccess(devices.data), "device page");
const [device] = devices.data.data.records;
check(device !== undefined, "the demo has devices");
const isOnline: 0 | 1 = device.isOnline;
check(isOnline === 0 || isOnline === 1, "isOnline is a flag");

const orders = await client.POST("/third-center-web/openapi/v1/kioskOrder/queryOrderList", {
  params: { query: { size: 5 } },
  body: { deviceCode: device.deviceCode },
  headers,
});
check(orders.data !== undefined && isSuccess(orders.data), "order page");
for (const order of orders.data.data.records) {
  check(order.payStatus !== 1 || paidAt(order) !== null, "a paid order has a time");
}

const summary = await client.POST("/third-center-web/openapi/v1/kioskDashboard/summary", {
  body: { startTimestamp: 1795307978 },
  headers,
});
check(summary.data !== undefined && !isSuccess(summary.data), "seconds are refused");
check(Array.isArray(summary.data.data), "violations are a list");

const unknown = await client.POST("/third-center-web/openapi/v1/kioskDashboard/onlineDevices", {
  params: { header: { "X-Locale": "zh-CN" } },
  headers: { ...headers, "third-api-token": "nonsense" },
});
check(unknown.data !== undefined && unknown.data.code === -4, "an unknown token is refused");
check(lastActive({ lastActiveTimestamp: null } as OperatorStatus) === null, "null is a value");
