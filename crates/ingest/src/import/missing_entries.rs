//! The devices and products that the orders of a report need and that do not exist. Each is created
//! together with the first of these orders that is stored.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{DeviceEntry, Fleet, ProductEntry};
use kiosque_store::{DeviceGroups, EntryIndexes, NeededEntries, OrderOutcome, Store};

use super::ImportError;
use crate::csv::MappedOrder;

/// The missing devices and products of a report. Order files have none.
#[derive(Debug, Default)]
pub(super) struct MissingEntries {
    /// The entries, each as the first valid order describes it.
    fleet: Arc<Fleet>,
    devices: Positions,
    products: Positions,
    /// The entries that an order needs, by its line.
    needed: HashMap<u64, EntryIndexes>,
}

/// The codes or ids of entries, with the positions of those that did not exist.
#[derive(Debug, Default)]
struct Positions {
    by_name: HashMap<String, Option<usize>>,
    created: HashSet<usize>,
}

impl Positions {
    fn of_existing(names: impl IntoIterator<Item = String>) -> Positions {
        let by_name = names.into_iter().map(|name| (name, None)).collect();
        Positions { by_name, created: HashSet::new() }
    }

    /// Returns the position of an entry that did not exist. The first time, `add` adds it.
    fn of(&mut self, name: &str, add: impl FnOnce() -> usize) -> Option<usize> {
        match self.by_name.get(name) {
            Some(known) => *known,
            None => *self.by_name.entry(name.to_owned()).or_insert_with(|| Some(add())),
        }
    }

    /// Returns those of the entries that were created.
    fn created<T: Clone>(&self, entries: &[T]) -> Vec<T> {
        let entries = (0..).zip(entries);
        let created = entries.filter(|(position, _)| self.created.contains(position));
        created.map(|(_, entry)| entry.clone()).collect()
    }

    fn is_missing(&self, position: usize) -> bool {
        !self.created.contains(&position)
    }
}

impl MissingEntries {
    /// Reads which devices and products exist.
    pub(super) async fn read(store: &Store) -> Result<MissingEntries, ImportError> {
        let devices = Positions::of_existing(store.device_codes().await?);
        let products = Positions::of_existing(store.product_names().await?.into_keys());
        Ok(MissingEntries { devices, products, ..MissingEntries::default() })
    }

    /// Adds the entries that a valid order needs.
    pub(super) fn add(&mut self, order: &MappedOrder) {
        let fleet = Arc::make_mut(&mut self.fleet);
        let device = order.device.as_ref().and_then(|device| {
            self.devices.of(device.code.as_str(), || {
                fleet.devices.push(device.clone());
                fleet.devices.len() - 1
            })
        });
        let products = order.products.iter().filter_map(|product| {
            self.products.of(&product.id, || {
                fleet.products.push(product.clone());
                fleet.products.len() - 1
            })
        });
        let needed = EntryIndexes { device, products: products.collect() };
        if needed != EntryIndexes::default() {
            self.needed.insert(order.first_line, needed);
        }
    }

    /// Checks the entries, and adds the new devices to the groups of all devices.
    pub(super) async fn check(
        &self,
        store: &Store,
        now: UnixMs,
        groups: &mut DeviceGroups,
    ) -> Result<(), ImportError> {
        if *self.fleet != Fleet::default() {
            groups.extend(store.check_new_entries(Arc::clone(&self.fleet), now).await?);
        }
        Ok(())
    }

    /// Returns the missing entries that the orders of these lines need; `None` without any.
    pub(super) fn of_lines(&self, lines: &[u64]) -> Option<NeededEntries> {
        let of_orders: Vec<EntryIndexes> = lines.iter().map(|line| self.of_line(*line)).collect();
        let is_any = of_orders.iter().any(|one| *one != EntryIndexes::default());
        is_any.then(|| NeededEntries { fleet: Arc::clone(&self.fleet), of_orders })
    }

    fn of_line(&self, line: u64) -> EntryIndexes {
        let Some(EntryIndexes { device, products }) = self.needed.get(&line) else {
            return EntryIndexes::default();
        };
        let products = products.iter().copied();
        EntryIndexes {
            device: device.filter(|device| self.devices.is_missing(*device)),
            products: products.filter(|product| self.products.is_missing(*product)).collect(),
        }
    }

    /// Returns the devices and the products that were created.
    pub(super) fn created_entries(&self) -> (Vec<DeviceEntry>, Vec<ProductEntry>) {
        (self.devices.created(&self.fleet.devices), self.products.created(&self.fleet.products))
    }

    /// Records that the entries of stored orders exist.
    pub(super) fn created(&mut self, needed: &[EntryIndexes], outcomes: &[OrderOutcome]) {
        for (one, outcome) in needed.iter().zip(outcomes) {
            if outcome.is_stored() {
                self.devices.created.extend(one.device);
                self.products.created.extend(&one.products);
            }
        }
    }
}
