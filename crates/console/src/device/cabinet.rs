//! The aisles of a device, arranged as on its front: cabinets, layers, and the aisles of each.

use kiosque_contract::inventory::AisleItem;
use kiosque_model::sales::permille;
use maud::{Markup, html};

use crate::components::{card, empty};
use crate::format;
use crate::frame::Frame;
use crate::text::texts;
use crate::words::DISABLED;

texts! {
    AISLES: "Aisles", "货道";
    AISLES_NOTE: "{0} aisles, {1} empty, {2} out of order", "{0} 个货道，{1} 个缺货，{2} 个故障";
    CABINET: "Cabinet {0}", "货柜 {0}";
    LAYER: "Layer {0}", "第 {0} 层";
    BROKEN: "out of order", "故障";
    EMPTY: "empty", "缺货";
    LOW: "low", "不足";
    STOCK: "{0} of {1}", "余 {0} / {1}";
    NONE: "No aisles.", "没有货道。";
}

/// The stock, in tenths of a percent of the capacity, up to which an aisle is low.
const LOW_PERMILLE: i64 = 200;

/// An aisle and the product in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Aisle {
    /// The aisle.
    pub aisle: AisleItem,
    /// The name of the product; `None` if the product is not known.
    pub goods_name: Option<String>,
    /// ISO 4217 code of its price.
    pub currency: String,
}

impl Aisle {
    /// Returns the class of its border, and the text for it.
    fn condition(&self) -> (&'static str, Option<crate::text::Text>) {
        let AisleItem { broken, enabled, curr_stock, max_stock, .. } = self.aisle;
        let is_low = permille(curr_stock, max_stock) <= LOW_PERMILLE;
        match (broken, enabled) {
            (true, _) => ("aisle broken", Some(BROKEN)),
            (false, false) => ("aisle off", Some(DISABLED)),
            _ if curr_stock <= 0 => ("aisle broken", Some(EMPTY)),
            _ if is_low => ("aisle low", Some(LOW)),
            _ => ("aisle", None),
        }
    }
}

/// Renders the aisles, by cabinet and by layer, in order.
pub(super) fn render(frame: &Frame<'_>, aisles: &[Aisle]) -> Markup {
    let count = |test: fn(&AisleItem) -> bool| {
        format::count(aisles.iter().filter(|aisle| test(&aisle.aisle)).count())
    };
    let counts = [
        count(|_| true),
        count(|aisle| aisle.curr_stock <= 0 && aisle.enabled && !aisle.broken),
        count(|aisle| aisle.broken),
    ];
    let note = AISLES_NOTE.fill(frame.language, &counts.each_ref().map(String::as_str));
    let cabinets = by(aisles, |aisle| aisle.aisle.cabinet_code.clone());
    let body = html! {
        @if aisles.is_empty() { (empty(frame.say(NONE))) }
        @for (code, aisles) in &cabinets {
            @let name = CABINET.fill(frame.language, &[code]);
            @if cabinets.len() > 1 { h3 { (name) } }
            div.scroll tabindex="0" role="group" aria-label=(name) {
                div.cabinet {
                    @for (layer, aisles) in &by(aisles, |aisle| aisle.aisle.layer) {
                        ul.layer aria-label=(LAYER.fill(frame.language, &[&layer.to_string()])) {
                            @for aisle in aisles { (one(frame, aisle)) }
                        }
                    }
                }
            }
        }
    };
    card("aisles", frame.say(AISLES), &note, &body)
}

fn one(frame: &Frame<'_>, aisle: &Aisle) -> Markup {
    let (class, condition) = aisle.condition();
    let item = &aisle.aisle;
    let stock = [format::count(item.curr_stock), format::count(item.max_stock)];
    let level = permille(item.curr_stock.clamp(0, item.max_stock.max(0)), item.max_stock);
    html! {
        li class=(class) {
            b {
                (item.aisle_code)
                @if let Some(condition) = condition { " · " (frame.say(condition)) }
            }
            span { (aisle.goods_name.as_deref().unwrap_or(&item.goods_id)) }
            span { (format::major(item.price, &aisle.currency)) }
            span { (STOCK.fill(frame.language, &stock.each_ref().map(String::as_str))) }
            svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="1000" height="10" {}
                rect.fill width=(level) height="10" {}
            }
        }
    }
}

/// Groups the aisles by a key, in the order in which keys first appear.
fn by<K: PartialEq, A: std::borrow::Borrow<Aisle>>(
    aisles: &[A],
    key: impl Fn(&Aisle) -> K,
) -> Vec<(K, Vec<&Aisle>)> {
    let mut parts: Vec<(K, Vec<&Aisle>)> = Vec::new();
    for aisle in aisles {
        let aisle = aisle.borrow();
        let of = key(aisle);
        match parts.iter_mut().find(|(known, _)| *known == of) {
            Some((_, part)) => part.push(aisle),
            None => parts.push((of, vec![aisle])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aisle(code: &str, cabinet: &str, layer: i64, stock: i64) -> Aisle {
        let aisle = AisleItem {
            aisle_code: code.to_owned(),
            cabinet_code: cabinet.to_owned(),
            layer,
            goods_id: "g".to_owned(),
            price: 150,
            show_price: 150,
            curr_stock: stock,
            max_stock: 10,
            enabled: true,
            broken: false,
        };
        Aisle { aisle, goods_name: None, currency: "USD".to_owned() }
    }

    #[test]
    fn aisles_are_by_cabinet_and_layer_in_their_order() {
        let aisles = [
            aisle("1", "A", 1, 5),
            aisle("2", "A", 2, 5),
            aisle("3", "A", 1, 5),
            aisle("4", "B", 1, 5),
        ];
        let codes = |part: &[&Aisle]| -> Vec<String> {
            part.iter().map(|aisle| aisle.aisle.aisle_code.clone()).collect()
        };
        let cabinets = by(&aisles, |aisle| aisle.aisle.cabinet_code.clone());
        let layers = by(&cabinets[0].1, |aisle| aisle.aisle.layer);
        let layers: Vec<(i64, Vec<String>)> =
            layers.iter().map(|(layer, part)| (*layer, codes(part))).collect();
        assert_eq!(layers, [(1, vec!["1".to_owned(), "3".to_owned()]), (2, vec!["2".to_owned()])]);
        assert_eq!(codes(&cabinets[1].1), ["4"]);
    }

    #[test]
    fn each_condition_has_a_text() {
        let text = |aisle: Aisle| aisle.condition().1.map(|text| text.en);
        let with = |change: fn(&mut AisleItem), stock| {
            let mut changed = aisle("1", "A", 1, stock);
            change(&mut changed.aisle);
            text(changed)
        };
        assert_eq!(with(|_| {}, 3), None);
        assert_eq!(with(|_| {}, 2), Some("low"));
        assert_eq!(with(|_| {}, 0), Some("empty"));
        assert_eq!(with(|aisle| aisle.enabled = false, 0), Some("disabled"));
        assert_eq!(with(|aisle| aisle.broken = true, 5), Some("out of order"));
    }
}
