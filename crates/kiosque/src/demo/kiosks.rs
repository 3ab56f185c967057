//! The kiosks of the demonstration fleet and the stock of their aisles, from which the fleet's
//! devices and the orders derive.

use kiosque_model::DeviceCode;
use kiosque_model::fleet::Aisle;
use kiosque_model::money::Minor;

use super::data::{DATA, Location, Product, Site};
use super::random::Random;

/// Aisles of a layer.
const AISLES_PER_LAYER: u32 = 6;

/// A stocked kiosk.
#[derive(Debug)]
pub(super) struct Kiosk {
    /// Number in the fleet, from 0.
    pub(super) number: u32,
    /// The site that it belongs to.
    pub(super) site: &'static Site,
    /// Its location and model.
    pub(super) location: &'static Location,
    /// Its `deviceCode`.
    pub(super) code: DeviceCode,
    /// Aisles, each with its product.
    pub(super) aisles: Vec<(Aisle, &'static Product)>,
}

impl Kiosk {
    /// Returns whether it sends heartbeats while a demo serves: it is in service, and its group is
    /// active. One kiosk of the default group does not, so that dashboards show an offline kiosk.
    pub(super) fn is_online(&self) -> bool {
        let Location { enabled, online, .. } = self.location;
        self.site.closed_weeks_ago.is_none() && enabled.unwrap_or(true) && online.unwrap_or(true)
    }
}

/// Returns all kiosks, in the order of the data.
pub(super) fn kiosks() -> Vec<Kiosk> {
    let locations = DATA.sites.iter().flat_map(|site| {
        (1..).zip(&site.kiosks).map(move |(place, location)| (site, place, location))
    });
    (0..)
        .zip(locations)
        .map(|(number, (site, place, location))| filled(number, site, place, location))
        .collect()
}

fn filled(number: u32, site: &'static Site, place: u32, location: &'static Location) -> Kiosk {
    let code = DeviceCode::parse(format!("{}-{place:03}", site.prefix))
        .expect("a prefix and a number are a code");
    let range = site.range();
    let mut random = Random::keyed(0xA15_1E00 + u64::from(number));
    let mut products = range.products.iter().cycle().skip(random.below(20) as usize);
    let mut aisles = Vec::new();
    let mut shelf = 0;
    for (cabinet, layers) in (1..).zip(location.cabinets()) {
        for layer in 1..=*layers {
            // Shelves are numbered across cabinets, so that aisle codes are unique in a device.
            shelf += 1;
            for across in 1..=AISLES_PER_LAYER {
                let Some(product) = products.next() else { break };
                let code = format!("{shelf}{across:02}");
                let aisle = stocked_with(product, code, cabinet, layer, range.step, &mut random);
                aisles.push((aisle, product));
            }
        }
    }
    Kiosk { number, site, location, code, aisles }
}

/// Returns an aisle with items of a product.
fn stocked_with(
    product: &Product,
    code: String,
    cabinet: u32,
    layer: u32,
    step: i64,
    random: &mut Random,
) -> Aisle {
    let capacity = product.category().capacity;
    let offer = random.happens(80);
    let price = if offer { product.price * 9 / 10 / step * step } else { product.price };
    Aisle {
        code,
        goods_id: product.id.clone(),
        price: Minor(price),
        show_price: Minor(product.price),
        stock: random.between(0, capacity),
        capacity: i64::from(capacity),
        cabinet: cabinet.to_string(),
        layer: i64::from(layer),
        enabled: !random.happens(30),
        broken: random.happens(20),
    }
}
