//! A file whose last line has no line end.

use super::sandbox;
use crate::fleet::order;

/// A file that is cut off in the middle of its last number is a valid one with another sale. The
/// last line is imported with a warning; with `--strict` it is rejected, and creates no product.
#[test]
fn a_last_line_without_a_line_end_is_warned_of_and_rejected_by_a_strict_import() {
    const MAPPING: &str = r#"
        [amount]
        unit = "major"
        [order]
        key = "id"
        deviceCode = "D1"
        currency = "EUR"
        totalAmount = "{#sum}"
        tradeStartTime = "{when}"
        [line]
        goodsId = "{item}"
        salePrice = "{amount}"
        [create.product]
    "#;
    let head = "id,when,item,amount\n1,2026-01-01 10:00:00,Tea,12.50\n";
    let row = "2,2026-01-01 10:01:00,Tea,12.50\n2,2026-01-01 10:01:00,Milk,125";
    let json = [order("3"), order("4")].map(|line| line.trim_end().to_owned());
    let sandbox = sandbox();
    let map = sandbox.file("map.toml", MAPPING);
    let csv = sandbox.file("cut.csv", format!("{head}{row}"));
    let ndjson = sandbox.file("cut.ndjson", json.join("\n"));
    let mapped = ["--map", &map];
    // The rejected line is the first one of the order.
    for (file, line, more) in [(&csv, 3, &mapped[..]), (&ndjson, 2, &[])] {
        let import = [&["import", "orders", file], more].concat();
        let strict = [&import[..], &["--strict"]].concat();
        let ran = sandbox.run(&strict).failure();
        assert_eq!(ran.counts(), [1, 0, 0, 1]);
        let reason =
            format!("line {line}: the last line has no line end; the file may be cut off\n");
        assert!(ran.stderr.starts_with(&reason), "{}", ran.stderr);
        let products = sandbox.run(&["product", "list"]).success();
        assert!(!products.stdout.contains("Milk"), "{}", products.stdout);
    }
    for (file, line, more) in [(&csv, 4, &mapped[..]), (&ndjson, 2, &[])] {
        let import = [&["import", "orders", file], more].concat();
        let ran = sandbox.run(&import).success();
        assert_eq!(ran.counts(), [1, 0, 1, 0]);
        let warning = format!(
            "warning: the last line of {file}, {line}, has no line end; the file may be cut off\n"
        );
        // Before it, the rejected file of the strict import is renamed.
        assert!(ran.stderr.ends_with(&warning), "{}", ran.stderr);
    }
    // A whole file is neither warned of nor rejected, whatever its line ends are.
    for end in ["\n", "\r\n", "\n\n"] {
        let whole = format!("{head}{row}0.00\n").replace('\n', end);
        let whole = sandbox.file("whole.csv", whole);
        let ran = sandbox.run(&["import", "orders", &whole, "--map", &map, "--strict"]).success();
        assert_eq!(ran.stderr, "");
    }
}
