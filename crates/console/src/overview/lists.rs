//! The cards that list products and devices.

use std::cmp::Reverse;

use kiosque_model::sales::{DeviceSales, ProductRank};
use maud::{Markup, html};

use super::{
    DEVICES, DOLLARS, FAILURES, ITEMS, NO_FAILURES, NO_SALES, OF_SHIPMENTS, Overview, PRODUCTS,
    ROWS_MAX,
};
use crate::components::{BarRow, bars, card, empty, linked};
use crate::devices::path_of;
use crate::format;
use crate::frame::Frame;
use crate::orders::Sales;
use crate::refill::path_of_product;

pub(super) fn products(frame: &Frame<'_>, view: &Overview) -> Markup {
    let rows: Vec<BarRow<'_>> = view
        .sales
        .products
        .iter()
        .take(ROWS_MAX)
        .map(|product| product_row(view, product))
        .collect();
    let body = match rows.as_slice() {
        [] => empty(frame.say(NO_SALES)),
        rows => bars(rows, format::count),
    };
    card("products", frame.say(PRODUCTS), frame.say(ITEMS), &body)
}

/// The best-selling devices, by amount and then by code.
pub(super) fn devices(frame: &Frame<'_>, view: &Overview) -> Markup {
    let amount = |device: &DeviceSales| device.turnover.amount.cents();
    let mut devices: Vec<&DeviceSales> = view.sales.devices.iter().collect();
    devices.sort_by(|one, other| {
        (Reverse(amount(one)), &one.code).cmp(&(Reverse(amount(other)), &other.code))
    });
    let rows: Vec<BarRow<'_>> = devices
        .into_iter()
        .take(ROWS_MAX)
        .map(|device| row(device, html! {}, amount(device), None))
        .collect();
    let body = match rows.as_slice() {
        [] => empty(frame.say(NO_SALES)),
        rows => bars(rows, format::whole_dollars),
    };
    card("by-device", frame.say(DEVICES), frame.say(DOLLARS), &body)
}

/// The devices with the most orders that were not fully shipped.
pub(super) fn failures(frame: &Frame<'_>, view: &Overview) -> Markup {
    let failed = |device: &DeviceSales| device.turnover.failed;
    let mut devices: Vec<&DeviceSales> =
        view.sales.devices.iter().filter(|device| failed(device) > 0).collect();
    devices.sort_by(|one, other| {
        (Reverse(failed(one)), &one.code).cmp(&(Reverse(failed(other)), &other.code))
    });
    let rows: Vec<BarRow<'_>> = devices
        .into_iter()
        .take(ROWS_MAX)
        .map(|device| {
            let path = |sales| view.sales_path(sales, &device.code);
            let orders = format::count(device.turnover.shipped + failed(device));
            let orders = OF_SHIPMENTS.fill(frame.language, &[&orders]);
            let note = linked(Some(&path(Sales::Ended)), &orders);
            row(device, note, failed(device), Some(path(Sales::Failed)))
        })
        .collect();
    let body = match rows.as_slice() {
        [] if view.sales.devices.is_empty() => empty(frame.say(NO_SALES)),
        [] => empty(frame.say(NO_FAILURES)),
        rows => bars(rows, format::count),
    };
    card("failures", frame.say(FAILURES), frame.say(super::ORDERS), &body)
}

/// Links to the aisles with the product. One without a name is shown by its id.
fn product_row<'v>(view: &Overview, product: &'v ProductRank) -> BarRow<'v> {
    let name = product.goods_name.as_deref().filter(|name| !name.is_empty());
    let name = name.unwrap_or(&product.goods_id);
    let href = Some(path_of_product(&product.goods_id, &view.groups));
    BarRow { name, href, note: html! {}, value: product.items, value_href: None }
}

fn row(device: &DeviceSales, note: Markup, value: i64, value_href: Option<String>) -> BarRow<'_> {
    BarRow { name: &device.name, href: Some(path_of(&device.code)), note, value, value_href }
}
