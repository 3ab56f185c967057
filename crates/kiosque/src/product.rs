//! `kiosque product`

use kiosque_contract::inventory::ProductItem;
use kiosque_store::WhenAbsent;

use crate::args::ProductWhat;
use crate::output;
use crate::settings::Settings;
use crate::table::{ABSENT, Table};
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, what: ProductWhat) -> anyhow::Result<CommandOutcome> {
    let ProductWhat::List { output } = what;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let products = output::whole(async |part| store.inventory().products(part).await).await?;
    output.print(&products, |products| table(products))?;
    Ok(CommandOutcome::Complete)
}

/// Prices are minor units, as in a fleet file.
fn table(products: &[ProductItem]) -> Table<5> {
    let mut table = Table::new(["ID", "CURRENCY", "PRICE", "CATEGORY", "NAME"]);
    for product in products {
        table.add([
            product.goods_id.clone(),
            product.currency.clone(),
            product.default_price.map_or_else(|| ABSENT.to_owned(), |price| price.to_string()),
            product.category.clone(),
            product.goods_name.clone(),
        ]);
    }
    table
}
