//! All statements.

use crate::sql::statements;
use crate::{
    account_use, accounts, aisle_texts, archive, arrivals, audit, console, dashboard, devices,
    dictionaries, fleet, heartbeats, histories, imports, inventory, keys, known_sources, metadata,
    migrate, orders, owners, rates, receive, refused_requests, scoped, session_clock, sessions,
    sums, verify, versions,
};

// Every statement but those that move data to another store, which are built from its catalog.
statements! {
    [
        account_use, accounts, aisle_texts, archive, arrivals, audit, console, dashboard, devices,
        dictionaries, fleet, heartbeats, histories, imports, inventory, keys, known_sources,
        metadata, migrate, orders, owners, rates, receive, refused_requests, scoped,
        session_clock, sessions, sums, verify, versions
    ]
}
