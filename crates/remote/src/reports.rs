//! The dashboard functions: their calls, and the columns of their answers.

use bytes::Bytes;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, OnlineDevices, SalesByDevice, SalesTrend, Summary,
};
use kiosque_contract::{DashboardFilter, Endpoint};
use serde_json::{Map, Value};

use crate::error::CommandError;
use crate::listing::{Layout, Listing, Part};
use crate::lists::{Kind, List, other, usual};
use crate::remote::Remote;

/// A dashboard function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The figures of a range.
    Summary,
    /// The sales of each day.
    Trend,
    /// The best-selling products, by items.
    BestSellers,
    /// The sales of each device.
    ByDevice,
    /// The aisles of each device.
    Aisles,
    /// The devices and whether they are online.
    Online,
}

/// The call of a function, and the lists in its answer.
struct Shape {
    path: &'static str,
    /// The columns of the rows.
    list: List,
    /// The field of the answer with the records, if the answer is not an array.
    field: Option<&'static str>,
    /// The columns of the answer next to the rows.
    head: Option<List>,
}

/// The range of a summary (DASH-14).
const RANGE: List = &[
    usual("startTimestamp", Kind::Instant),
    usual("endTimestamp", Kind::Instant),
    usual("timeZone", Kind::Plain),
    usual("unconvertedOrders", Kind::Plain),
];

/// The figures of a summary (DASH-15).
const KPIS: List = &[
    usual("code", Kind::Plain),
    usual("value", Kind::Plain),
    usual("name", Kind::Plain),
    other("type", Kind::Plain),
];

/// Sales trend (DASH-21).
pub(crate) const TREND: List = &[
    usual("label", Kind::Plain),
    usual("amount", Kind::Dollars),
    usual("orderCount", Kind::Plain),
];

/// Best-selling product (DASH-17).
const BEST_SELLERS: List = &[
    usual("goodsId", Kind::Plain),
    usual("salesCount", Kind::Plain),
    usual("salesAmount", Kind::Dollars),
    usual("price", Kind::Dollars),
    usual("averagePrice", Kind::Dollars),
    usual("deviceCount", Kind::Plain),
    usual("goodsName", Kind::Plain),
    other("defaultPrice", Kind::Dollars),
];

/// Sales by device (DASH-20).
const BY_DEVICE: List = &[
    usual("deviceCode", Kind::Plain),
    usual("orderCount", Kind::Plain),
    usual("salesCount", Kind::Plain),
    usual("salesAmount", Kind::Dollars),
    usual("deviceName", Kind::Plain),
];

/// Device aisle hierarchy (DASH-22), with a row for each aisle.
const AISLES: List = &[
    usual("deviceCode", Kind::Plain),
    usual("cabinetCode", Kind::Plain),
    usual("layer", Kind::Plain),
    usual("code", Kind::Plain),
    usual("goodsId", Kind::Plain),
    usual("price", Kind::Minor),
    usual("currStock", Kind::Plain),
    usual("maxStock", Kind::Plain),
    usual("isEnable", Kind::Flag),
    usual("isBroken", Kind::Flag),
    usual("goodsName", Kind::Plain),
    other("showName", Kind::Plain),
    other("showPrice", Kind::Minor),
    other("currency", Kind::Plain),
    other("deviceName", Kind::Plain),
];

/// Online devices (DASH-25).
const ONLINE: List = &[
    usual("deviceCode", Kind::Plain),
    usual("isOnline", Kind::Flag),
    usual("lastActiveTimestamp", Kind::Instant),
    usual("deviceName", Kind::Plain),
];

/// The counts of online devices (DASH-25).
const ONLINE_COUNTS: List = &[
    usual("totalCount", Kind::Plain),
    usual("onlineCount", Kind::Plain),
    usual("offlineCount", Kind::Plain),
];

impl Report {
    fn shape(self) -> Shape {
        let (path, list, field, head) = match self {
            Report::Summary => (Summary::PATH, KPIS, Some("kpiList"), Some(RANGE)),
            Report::Trend => (SalesTrend::PATH, TREND, None, None),
            Report::BestSellers => (BestSellingProduct::PATH, BEST_SELLERS, Some("rankList"), None),
            Report::ByDevice => (SalesByDevice::PATH, BY_DEVICE, None, None),
            Report::Aisles => (DeviceAisle::PATH, AISLES, None, None),
            Report::Online => (OnlineDevices::PATH, ONLINE, Some("list"), Some(ONLINE_COUNTS)),
        };
        Shape { path, list, field, head }
    }

    /// Returns the columns of its rows, and of the answer next to the rows.
    pub fn lists(self) -> Vec<List> {
        let Shape { list, head, .. } = self.shape();
        std::iter::once(list).chain(head).collect()
    }
}

/// Returns the answer of a dashboard function.
///
/// # Errors
/// The call was refused, or there is no session.
pub async fn report(
    remote: &Remote,
    report: Report,
    group: Option<&str>,
    filter: &DashboardFilter,
) -> Result<Listing, CommandError> {
    let body = match report {
        Report::Online => Bytes::new(),
        _ => {
            let body = serde_json::to_vec(filter);
            body.map_err(|error| CommandError::Usage(error.to_string()))?.into()
        }
    };
    let path = report.shape().path;
    let data =
        remote.turn(async |turn| Ok(turn.group(group)?.call_bytes(path, body).await?)).await?;
    Ok(listing(report, data))
}

fn listing(report: Report, data: Value) -> Listing {
    let Shape { list, field, head, .. } = report.shape();
    let records = field.map_or(Some(&data), |field| data.get(field));
    let records = records.and_then(Value::as_array).cloned().unwrap_or_default();
    let rows = match report {
        Report::Aisles => records.iter().flat_map(aisles).collect(),
        _ => records.clone(),
    };
    let layout = if report == Report::Trend { Layout::Bars } else { Layout::Rows };
    let mut parts = vec![Part { list, layout, rows }];
    if let Some(list) = head {
        parts.push(Part { list, layout: Layout::Fields, rows: vec![data.clone()] });
    }
    Listing { data, records, parts }
}

/// Returns the aisles of a device as rows, with the device, the cabinet and the layer of each.
fn aisles(device: &Value) -> Vec<Value> {
    let list = |value: &Value, field: &str| {
        value.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut rows = Vec::new();
    for cabinet in list(device, "cabinets") {
        for layer in list(&cabinet, "layers") {
            for aisle in list(&layer, "aisles") {
                let mut row = Map::new();
                for (of, field) in [
                    (device, "deviceCode"),
                    (device, "deviceName"),
                    (&cabinet, "cabinetCode"),
                    (&layer, "layer"),
                ] {
                    row.insert(field.to_owned(), of.get(field).cloned().unwrap_or_default());
                }
                row.extend(aisle.as_object().cloned().unwrap_or_default());
                rows.push(Value::Object(row));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// DASH-22: each aisle is a row, with the device, the cabinet and the layer that it is in.
    #[test]
    fn aisles_are_rows() {
        let device = json!({"deviceCode": "K1", "deviceName": "Hall", "cabinets": [
            {"cabinetCode": "1", "layers": [
                {"layer": 1, "aisles": [{"code": "11", "price": 5}, {"code": "12", "price": 6}]},
                {"layer": 2, "aisles": []}
            ]}
        ]});
        let Listing { data, records, parts } = listing(Report::Aisles, json!([device]));
        assert_eq!((&data[0], &records[0]), (&device, &device));
        let row = json!({
            "deviceCode": "K1", "deviceName": "Hall", "cabinetCode": "1", "layer": 1,
            "code": "12", "price": 6
        });
        assert_eq!((parts[0].rows.len(), &parts[0].rows[1]), (2, &row));
    }

    /// DASH-19: without sales the answer is null, and the list is empty.
    #[test]
    fn null_has_no_rows() {
        let listing = listing(Report::BestSellers, Value::Null);
        assert_eq!((listing.data, listing.records.len()), (Value::Null, 0));
    }
}
