//! The operator's calls: each is declared once, in [`OPERATOR_CALLS`]. Router, OpenAPI document,
//! metric labels and tests read its path, types and statuses from here.
//!
//! A failure of any of them is a [`crate::Problem`].

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::endpoint::SchemaOf;
use crate::inventory::{
    AccountItem, DeviceChoice, DeviceDetail, DeviceItem, DeviceListFilter, FleetPage, GroupItem,
    ImportItem, ListFilter, Listed, OrderItem, OrderListFilter, ProductItem, RateItem, SessionItem,
    Status,
};
use crate::{
    ActivityReceived, AuditFilter, AuditPage, ChangesFilter, FleetApplied, FleetFile,
    HeartbeatLine, OrderChangeLine, OrderLine, OrdersReceived,
};

/// A call, as a type.
pub trait OperatorCall: Copy {
    /// The method; a call that takes GET takes HEAD as well.
    const METHOD: CallMethod;
    /// The whole path.
    const PATH: &'static str;
    /// The name of the right that the key needs; `None` if the call takes no key.
    const RIGHT: Option<&'static str>;
    /// The content type of a success.
    const CONTENT_TYPE: &'static str;
    /// The keys of the query string, each an optional text; `()` if the call has none.
    type Query: DeserializeOwned + JsonSchema;
    /// The body of a success, or a line of it.
    type Response: Serialize + JsonSchema;
}

/// The method of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMethod {
    /// GET, or HEAD.
    Get,
    /// POST.
    Post,
}

/// The body that a call takes.
#[derive(Clone, Copy, Debug)]
pub enum CallBody {
    /// None.
    Empty,
    /// One JSON value.
    Json(SchemaOf),
    /// Lines, each a JSON value (NDJSON).
    Lines(SchemaOf),
}

/// The response of a call that answers with plain text.
pub type Text = Cow<'static, str>;

/// An [`OperatorCall`] as a value.
#[derive(Clone, Copy, Debug)]
pub struct OperatorCallInfo {
    /// The name of its type.
    pub name: &'static str,
    /// See [`OperatorCall::METHOD`].
    pub method: CallMethod,
    /// See [`OperatorCall::PATH`].
    pub path: &'static str,
    /// The part of the document that it is listed in.
    pub tag: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// See [`OperatorCall::RIGHT`].
    pub right: Option<&'static str>,
    /// The schema of [`OperatorCall::Query`], if the call has one.
    pub query: Option<SchemaOf>,
    /// The body that it takes.
    pub body: CallBody,
    /// See [`OperatorCall::CONTENT_TYPE`].
    pub content_type: &'static str,
    /// The schema of the body of a success, or of a line of it.
    pub response: SchemaOf,
    /// The HTTP statuses that it answers with, in ascending order.
    pub statuses: &'static [u16],
}

/// Declares the calls. The doc comment of an entry is its summary. A call without a `right` takes
/// no key, and one without a `query` or a `body` takes none; one without `statuses` has those of a
/// call that reads with a key.
macro_rules! operator_calls {
    ($(
        $(#[doc = $summary:literal])+
        $name:ident {
            $method:ident $path:literal,
            tag: $tag:literal,
            $(right: $right:literal,)?
            $(query: $query:ident,)?
            $(body: $body:ident($line:ty),)?
            response: $response:ident($($type:tt)+),
            $(statuses: $statuses:expr,)?
        }
    )+) => {
        $(
            $(#[doc = $summary])+
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl OperatorCall for $name {
                const METHOD: CallMethod = CallMethod::$method;
                const PATH: &'static str = $path;
                const RIGHT: Option<&'static str> = operator_calls!(@right $($right)?);
                const CONTENT_TYPE: &'static str =
                    operator_calls!(@content_type $response $($type)+);
                type Query = operator_calls!(@query_type $($query)?);
                type Response = operator_calls!(@type $response $($type)+);
            }
        )+

        /// Every call, by path.
        pub const OPERATOR_CALLS: &[OperatorCallInfo] = &[$(
            OperatorCallInfo {
                name: stringify!($name),
                method: $name::METHOD,
                path: $name::PATH,
                tag: $tag,
                summary: concat!($($summary),+).trim_ascii(),
                right: $name::RIGHT,
                query: operator_calls!(@query $($query)?),
                body: operator_calls!(@body $($body $line)?),
                content_type: $name::CONTENT_TYPE,
                response: SchemaGenerator::subschema_for::<<$name as OperatorCall>::Response>,
                statuses: operator_calls!(@statuses $($statuses)?),
            },
        )+];
    };
    (@content_type Json $type:ty) => { "application/json" };
    (@content_type Text $type:literal) => { $type };
    (@content_type Lines $type:ty) => { "application/x-ndjson" };
    (@type Json $type:ty) => { $type };
    (@type Text $type:literal) => { Text };
    (@type Lines $type:ty) => { $type };
    (@right) => { None };
    (@right $right:literal) => { Some($right) };
    (@query_type) => { () };
    (@query_type $query:ident) => { $query };
    (@query) => { None };
    (@query $query:ident) => { Some(SchemaGenerator::subschema_for::<$query>) };
    (@statuses) => { &[200, 400, 401, 403, 500, 503] };
    (@statuses $statuses:expr) => { &$statuses };
    (@body) => { CallBody::Empty };
    (@body $body:ident $line:ty) => { CallBody::$body(SchemaGenerator::subschema_for::<$line>) };
}

operator_calls! {
    /// Answers while the program runs.
    Livez {
        Get "/livez",
        tag: "Health",
        response: Text("text/plain; charset=utf-8"),
        statuses: [200],
    }
    /// Returns counters and gauges in the text format of Prometheus.
    Metrics {
        Get "/metrics",
        tag: "Health",
        response: Text("text/plain; version=0.0.4"),
        statuses: [200, 500],
    }
    /// Returns accounts by login name, without their passwords.
    ListAccounts {
        Get "/operator/v1/accounts",
        tag: "Fleet",
        right: "read",
        query: ListFilter,
        response: Json(Listed<AccountItem>),
    }
    /// Stores heartbeats of devices, one on each line. The rejected lines are listed in the answer;
    /// the others are stored.
    ReceiveActivity {
        Post "/operator/v1/activity",
        tag: "Fleet",
        right: "activity",
        body: Lines(HeartbeatLine),
        response: Json(ActivityReceived),
        statuses: [200, 400, 401, 403, 408, 500, 503],
    }
    /// Returns entries of the audit trail, the newest first.
    ListAudit {
        Get "/operator/v1/audit",
        tag: "Audit",
        right: "audit",
        query: AuditFilter,
        response: Json(AuditPage),
    }
    /// Returns the orders of a group by their latest change, one on each line; with `follow`, goes
    /// on with each new change.
    ListChanges {
        Get "/operator/v1/changes",
        tag: "Orders",
        right: "read",
        query: ChangesFilter,
        response: Lines(OrderChangeLine),
        statuses: [200, 400, 401, 403, 404, 500, 503],
    }
    /// Returns a device with its owners by date, its orders by owner, and its aisles.
    ShowDevice {
        Get "/operator/v1/device",
        tag: "Fleet",
        right: "read",
        query: DeviceChoice,
        response: Json(DeviceDetail),
        statuses: [200, 400, 401, 403, 404, 500, 503],
    }
    /// Returns devices by code, with their owners and last activity.
    ListDevices {
        Get "/operator/v1/devices",
        tag: "Fleet",
        right: "read",
        query: DeviceListFilter,
        response: Json(Listed<DeviceItem>),
        statuses: [200, 400, 401, 403, 404, 500, 503],
    }
    /// Returns the fleet as a fleet file, without passwords.
    ReadFleet {
        Get "/operator/v1/fleet",
        tag: "Fleet",
        right: "read",
        query: ListFilter,
        response: Json(FleetPage),
    }
    /// Applies a fleet: creates or changes the entries that it names. If any entry has an error,
    /// nothing is applied.
    ApplyFleet {
        Post "/operator/v1/fleet",
        tag: "Fleet",
        right: "fleet",
        body: Json(FleetFile),
        response: Json(FleetApplied),
        statuses: [200, 400, 401, 403, 408, 413, 422, 500, 503],
    }
    /// Returns groups by id, with the numbers of their devices, accounts and orders.
    ListGroups {
        Get "/operator/v1/groups",
        tag: "Fleet",
        right: "read",
        query: ListFilter,
        response: Json(Listed<GroupItem>),
    }
    /// Returns imports by commands, the last one first.
    ListImports {
        Get "/operator/v1/imports",
        tag: "Orders",
        right: "read",
        query: ListFilter,
        response: Json(Listed<ImportItem>),
    }
    /// Returns orders by group and device in the order of their arrival, as integrators see them;
    /// by time, the newest first, with `shipment`, `payment`, `since` or `until` and no
    /// `deviceCode`.
    ListOrders {
        Get "/operator/v1/orders",
        tag: "Orders",
        right: "read",
        query: OrderListFilter,
        response: Json(Listed<OrderItem>),
        statuses: [200, 400, 401, 403, 404, 500, 503],
    }
    /// Stores orders, one on each line, as they arrive. The answer is sent when all of them are
    /// durable; the rejected lines are listed in it.
    ReceiveOrders {
        Post "/operator/v1/orders",
        tag: "Orders",
        right: "orders",
        body: Lines(OrderLine),
        response: Json(OrdersReceived),
        statuses: [200, 400, 401, 403, 408, 500, 503],
    }
    /// Returns products by id.
    ListProducts {
        Get "/operator/v1/products",
        tag: "Fleet",
        right: "read",
        query: ListFilter,
        response: Json(Listed<ProductItem>),
    }
    /// Returns exchange rates by currency and date.
    ListRates {
        Get "/operator/v1/rates",
        tag: "Orders",
        right: "read",
        query: ListFilter,
        response: Json(Listed<RateItem>),
    }
    /// Returns the live sessions of a page of accounts, by login name; a page may have none.
    ListSessions {
        Get "/operator/v1/sessions",
        tag: "Audit",
        right: "read",
        query: ListFilter,
        response: Json(Listed<SessionItem>),
    }
    /// Returns the totals of the data, and its size.
    ReadStatus {
        Get "/operator/v1/status",
        tag: "Health",
        right: "read",
        response: Json(Status),
    }
    /// Answers with 200 while requests with a session are answered and the server is not stopping.
    Readyz {
        Get "/readyz",
        tag: "Health",
        response: Text("text/plain; charset=utf-8"),
        statuses: [200, 503],
    }
    /// Answers with 200 while orders are stored and the server is not stopping; else the detail of
    /// the problem is the reason.
    ReadyzOrders {
        Get "/readyz/orders",
        tag: "Health",
        response: Text("text/plain; charset=utf-8"),
        statuses: [200, 503],
    }
}
