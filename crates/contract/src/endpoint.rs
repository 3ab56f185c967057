//! The calls of integrators: each is declared once, in [`ENDPOINTS`]. Router, OpenAPI document,
//! metric labels, the calls of `--fault`, clients, tests and benchmarks read its path, types and
//! rules from here.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    DashboardFilter, DeviceAisles, DeviceFilter, DeviceRecord, DeviceSales, Example, LoginRequest,
    NoBody, OrderChangesRequest, OrderDetailRequest, OrderFilter, OrderRecord, Page, Request,
    RequestBody, SessionData, SwitchGroupRequest, TrendDay, example,
};

/// A call, as a type: its path and rules are constants, its request and response are types.
pub trait Endpoint {
    /// The path below [`crate::GATEWAY_PREFIX`], without a slash at its start.
    const PATH: &'static str;
    /// The path of the address: [`crate::GATEWAY_PREFIX`], a slash and [`Self::PATH`].
    const ROUTE: &'static str;
    /// Whether the call takes a token.
    const TOKEN: TokenRule;
    /// Whether the call takes `current` and `size` and answers with a page (PAGE-1).
    const PAGED: bool;
    /// The body of a request.
    type Request: Request;
    /// `data` of a success.
    type Response: Serialize + DeserializeOwned + JsonSchema + Example;
}

/// The answer to a request without a token (AUTH-14, AUTH-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRule {
    /// The call takes no token; one that is sent is ignored.
    Ignored,
    /// [`crate::Code::TokenMissing`], on the authentication paths.
    OrMissing,
    /// [`crate::Code::TokenInvalid`], on the business paths.
    OrInvalid,
}

/// A function that adds the schema of a type to a document and returns a reference to it.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A function that returns the example of a type as JSON.
pub type ExampleOf = fn() -> Value;

/// An [`Endpoint`] as a value.
#[derive(Clone, Copy, Debug)]
pub struct EndpointInfo {
    /// The name of its type.
    pub name: &'static str,
    /// See [`Endpoint::PATH`].
    pub path: &'static str,
    /// See [`Endpoint::ROUTE`].
    pub route: &'static str,
    /// Its name in `--fault`; a command of `kiosque remote` for it has the same.
    pub short_name: &'static str,
    /// The part of the interface that it belongs to.
    pub tag: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The rules of `docs/interface.md` that describe it.
    pub rules: &'static str,
    /// See [`Endpoint::TOKEN`].
    pub token: TokenRule,
    /// See [`Endpoint::PAGED`].
    pub paged: bool,
    /// The order of the list that it answers with, as a sentence.
    pub sorted: Option<&'static str>,
    /// The JSON pointer of the list in `data`, if the answer is a list.
    pub rows: Option<&'static str>,
    /// The schema of its body, if it takes one.
    pub request: Option<SchemaOf>,
    /// The example of its body.
    pub request_example: ExampleOf,
    /// The schema of `data`.
    pub response: SchemaOf,
    /// The example of `data`.
    pub response_example: ExampleOf,
}

/// Declares the endpoints. The doc comment of an entry is its summary; `page_of: T` is
/// `response: Page<T>` of a paged endpoint, and `list_of: T` is `response: Vec<T>`, both with their
/// `rows`. Without a `token`, it is one of the business paths.
macro_rules! endpoints {
    ($(
        $(#[doc = $summary:literal])+
        $name:ident {
            path: $path:literal,
            short_name: $short_name:literal,
            tag: $tag:literal,
            rules: $rules:literal,
            $(token: $token:ident,)?
            request: $request:ty,
            $response:ident: $type:ty
            $(, rows: $rows:literal)?
            $(, sorted: $sorted:literal)?
            $(,)?
        }
    )+) => {
        $(
            $(#[doc = $summary])+
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Endpoint for $name {
                const PATH: &'static str = $path;
                const ROUTE: &'static str = concat!(gateway_prefix!(), "/", $path);
                const TOKEN: TokenRule = endpoints!(@token $($token)?);
                const PAGED: bool = endpoints!(@paged $response);
                type Request = $request;
                type Response = endpoints!(@type $response $type);
            }
        )+

        /// Every endpoint, in the order of ADDR-1.
        pub const ENDPOINTS: &[EndpointInfo] = &[$(
            EndpointInfo {
                name: stringify!($name),
                path: $name::PATH,
                route: $name::ROUTE,
                short_name: $short_name,
                tag: $tag,
                summary: concat!($($summary),+).trim_ascii(),
                rules: $rules,
                token: $name::TOKEN,
                paged: $name::PAGED,
                sorted: endpoints!(@sorted $($sorted)?),
                rows: endpoints!(@rows $response $($rows)?),
                request: match <$request as Request>::BODY {
                    RequestBody::Object => Some(SchemaGenerator::subschema_for::<$request>),
                    RequestBody::None => None,
                },
                request_example: example::json::<$request>,
                response: SchemaGenerator::subschema_for::<<$name as Endpoint>::Response>,
                response_example: example::json::<<$name as Endpoint>::Response>,
            },
        )+];
    };
    (@token) => { TokenRule::OrInvalid };
    (@token $token:ident) => { TokenRule::$token };
    (@sorted) => { None };
    (@sorted $sorted:literal) => { Some($sorted) };
    (@rows response) => { None };
    (@rows response $rows:literal) => { Some($rows) };
    (@rows list_of) => { Some("") };
    (@rows page_of) => { Some("/records") };
    (@paged response) => { false };
    (@paged list_of) => { false };
    (@paged page_of) => { true };
    (@type response $type:ty) => { $type };
    (@type list_of $type:ty) => { Vec<$type> };
    (@type page_of $type:ty) => { Page<$type> };
}

endpoints! {
    /// Logs in, and replaces the account's earlier session.
    LogIn {
        path: "platform-auth/auth/third-api/token",
        short_name: "login",
        tag: "Authentication",
        rules: "AUTH-1 to AUTH-13, LIM-7 to LIM-11",
        token: Ignored,
        request: LoginRequest,
        response: SessionData,
    }
    /// Selects another group; the new token replaces the old one.
    SwitchGroup {
        path: "platform-auth/auth/third-api/switchGroup",
        short_name: "switch",
        tag: "Authentication",
        rules: "AUTH-17 to AUTH-20",
        token: OrMissing,
        request: SwitchGroupRequest,
        response: SessionData,
    }
    /// Logs out.
    LogOut {
        path: "platform-auth/auth/third-api/logout",
        short_name: "logout",
        tag: "Authentication",
        rules: "AUTH-21",
        token: OrMissing,
        request: NoBody,
        response: (),
    }
    /// Lists devices of the selected group, or of the group in the filter.
    DevicePage {
        path: "third-center-web/openapi/v1/kioskDevice/devicePage",
        short_name: "devices",
        tag: "Business",
        rules: "DEV-1 to DEV-7, SCOPE-2",
        request: DeviceFilter,
        page_of: DeviceRecord<'static>,
        sorted: "Sorted by `deviceCode`.",
    }
    /// Lists the orders of one device, the latest arrival first.
    QueryOrderList {
        path: "third-center-web/openapi/v1/kioskOrder/queryOrderList",
        short_name: "orders",
        tag: "Business",
        rules: "ORD-1 to ORD-14",
        request: OrderFilter,
        page_of: OrderRecord,
        sorted: "Sorted by arrival, the latest first. An order that arrives late comes before \
            orders that started after it, so do not stop reading at a known `tradeStartTime`; an \
            updated order stays where it is.",
    }
    /// Shows one order by trade number.
    OrderDetail {
        path: "third-center-web/openapi/v1/kioskOrder/orderDetail",
        short_name: "order",
        tag: "Business",
        rules: "ORD-15 to ORD-20",
        request: OrderDetailRequest,
        response: crate::OrderDetail,
    }
    /// Answers with the orders of the group that changed after a cursor, and can wait for one.
    OrderChanges {
        path: "third-center-web/openapi/v1/kioskOrder/changes",
        short_name: "changes",
        tag: "Business",
        rules: "ORD-23 to ORD-30, LIM-20",
        request: OrderChangesRequest,
        response: crate::OrderChanges,
        rows: "/records",
        sorted: "Sorted by `changeNo`. An order that changed again is at its latest change alone.",
    }
    /// Answers with the KPIs of a range, by default of this month until now; money in US dollars.
    Summary {
        path: "third-center-web/openapi/v1/kioskDashboard/summary",
        short_name: "summary",
        tag: "Dashboard",
        rules: "DASH-1 to DASH-16, DASH-26, DASH-28",
        request: DashboardFilter,
        response: crate::Summary<'static>,
    }
    /// Answers with the best-selling product and the ranking; null without sales.
    BestSellingProduct {
        path: "third-center-web/openapi/v1/kioskDashboard/bestSellingProduct",
        short_name: "best-sellers",
        tag: "Dashboard",
        rules: "DASH-1 to DASH-13, DASH-17 to DASH-19, DASH-26",
        request: DashboardFilter,
        response: Option<crate::BestSellingProduct>,
        sorted: "`rankList` begins with the product of which most items were sold.",
    }
    /// Answers with the sales of each device, the largest amount first.
    SalesByDevice {
        path: "third-center-web/openapi/v1/kioskDashboard/salesByDevice",
        short_name: "by-device",
        tag: "Dashboard",
        rules: "DASH-1 to DASH-13, DASH-20, DASH-26",
        request: DashboardFilter,
        list_of: DeviceSales,
        sorted: "Sorted by `salesAmount`, the largest first, then by `deviceCode`.",
    }
    /// Answers with the sales of each day; days without sales have zeros.
    SalesTrend {
        path: "third-center-web/openapi/v1/kioskDashboard/salesTrend",
        short_name: "trend",
        tag: "Dashboard",
        rules: "DASH-1 to DASH-13, DASH-21, DASH-26",
        request: DashboardFilter,
        list_of: TrendDay,
        sorted: "Sorted by day.",
    }
    /// Answers with devices, their cabinets, layers and aisles; prices in minor units.
    DeviceAisle {
        path: "third-center-web/openapi/v1/kioskDashboard/deviceAisle",
        short_name: "aisles",
        tag: "Dashboard",
        rules: "DASH-1, DASH-22, DASH-23, DASH-27",
        request: DashboardFilter,
        list_of: DeviceAisles,
        sorted: "Sorted by `deviceCode`, cabinets by code, layers by number.",
    }
    /// Answers with every device of the group.
    DeviceProfile {
        path: "third-center-web/openapi/v1/kioskDashboard/deviceProfile",
        short_name: "profile",
        tag: "Dashboard",
        rules: "DASH-1, DASH-24, DASH-27",
        request: DashboardFilter,
        response: crate::DeviceProfile<'static>,
        rows: "/list",
        sorted: "Sorted by `deviceCode`.",
    }
    /// Answers with each device's online state; takes no body.
    OnlineDevices {
        path: "third-center-web/openapi/v1/kioskDashboard/onlineDevices",
        short_name: "online",
        tag: "Dashboard",
        rules: "DASH-25, DASH-27, DASH-28",
        request: NoBody,
        response: crate::OnlineDevices<'static>,
        rows: "/list",
        sorted: "Sorted by `deviceCode`.",
    }
}
