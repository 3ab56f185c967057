//! The aisles to refill, the first to run out first.

use kiosque_contract::inventory::RefillItem;
use maud::html;

use crate::components::{
    address, columns, download, empty, filter, only_card, parameter, query_of, table, text_field,
};
use crate::csv;
use crate::devices::path_of;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::sort::{Columns, Listed, Sort, Value};
use crate::text::texts;
use crate::words::{AISLE, DEVICE, PRODUCT};

texts! {
    RULE: "Aisles that are enabled, work, and are in an enabled device of an active group. Sold a \
        day is what the device sold of the product, in all groups that it was in, on the 14 days \
        before today, or, if those are fewer, on the days since it came to its group or since its \
        first sale, divided by these days and by its aisles with the product. Days left is the \
        stock, as last reported, divided by that.",
        "列出已启用、正常工作且位于活跃分组中已启用设备的货道。“日销量”为该设备在今天之前 14 天\
        （如更短，则自其加入当前分组或首次销售以来）内在其所属过的所有分组中售出的该商品数量，除以天\
        数及该商品的货道数。“可售天数”为最近上报的库存除以日销量。";
    PRODUCT_ID: "Product id", "商品编号";
    STOCK: "Stock", "库存";
    CAPACITY: "Capacity", "容量";
    SOLD: "Sold a day", "日销量";
    LEFT: "Days left", "可售天数";
    EMPTY: "empty", "已售空";
    NO_SALES: "no sales", "无销售";
    NONE: "No aisle sells.", "没有在售货道。";
    NONE_OF_PRODUCT: "No aisle that sells has this product.", "没有可售货道有此商品。";
    CUT: "Only the first {0} aisles are listed.", "仅列出前 {0} 个货道。";
}

/// The aisles of a group, or of all groups.
#[derive(Clone, Debug)]
pub struct Refill {
    /// The group that owns the devices now.
    pub groups: Groups,
    /// The `goodsId` of the product in them; `None` for all.
    pub product: Option<String>,
    /// The aisles, the first to run out first.
    pub items: Vec<RefillItem>,
    /// Whether more aisles sell.
    pub is_cut: bool,
    /// Their order, if they are sorted.
    pub sort: Sort,
}

impl Listed for RefillItem {
    const COLUMNS: Columns<RefillItem> = &[
        Some(("device", |item| Value::text(&item.device_name))),
        Some(("aisle", |item| Value::text(&item.aisle_code))),
        Some(("product", |item| Value::text(product(item)))),
        Some(("stock", |item| Value::Number(item.stock))),
        Some(("capacity", |item| Value::Number(item.capacity))),
        Some(("sold", |item| Value::Number(item.tenths_sold_a_day()))),
        Some(("left", |item| match (item.stock, item.tenths_of_days_left()) {
            (..=0, _) => Value::Absent,
            (_, left) => Value::Number(left.unwrap_or(i64::MAX)),
        })),
    ];
}

/// Returns the address of the list of the aisles with a product.
pub(crate) fn path_of_product(goods_id: &str, groups: &Groups) -> String {
    address(Section::Refill.path(), &[&parameter("product", goods_id), &groups.query()])
}

/// Renders the list.
pub fn page(frame: &Frame<'_>, view: &Refill) -> String {
    let heading = frame.say(Section::Refill.name());
    let product = view.product.as_deref().unwrap_or_default();
    let of_product = query_of(&[("product", product)]);
    let fields = html! {
        (text_field("search", "product", frame.say(PRODUCT_ID), product))
        (view.groups.field(frame))
    };
    let body = html! {
        (filter(frame, Section::Refill.path(), &fields))
        @if view.items.is_empty() {
            (empty(frame.say(if view.product.is_some() { NONE_OF_PRODUCT } else { NONE })))
        }
        @else { (rows(frame, view)) }
        @if view.is_cut {
            p.note { (CUT.fill(frame.language, &[&format::count(view.items.len())])) }
        }
        p.note { (frame.say(RULE)) }
    };
    frame.render(&Page {
        heading,
        actions: download(
            frame,
            &[&view.groups.query(), &of_product, &view.sort.query(), "format=csv"],
        ),
        content: only_card("refill", heading, &body),
        ..Page::default()
    })
}

/// Returns the list as CSV.
pub fn csv(view: &Refill) -> String {
    let columns: [csv::Column<&RefillItem>; 9] = [
        ("device_code", |item| item.device_code.clone()),
        ("device_name", |item| item.device_name.clone()),
        ("aisle_code", |item| item.aisle_code.clone()),
        ("goods_id", |item| item.goods_id.clone()),
        ("goods_name", |item| item.goods_name.clone()),
        ("stock", |item| item.stock.to_string()),
        ("capacity", |item| item.capacity.to_string()),
        ("sold_a_day", |item| tenths(item.tenths_sold_a_day())),
        ("days_left", |item| item.tenths_of_days_left().map(tenths).unwrap_or_default()),
    ];
    csv::table(&columns, view.sort.rows(&view.items), view.is_cut.then_some(csv::MORE_ROWS))
}

fn rows(frame: &Frame<'_>, view: &Refill) -> maud::Markup {
    let columns = columns(frame, &[DEVICE, AISLE, PRODUCT], &[STOCK, CAPACITY, SOLD, LEFT]);
    let columns = view.sort.columns::<RefillItem>(frame, columns);
    let left = |item: &RefillItem| match (item.stock, item.tenths_of_days_left()) {
        (..=0, _) => frame.say(EMPTY).to_owned(),
        (_, None) => frame.say(NO_SALES).to_owned(),
        (_, Some(left)) => tenths(left),
    };
    table(frame.say(Section::Refill.name()), &columns, view.sort.rows(&view.items), |item| {
        html! {
            th scope="row" {
                a href=(path_of(&item.device_code)) { (item.device_name) }
                " " span.note.code { (item.device_code) }
            }
            td { (item.aisle_code) }
            td { (product(item)) }
            td.number { (format::count(item.stock)) }
            td.number { (format::count(item.capacity)) }
            td.number { (tenths(item.tenths_sold_a_day())) }
            td.number { (left(item)) }
        }
    })
}

/// Returns the name of a product, or its id if it has none.
fn product(item: &RefillItem) -> &str {
    if item.goods_name.is_empty() { &item.goods_id } else { &item.goods_name }
}

/// Formats tenths with one decimal.
fn tenths(tenths: i64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}
