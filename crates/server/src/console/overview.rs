//! The overview.

use kiosque_console::overview::{self, Overview, Point};
use kiosque_console::period::Period;
use kiosque_console::sort::PARAMETER;
use kiosque_model::Day;
use kiosque_store::{FleetSalesQuery, Oversight};

use super::choices::{choice, chosen, format, sort};
use super::fields::Fields;
use super::reply::Reply;
use super::request::SignedIn;
use crate::failure::Failure;

/// The products on the page, and a few more.
const PRODUCTS_MAX: usize = 20;

/// Shows the overview of the period and the group that the query chooses.
pub(super) async fn show(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    let (app, now) = (caller.call.app, caller.call.now);
    let known = [&Period::PARAMETERS[..], &["group", PARAMETER, "format"]].concat();
    let query = caller.call.known_fields(&known)?;
    let period = period(&query, app.store.zone().day_of(now))?;
    let sort = sort::<Point>(&query)?;
    let groups = choice(&app.store, &query).await?;
    let sales = app.store.reports().fleet_sales(FleetSalesQuery {
        group: chosen(&app.store, &groups).await?,
        totals_from: period.first_before(),
        first_day: period.first(),
        last_day: period.last(),
        products_max: PRODUCTS_MAX,
        online: app.online_since(now),
        now,
    });
    let sales = sales.await?.ok_or_else(Failure::not_found)?;
    let view = Overview { period, groups, sales, sort };
    let csv = |view: &Overview| overview::csv(view, app.store.zone());
    Ok(caller.reply(format(&query)?, &view, overview::page, "sales.csv", csv))
}

/// Returns the period that a query chooses.
pub(super) fn period(query: &Fields, today: Day) -> Result<Period, Failure> {
    let given = Period::PARAMETERS.map(|name| query.trimmed(name));
    Period::of(given.each_ref().map(Option::as_deref), today).map_err(Failure::Parameter)
}
