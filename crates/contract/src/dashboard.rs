//! The dashboard functions (DASH-1 to DASH-28 in `docs/interface.md`). Money is US dollars, in
//! major units with at most two decimals, except for the prices of an aisle (DASH-23).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::example::{DAY_MS, MARCH_MS};
use crate::{DeviceRecord, Example, Request};

/// Body of every dashboard function but online devices; every field may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DashboardFilter {
    /// The first instant of the range, Unix milliseconds; the month's first day, midnight, when
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timestamp: Option<i64>,
    /// The first instant after the range, Unix milliseconds; now, when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_timestamp: Option<i64>,
    /// Another active group of the account; does not switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Only these devices of the scope; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_codes: Vec<String>,
}

impl Request for DashboardFilter {}

impl Example for DashboardFilter {
    fn example() -> DashboardFilter {
        DashboardFilter {
            start_timestamp: Some(MARCH_MS),
            end_timestamp: Some(MARCH_MS + DAY_MS),
            ..DashboardFilter::default()
        }
    }
}

/// `data` of the summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Summary<'a> {
    /// The first instant of the range.
    pub start_timestamp: i64,
    /// The first instant after the range.
    pub end_timestamp: i64,
    /// The zone that days are counted in.
    pub time_zone: Cow<'a, str>,
    /// `USD`.
    #[schemars(schema_with = "crate::schema::currency")]
    pub currency: Cow<'a, str>,
    /// The figures.
    pub kpi_list: Vec<Kpi<'a>>,
    /// Sales of a currency that had no rate on their day: in no sum of dollars.
    pub unconverted_orders: i64,
}

impl Example for Summary<'_> {
    fn example() -> Self {
        Summary {
            start_timestamp: MARCH_MS,
            end_timestamp: MARCH_MS + DAY_MS,
            time_zone: "UTC".into(),
            currency: "USD".into(),
            kpi_list: Vec::example(),
            unconverted_orders: 0,
        }
    }
}

/// One figure of the summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Kpi<'a> {
    /// Names the figure.
    #[schemars(schema_with = "crate::schema::open::<crate::schema::KpiCode, String>")]
    pub code: Cow<'a, str>,
    /// Its name, in the language of X-Locale.
    pub name: Cow<'a, str>,
    /// Formatted: `1,234.50`, `42`, `97.5%`.
    pub value: Cow<'a, str>,
    /// The format of `value`.
    #[serde(rename = "type")]
    #[schemars(schema_with = "crate::schema::open::<crate::schema::KpiType, String>")]
    pub kind: Cow<'a, str>,
}

impl Example for Kpi<'_> {
    fn example() -> Self {
        Kpi {
            code: "salesAmount".into(),
            name: "Sales amount".into(),
            value: "7.25".into(),
            kind: "money".into(),
        }
    }
}

/// `data` of the best-selling product: the first of the ranking, and the ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct BestSellingProduct {
    /// The best one.
    #[serde(flatten)]
    pub best: ProductSales,
    /// The best ones, at most 10, the best first.
    pub rank_list: Vec<ProductSales>,
}

impl Example for BestSellingProduct {
    fn example() -> BestSellingProduct {
        BestSellingProduct { best: ProductSales::example(), rank_list: Vec::example() }
    }
}

/// The sales of one product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct ProductSales {
    /// Identifies the product.
    pub goods_id: String,
    /// Its name.
    pub goods_name: String,
    /// The lowest present price of a device, dollars; null when unknown.
    pub price: Option<f64>,
    /// Its default price, dollars; null when unknown.
    pub default_price: Option<f64>,
    /// Average amount paid for one, dollars; null when no sale has a rate.
    pub average_price: Option<f64>,
    /// Number of items sold.
    pub sales_count: i64,
    /// Amount paid for them, dollars.
    pub sales_amount: f64,
    /// Number of devices that sold it.
    pub device_count: i64,
}

impl Example for ProductSales {
    fn example() -> ProductSales {
        ProductSales {
            goods_id: "P1005".to_owned(),
            goods_name: "Orange Juice 300 ml".to_owned(),
            price: Some(2.75),
            default_price: None,
            average_price: Some(2.75),
            sales_count: 2,
            sales_amount: 5.5,
            device_count: 1,
        }
    }
}

/// An element of sales by device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DeviceSales {
    /// Identifies the device.
    pub device_code: String,
    /// Its name.
    pub device_name: String,
    /// Number of sales.
    pub order_count: i64,
    /// Number of items.
    pub sales_count: i64,
    /// Amount paid, dollars.
    pub sales_amount: f64,
}

impl Example for DeviceSales {
    fn example() -> DeviceSales {
        DeviceSales {
            device_code: "HBR-001".to_owned(),
            device_name: "Pier 1, lobby".to_owned(),
            order_count: 2,
            sales_count: 3,
            sales_amount: 7.25,
        }
    }
}

/// A day of the sales trend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct TrendDay {
    /// The day, in the platform's time zone.
    #[schemars(schema_with = "crate::schema::day")]
    pub label: String,
    /// Amount paid, dollars.
    pub amount: f64,
    /// Number of sales.
    pub order_count: i64,
}

impl Example for TrendDay {
    fn example() -> TrendDay {
        TrendDay { label: "2026-03-01".to_owned(), amount: 7.25, order_count: 2 }
    }
}

/// A device of the aisle hierarchy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DeviceAisles {
    /// Identifies the device.
    pub device_code: String,
    /// Its name.
    pub device_name: String,
    /// Its cabinets, by code; none when it has no aisle.
    pub cabinets: Vec<Cabinet>,
}

impl Example for DeviceAisles {
    fn example() -> DeviceAisles {
        DeviceAisles {
            device_code: "HBR-001".to_owned(),
            device_name: "Pier 1, lobby".to_owned(),
            cabinets: vec![Cabinet {
                cabinet_code: "1".to_owned(),
                layers: vec![Layer { layer: 7, aisles: Vec::example() }],
            }],
        }
    }
}

/// A cabinet of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Cabinet {
    /// Identifies the cabinet in its device.
    pub cabinet_code: String,
    /// Its layers, from the lowest number.
    pub layers: Vec<Layer>,
}

/// A layer of a cabinet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Layer {
    /// Its number.
    pub layer: i64,
    /// Its aisles, in the fleet's order.
    pub aisles: Vec<Aisle<'static>>,
}

/// An aisle. Its prices are integers in minor units of the product's currency, not dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct Aisle<'a> {
    /// Identifies the aisle in its device.
    pub code: Cow<'a, str>,
    /// The name of the aisle, which is its code.
    pub show_name: Cow<'a, str>,
    /// The selling price, minor units.
    pub price: i64,
    /// The displayed price, minor units.
    pub show_price: i64,
    /// The product's currency.
    #[schemars(schema_with = "crate::schema::currency")]
    pub currency: Cow<'a, str>,
    /// Its capacity in items.
    pub max_stock: i64,
    /// Items in it, as last reported.
    pub curr_stock: i64,
    /// 1 when it sells, else 0.
    #[schemars(with = "crate::schema::Flag")]
    pub is_enable: i64,
    /// 1 when it is out of order, else 0.
    #[schemars(with = "crate::schema::Flag")]
    pub is_broken: i64,
    /// The product in it.
    pub goods_id: Cow<'a, str>,
    /// The product's name.
    pub goods_name: Cow<'a, str>,
}

impl Example for Aisle<'_> {
    fn example() -> Self {
        Aisle {
            code: "702".into(),
            show_name: "702".into(),
            price: 275,
            show_price: 275,
            currency: "USD".into(),
            max_stock: 12,
            curr_stock: 5,
            is_enable: 1,
            is_broken: 0,
            goods_id: "P1005".into(),
            goods_name: "Orange Juice 300 ml".into(),
        }
    }
}

/// `data` of the device profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct DeviceProfile<'a> {
    /// The devices that the group owns now, by code.
    pub list: Vec<DeviceRecord<'a>>,
}

impl Example for DeviceProfile<'_> {
    fn example() -> Self {
        DeviceProfile { list: Vec::example() }
    }
}

/// `data` of online devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OnlineDevices<'a> {
    /// The devices that the group owns now.
    pub total_count: i64,
    /// The number of online devices.
    pub online_count: i64,
    /// The number of offline devices.
    pub offline_count: i64,
    /// All devices, by code.
    pub list: Vec<OnlineDevice<'a>>,
}

impl Example for OnlineDevices<'_> {
    fn example() -> Self {
        OnlineDevices { total_count: 1, online_count: 1, offline_count: 0, list: Vec::example() }
    }
}

/// An element of online devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(not(feature = "literals"), non_exhaustive)]
pub struct OnlineDevice<'a> {
    /// Identifies the device.
    pub device_code: Cow<'a, str>,
    /// Its name.
    pub device_name: Cow<'a, str>,
    /// 1 when its last activity is recent, else 0.
    #[schemars(with = "crate::schema::Flag")]
    pub is_online: i64,
    /// Its last activity in this group, Unix milliseconds; null when there was none.
    pub last_active_timestamp: Option<i64>,
}

impl Example for OnlineDevice<'_> {
    fn example() -> Self {
        OnlineDevice {
            device_code: "HBR-001".into(),
            device_name: "Pier 1, lobby".into(),
            is_online: 1,
            last_active_timestamp: Some(MARCH_MS),
        }
    }
}
