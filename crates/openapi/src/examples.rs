//! Examples of requests and answers, as values of their types.

use kiosque_contract::{
    Aisle, BestSellingProduct, Cabinet, DashboardFilter, DeviceAisles, DeviceFilter, DeviceProfile,
    DeviceRecord, DeviceSales, Kpi, Layer, LineItem, LoginRequest, OnlineDevice, OnlineDevices,
    OrderChange, OrderChanges, OrderChangesRequest, OrderDetail, OrderDetailRequest, OrderFilter,
    OrderHead, OrderRecord, OrderTotals, Page, ProductSales, SalesTotals, SessionData, Summary,
    SwitchGroupRequest, SwitchableGroup, TrendDay,
};
use serde::Serialize;
use serde_json::Value;

/// 2026-03-01 00:00:00 UTC.
const MARCH_MS: i64 = 1_772_323_200_000;
const DAY_MS: i64 = 86_400_000;

/// Returns the body of a request of a call.
pub(super) fn request(call: &str) -> Value {
    match call {
        "LogIn" => {
            json(LoginRequest { username: "demo".to_owned(), password: "kiosque-demo".to_owned() })
        }
        "SwitchGroup" => json(SwitchGroupRequest { group_id: "tokyo-stations".to_owned() }),
        "DevicePage" => {
            json(DeviceFilter { device_name: Some("lobby".to_owned()), ..DeviceFilter::default() })
        }
        "QueryOrderList" => json(OrderFilter {
            device_code: "HBR-001".to_owned(),
            start_timestamp: Some(MARCH_MS),
            ..OrderFilter::default()
        }),
        "OrderChanges" => json(OrderChangesRequest {
            after: Some(change_cursor()),
            size: Some(100),
            include_totals: Some(true),
            wait_seconds: None,
        }),
        "OrderDetail" => json(OrderDetailRequest {
            trade_no_out: Some(order().trade_no),
            ..OrderDetailRequest::default()
        }),
        _ => json(DashboardFilter {
            start_timestamp: Some(MARCH_MS),
            end_timestamp: Some(MARCH_MS + DAY_MS),
            ..DashboardFilter::default()
        }),
    }
}

/// Returns `data` of a successful call.
pub(super) fn data(call: &str) -> Value {
    match call {
        "LogIn" | "SwitchGroup" => json(session()),
        "DevicePage" => page(device()),
        "QueryOrderList" => page(OrderRecord { head: order(), detail_vo_list: vec![line()] }),
        "OrderChanges" => json(OrderChanges {
            records: vec![OrderChange {
                change_no: 764,
                order: OrderRecord { head: order(), detail_vo_list: vec![line()] },
            }],
            next: change_cursor(),
            more: false,
            totals: Some(OrderTotals {
                change_no: 764,
                orders: 764,
                sales: vec![SalesTotals {
                    currency: order().currency,
                    orders: 741,
                    pay_amount: 178_300,
                    refund_amount: 250,
                }],
            }),
        }),
        "OrderDetail" => json(OrderDetail {
            trade_no_out: order().trade_no,
            head: order(),
            detail_list: vec![line()],
            shipment_error_list: None,
        }),
        "Summary" => json(summary()),
        "BestSellingProduct" => {
            json(BestSellingProduct { best: product(), rank_list: vec![product()] })
        }
        "SalesByDevice" => json([DeviceSales {
            device_code: "HBR-001".to_owned(),
            device_name: "Pier 1, lobby".to_owned(),
            order_count: 2,
            sales_count: 3,
            sales_amount: 7.25,
        }]),
        "SalesTrend" => {
            json([TrendDay { label: "2026-03-01".to_owned(), amount: 7.25, order_count: 2 }])
        }
        "DeviceAisle" => json([aisles()]),
        "DeviceProfile" => json(DeviceProfile { list: vec![device()] }),
        "OnlineDevices" => json(online_devices()),
        _ => Value::Null,
    }
}

/// The types of the contract are objects and lists, which can always be serialized.
fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn change_cursor() -> String {
    "AAAAAAAAAAEAAAAAAAAC_A".to_owned()
}

fn page(record: impl Serialize) -> Value {
    json(Page { total: 1, current: 1, size: 10, records: vec![record] })
}

fn session() -> SessionData {
    let group = |id: &str, name: &str| SwitchableGroup {
        group_id: id.to_owned(),
        group_name: name.to_owned(),
    };
    SessionData {
        access_token: "AAAAAAAAAAEAAAAAAAAAAZayGC1ZYilYpZa858gk9soPfvyuURrf9Mj0fZj1FruO".to_owned(),
        group_id: "harbor-offices".to_owned(),
        switchable_groups: vec![
            group("harbor-offices", "Harbor Offices"),
            group("tokyo-stations", "東京ステーション"),
        ],
        expires_in: MARCH_MS + 7_200_000,
    }
}

fn device() -> DeviceRecord<'static> {
    DeviceRecord {
        device_code: "HBR-001".into(),
        device_name: "Pier 1, lobby".into(),
        group_id: "harbor-offices".into(),
        group_name: "Harbor Offices".into(),
        device_model: "Borne Duo 48".into(),
        address: "1 Pier Street, ground floor, Harbor City".into(),
        is_online: 0,
        total_curr_stock: 200,
        last_active_timestamp: Some(MARCH_MS),
        create_timestamp: MARCH_MS - 90 * DAY_MS,
    }
}

fn order() -> OrderHead {
    OrderHead {
        trade_no: "2026030111474600000000073873".to_owned(),
        trade_no_in: "oid:837c06e774e27eb5".to_owned(),
        order_id: "837c06e774e27eb5".to_owned(),
        device_code: "HBR-001".to_owned(),
        currency: "USD".to_owned(),
        total_amount: 275,
        pay_amount: 275,
        refund_amount: 0,
        pay_status: 1,
        shipment_status: 1,
        pay_channel_name: Some("Mobile wallet".to_owned()),
        shipment_time: Some("2026-03-01 11:48:26".to_owned()),
        card_number: None,
        phone: Some("+* *** **5431".to_owned()),
        trade_start_time: "2026-03-01 11:47:46".to_owned(),
        pay_end_time: Some("2026-03-01 11:48:03".to_owned()),
        pay_end_date: "2026-03-01 11:48:03".to_owned(),
    }
}

fn line() -> LineItem {
    LineItem {
        goods_id: "P1005".to_owned(),
        goods_name: "Orange Juice 300 ml".to_owned(),
        aisle_code: "702".to_owned(),
        count: 1,
        goods_price: 275,
        sale_price: 275,
        pay_amount: 275,
        shipment_status: 1,
        shipment_err_code: 0,
        shipment_fail_desc: None,
    }
}

fn summary() -> Summary<'static> {
    Summary {
        start_timestamp: MARCH_MS,
        end_timestamp: MARCH_MS + DAY_MS,
        time_zone: "UTC".into(),
        currency: "USD".into(),
        kpi_list: vec![Kpi {
            code: "salesAmount".into(),
            name: "Sales amount".into(),
            value: "7.25".into(),
            kind: "money".into(),
        }],
        unconverted_orders: 0,
    }
}

fn product() -> ProductSales {
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

fn aisles() -> DeviceAisles {
    let aisle = Aisle {
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
    };
    DeviceAisles {
        device_code: "HBR-001".to_owned(),
        device_name: "Pier 1, lobby".to_owned(),
        cabinets: vec![Cabinet {
            cabinet_code: "1".to_owned(),
            layers: vec![Layer { layer: 7, aisles: vec![aisle] }],
        }],
    }
}

fn online_devices() -> OnlineDevices<'static> {
    OnlineDevices {
        total_count: 1,
        online_count: 1,
        offline_count: 0,
        list: vec![OnlineDevice {
            device_code: "HBR-001".into(),
            device_name: "Pier 1, lobby".into(),
            is_online: 1,
            last_active_timestamp: Some(MARCH_MS),
        }],
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::ENDPOINTS;

    use super::*;
    use crate::integrator;

    /// VER-2: every call has an example, with exactly the fields that its schema requires.
    #[test]
    fn examples_have_the_fields_of_their_schemas() {
        let document = integrator::document(integrator::DEFAULT_SERVER);
        for endpoint in ENDPOINTS {
            let operation = &document["paths"][format!("/{}", endpoint.path)]["post"];
            let success = &operation["responses"]["200"]["content"]["application/json"];
            check(&document, &success["schema"]["oneOf"][0], &success["example"]);
            if endpoint.request.is_some() {
                let body = &operation["requestBody"]["content"]["application/json"];
                check(&document, &body["schema"], &body["example"]);
            }
            let is_empty = endpoint.name == "LogOut";
            assert_eq!(success["example"]["data"].is_null(), is_empty, "{}", endpoint.name);
        }
    }

    /// Checks the fields of objects, the items of lists, and values of enumerations.
    fn check(document: &Value, schema: &Value, value: &Value) {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').expect("a reference in the document");
            let schema = document.pointer(pointer);
            return check(document, schema.unwrap_or_else(|| panic!("no {reference}")), value);
        }
        if let Some(either) = schema["anyOf"].as_array() {
            return check(document, &either[0], value);
        }
        if let Some(allowed) = schema["enum"].as_array() {
            assert!(allowed.contains(value), "{value} is not in {schema}");
        }
        for item in value.as_array().into_iter().flatten() {
            check(document, &schema["items"], item);
        }
        let Some(object) = value.as_object() else { return };
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(required.as_str().expect("a name")), "{required}: {value}");
        }
        for (name, value) in object {
            let field = &schema["properties"][name];
            assert!(field.is_object(), "{name} is not in {schema}");
            check(document, field, value);
        }
    }
}
