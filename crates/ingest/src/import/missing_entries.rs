//! The missing devices and products that the orders of a report need. Each is created together with
//! the first of these orders that is stored. Stored products without a price get one in the same
//! way.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kiosque_model::UnixMs;
use kiosque_model::fleet::{DeviceEntry, Fleet, ProductEntry};
use kiosque_store::{DeviceGroups, EntryIndexes, NeededEntries, OrderOutcome, Store};

use super::ImportError;

/// The missing devices and products of a report. Order files have none.
#[derive(Debug, Default)]
pub(super) struct MissingEntries {
    /// The entries, each as the first valid order describes it, with the first price in its
    /// currency.
    fleet: Arc<Fleet>,
    devices: Positions,
    products: Positions,
    /// The stored products without a price.
    unpriced: HashSet<String>,
    /// The ids of all groups.
    groups: HashSet<String>,
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

    /// Returns the entries that were created.
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
    /// Reads which devices and products exist, and which products have no price.
    pub(super) async fn read(store: &Store) -> Result<MissingEntries, ImportError> {
        let stored = store.fleet().snapshot().await?;
        let devices = Positions::of_existing(stored.groups_by_device.into_codes());
        let unpriced: HashSet<String> =
            store.fleet().unpriced_products().await?.into_iter().collect();
        let priced = stored.product_names.into_keys();
        let priced = priced.filter(|product| !unpriced.contains(product));
        let products = Positions::of_existing(priced);
        let groups = store.inventory().group_ids().await?.into_values().collect();
        Ok(MissingEntries { devices, products, unpriced, groups, ..MissingEntries::default() })
    }

    /// Returns the device of an order as it is to be created; `None` if it exists, or an earlier
    /// order of the report has described it.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) fn new_device(
        &self,
        code: &str,
        device: Option<Result<DeviceEntry, String>>,
    ) -> Result<Option<DeviceEntry>, String> {
        let Some(device) = device.filter(|_| !self.devices.by_name.contains_key(code)) else {
            return Ok(None);
        };
        let device = device?;
        match device.group.as_ref().filter(|group| !self.groups.contains(group.as_str())) {
            Some(group) => Err(format!("create.device.group: no group {group} is known")),
            None => Ok(Some(device)),
        }
    }

    /// Adds the entries that a valid order needs.
    pub(super) fn add(
        &mut self,
        first_line: u64,
        code: &str,
        device: Option<DeviceEntry>,
        products: Vec<ProductEntry>,
    ) {
        let device = match device {
            Some(device) => Some(self.add_device(device)),
            None => self.devices.by_name.get(code).copied().flatten(),
        };
        let products = products.into_iter().filter_map(|product| self.product(product)).collect();
        let needed = EntryIndexes { device, products };
        if needed != EntryIndexes::default() {
            self.needed.insert(first_line, needed);
        }
    }

    fn add_device(&mut self, device: DeviceEntry) -> usize {
        let devices = &mut Arc::make_mut(&mut self.fleet).devices;
        let position = devices.len();
        self.devices.by_name.insert(device.code.as_str().to_owned(), Some(position));
        devices.push(device);
        position
    }

    /// Returns the position of a product that does not exist, or that has no price if the order has
    /// one.
    fn product(&mut self, product: ProductEntry) -> Option<usize> {
        let products = &mut Arc::make_mut(&mut self.fleet).products;
        match self.products.by_name.get(&product.id) {
            Some(Some(position)) => {
                let first = &mut products[*position];
                if first.default_price.is_none() && first.currency == product.currency {
                    first.default_price = product.default_price;
                }
                Some(*position)
            }
            Some(None) => None,
            None if product.default_price.is_none() && self.unpriced.contains(&product.id) => None,
            None => {
                let position = products.len();
                self.products.by_name.insert(product.id.clone(), Some(position));
                products.push(product);
                Some(position)
            }
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
            groups.extend(store.fleet().check_new_entries(Arc::clone(&self.fleet), now).await?);
        }
        Ok(())
    }

    /// Returns the missing entries that the orders of these lines need; `None` without any.
    pub(super) fn of_lines(&self, lines: &[u64]) -> Option<NeededEntries> {
        let of_orders: Vec<EntryIndexes> = lines.iter().map(|line| self.of_line(*line)).collect();
        let is_any = of_orders.iter().any(|one| *one != EntryIndexes::default());
        is_any.then(|| NeededEntries { fleet: Arc::clone(&self.fleet), of_orders })
    }

    /// Returns whether the order of this line creates its device, or is stored after one that does.
    pub(super) fn creates_device_of(&self, line: u64) -> bool {
        self.needed.get(&line).is_some_and(|needed| needed.device.is_some())
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
        let mut products = self.products.created(&self.fleet.products);
        // Those that existed got a price.
        products.retain(|product| !self.unpriced.contains(&product.id));
        (self.devices.created(&self.fleet.devices), products)
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
