//! The KPIs of the summary (DASH-15, DASH-16).

use kiosque_contract::Kpi;
use kiosque_model::grouped;
use kiosque_model::sales::permille;
use kiosque_store::Summary;

use kiosque_locale::Locale;

/// The value of a share of nothing (DASH-16).
const OF_NOTHING: &str = "–";

/// Returns every KPI, in the order of DASH-15.
pub(super) fn list(summary: &Summary, locale: Locale) -> Vec<Kpi<'static>> {
    let turnover = &summary.turnover;
    let average = money(turnover.average_order_cents());
    let online_devices = count(summary.online_devices);
    let shipped = percent(turnover.shipped, turnover.shipped + turnover.failed);
    let online = percent(summary.online_devices, summary.devices);
    let figures = [
        ("salesAmount", ("Sales amount", "销售额"), money(turnover.amount.cents()), "money"),
        ("orderCount", ("Orders", "订单数"), count(turnover.orders), "count"),
        ("itemCount", ("Items sold", "商品销量"), count(turnover.items), "count"),
        ("averageOrderAmount", ("Average order amount", "客单价"), average, "money"),
        ("refundAmount", ("Refunds", "退款金额"), money(turnover.refund.cents()), "money"),
        ("shipmentSuccessRate", ("Shipment success rate", "出货成功率"), shipped, "percent"),
        ("deviceCount", ("Devices", "设备数"), count(summary.devices), "count"),
        ("onlineDeviceCount", ("Devices online", "在线设备数"), online_devices, "count"),
        ("onlineRate", ("Online rate", "在线率"), online, "percent"),
    ];
    let list = figures.into_iter().map(|(code, (en, zh), value, kind)| Kpi {
        code: code.into(),
        name: match locale {
            Locale::En => en.into(),
            Locale::ZhCn => zh.into(),
        },
        value: value.into(),
        kind: kind.into(),
    });
    list.collect()
}

fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", grouped(cents / 100), cents % 100)
}

fn count(count: i64) -> String {
    count.to_string()
}

/// Returns a share in percent; [`OF_NOTHING`] if the whole is 0.
fn percent(part: i64, whole: i64) -> String {
    if whole == 0 {
        return OF_NOTHING.to_owned();
    }
    let permille = permille(part, whole);
    format!("{}.{}%", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_formatted_for_people() {
        for (cents, text) in [
            (0, "0.00"),
            (5, "0.05"),
            (99_999, "999.99"),
            (100_000, "1,000.00"),
            (123_450, "1,234.50"),
            (12_345_678_901, "123,456,789.01"),
            (-123_450, "-1,234.50"),
        ] {
            assert_eq!(money(cents), text);
        }
        for (part, whole, text) in
            [(975, 1_000, "97.5%"), (7, 7, "100.0%"), (0, 7, "0.0%"), (0, 0, "–")]
        {
            assert_eq!(percent(part, whole), text);
        }
        assert_eq!(count(1_234), "1234");
    }
}
