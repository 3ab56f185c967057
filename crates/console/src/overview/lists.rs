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
use crate::words::ORDER_COUNT;

pub(super) fn products(frame: &Frame<'_>, view: &Overview) -> Markup {
    let rows = view.sales.products.iter().map(|product| product_row(view, product));
    let body = list(rows, format::count, frame.say(NO_SALES));
    card("products", frame.say(PRODUCTS), frame.say(ITEMS), &body)
}

/// The best-selling devices, by amount and then by code.
pub(super) fn devices(frame: &Frame<'_>, view: &Overview) -> Markup {
    let amount = |device: &DeviceSales| device.turnover.amount.cents();
    let devices = most_first(view, amount);
    let rows = devices.into_iter().map(|device| row(device, html! {}, amount(device), None));
    let body = list(rows, format::whole_dollars, frame.say(NO_SALES));
    card("by-device", frame.say(DEVICES), frame.say(DOLLARS), &body)
}

/// The devices with the most orders that were not fully shipped.
pub(super) fn failures(frame: &Frame<'_>, view: &Overview) -> Markup {
    let failed = |device: &DeviceSales| device.turnover.failed;
    let devices = most_first(view, failed).into_iter().filter(|device| failed(device) > 0);
    let rows = devices.map(|device| {
        let path = |sales| view.sales_path(sales, &device.code);
        let orders = format::count(device.turnover.shipped + failed(device));
        let orders = OF_SHIPMENTS.fill(frame.language, &[&orders]);
        let note = linked(Some(&path(Sales::Ended)), &orders);
        row(device, note, failed(device), Some(path(Sales::Failed)))
    });
    let none = if view.sales.devices.is_empty() { NO_SALES } else { NO_FAILURES };
    let body = list(rows, format::count, frame.say(none));
    card("failures", frame.say(FAILURES), frame.say(ORDER_COUNT), &body)
}

/// Returns the devices by a figure, the largest first, and then by code.
fn most_first(view: &Overview, figure: impl Fn(&DeviceSales) -> i64) -> Vec<&DeviceSales> {
    let mut devices: Vec<&DeviceSales> = view.sales.devices.iter().collect();
    devices.sort_by_key(|device| (Reverse(figure(device)), &device.code));
    devices
}

/// Renders the first rows, or that there is none.
fn list<'v>(
    rows: impl Iterator<Item = BarRow<'v>>,
    figure: fn(i64) -> String,
    none: &str,
) -> Markup {
    let rows: Vec<BarRow<'_>> = rows.take(ROWS_MAX).collect();
    if rows.is_empty() { empty(none) } else { bars(&rows, figure) }
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
