//! Fleet files: groups, accounts, products, devices and aisles, in TOML or JSON with the same keys.

mod errors;
mod readable;

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use kiosque_contract::{
    FleetAccount, FleetAisle, FleetDevice, FleetFile, FleetGroup, FleetProduct, Object,
};
use kiosque_model::fleet::{
    AccountEntry, Aisle, DeviceEntry, EntryKind, Fleet, GroupEntry, Password, ProductEntry,
};
use kiosque_model::money::MINOR_MAX;
use kiosque_model::{
    ActedBy, Currency, DeviceCode, GroupId, LoginName, Minor, Zone, ids::check_id,
};
use kiosque_store::{Applied, ApplyError, Credentials, NewHash, NewHashes, Store};

use kiosque_clock::{Clock, Entropy, NoEntropy};

use crate::json_line::with_plain_types;
use crate::toml_error::toml_error;
pub use errors::FleetErrors;
use errors::{FileError, Place};

/// Maximum number of listed warnings; further ones are counted.
const WARNINGS_MAX: usize = 50;
/// Maximum number of listed errors; further ones are counted.
const ERRORS_MAX: usize = 1_000;

/// How a fleet file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// Reads a fleet file.
///
/// # Errors
/// All errors, each with its entry, or the position at which the file is not TOML or JSON.
pub fn parse(text: &str, format: Format, zone: &Zone) -> Result<Fleet, FleetErrors> {
    // The byte order mark of some editors.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut errors = Errors(Vec::new());
    let given = match parse_whole(text, format) {
        Ok(given) => given,
        Err(error) => parse_parts(text, format, error, &mut errors.0),
    };
    let fleet = Fleet {
        groups: given.group.into_iter().filter_map(|Object(one)| errors.group(one)).collect(),
        accounts: given.account.into_iter().filter_map(|Object(one)| errors.account(one)).collect(),
        products: given.product.into_iter().filter_map(|Object(one)| errors.product(one)).collect(),
        devices: given
            .device
            .into_iter()
            .filter_map(|Object(one)| errors.device(one, zone))
            .collect(),
    };
    let place = |kind| move |id: &str| Place::entry(kind, id);
    let groups = fleet.groups.iter().map(|one| one.id.as_str());
    errors.repeats(groups, place(EntryKind::Group));
    let accounts = fleet.accounts.iter().map(|one| one.login_name.as_str());
    errors.repeats(accounts, place(EntryKind::Account));
    errors.repeats(fleet.products.iter().map(|one| one.id.as_str()), place(EntryKind::Product));
    errors.repeats(fleet.devices.iter().map(|one| one.code.as_str()), place(EntryKind::Device));
    let Errors(errors) = errors;
    if errors.is_empty() { Ok(fleet) } else { Err(FleetErrors { errors, readable: fleet }) }
}

/// Reads a file in which every key is known and every value has its type.
///
/// # Errors
/// The first error.
fn parse_whole(text: &str, format: Format) -> Result<FleetFile, String> {
    match format {
        Format::Toml => toml::from_str(text).map_err(|error| toml_error(text, &error)),
        Format::Json => {
            let mut json = serde_json::Deserializer::from_str(text);
            let read = serde_path_to_error::deserialize(&mut json);
            let Object(read) = read.map_err(|error| json_error(&error))?;
            json.end().map_err(|error| no_json(&error))?;
            Ok(read)
        }
    }
}

/// Reads the parts of a file that can be read, and adds all errors, at least `first`.
fn parse_parts(
    text: &str,
    format: Format,
    first: String,
    errors: &mut Vec<FileError>,
) -> FleetFile {
    let value = match format {
        Format::Toml => toml::from_str(text).ok().map(readable::json_of),
        Format::Json => serde_json::from_str(text).ok(),
    };
    let file = value.map(|value| readable::entries(value, errors));
    if errors.is_empty() {
        errors.push(first.into());
    }
    file.unwrap_or_default()
}

/// Returns the error with its entry; in a text that is not JSON, with the position only.
fn json_error(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.inner().is_data() {
        true => with_plain_types(&error.to_string()),
        false => no_json(error.inner()),
    }
}

fn no_json(error: &serde_json::Error) -> String {
    format!("not JSON: {error}")
}

/// Returns warnings about a fleet: values that are valid but probably wrong.
pub fn warnings(fleet: &Fleet) -> Vec<String> {
    let aisles = fleet
        .devices
        .iter()
        .flat_map(|device| device.aisles.iter().flatten().map(move |aisle| (&device.code, aisle)));
    // A capacity of 0 means that none was given.
    let full = aisles.filter(|(_, aisle)| (1..aisle.stock).contains(&aisle.capacity));
    let texts = full.map(|(device, aisle)| {
        let Aisle { code, stock, capacity, .. } = aisle;
        format!("device {device}: aisle {code}: stock: {stock} is more than capacity, {capacity}")
    });
    listed(texts, WARNINGS_MAX, "warnings")
}

/// Returns the first texts, and how many more there are.
fn listed(mut texts: impl Iterator<Item = String>, max: usize, what: &str) -> Vec<String> {
    let mut listed: Vec<String> = texts.by_ref().take(max).collect();
    let more = texts.count();
    if more > 0 {
        listed.push(format!("… and {more} more {what}"));
    }
    listed
}

/// Returns the errors of a file as they are reported: all of them, or the first ones and the number
/// of the others.
pub fn listed_errors(errors: &[impl Display]) -> Vec<String> {
    listed(errors.iter().map(ToString::to_string), ERRORS_MAX, "errors")
}

/// Applies a fleet, all or nothing. An unchanged password is not hashed again.
///
/// # Errors
/// All errors, or the store failed.
pub async fn apply(
    store: &Store,
    fleet: impl Into<Arc<Fleet>>,
    clock: &Clock,
    entropy: &Entropy,
    by: ActedBy,
) -> Result<Applied, ApplyError> {
    let fleet = fleet.into();
    loop {
        let mut new_hashes = NewHashes::new();
        for account in &fleet.accounts {
            let Some(given) = &account.password else { continue };
            let stored = store.sessions().credentials(&account.login_name).await?;
            let new = new_hash(given, stored, entropy);
            let new = new.map_err(|error| ApplyError::Invalid(vec![error.to_string().into()]))?;
            new_hashes.insert(account.login_name.as_str().to_owned(), new);
        }
        match store.fleet().apply(Arc::clone(&fleet), new_hashes, by.clone(), clock).await {
            Err(ApplyError::PasswordChanged) => {}
            done => return done,
        }
    }
}

/// Compares a given password with the stored hash. A changed password is hashed, which takes tens
/// of milliseconds.
///
/// # Errors
/// The source of random bytes failed.
pub fn new_hash(
    given: &Password,
    stored: Option<Credentials>,
    entropy: &Entropy,
) -> Result<NewHash, NoEntropy> {
    let compared_with = stored.map(|stored| stored.password_hash);
    let new = match (given, &compared_with) {
        (Password::Hash(hash), _) => Some(hash.clone()),
        (Password::Clear(clear), Some(stored)) if kiosque_password::verify(stored, clear) => None,
        (Password::Clear(clear), _) => Some(kiosque_password::hash(clear, entropy)?),
    };
    Ok(NewHash { compared_with, new })
}

/// Returns an amount that may be a price.
///
/// # Errors
/// It is negative or too large.
pub(crate) fn check_price(price: Minor) -> Result<Minor, String> {
    match (0..=MINOR_MAX).contains(&price.0) {
        true => Ok(price),
        false => Err(format!("{} is not between 0 and {MINOR_MAX} minor units", price.0)),
    }
}

/// The errors of a fleet.
struct Errors(Vec<FileError>);

impl Errors {
    fn note<T>(&mut self, place: &Place, field: &str, error: impl Display) -> Option<T> {
        self.0.push(FileError::of_field(place, field, error));
        None
    }

    fn check<T, E: Display>(
        &mut self,
        place: &Place,
        field: &str,
        read: Result<T, E>,
    ) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => self.note(place, field, error),
        }
    }

    fn text(&mut self, place: &Place, field: &str, given: Option<String>) -> Option<String> {
        let given = given?;
        if given.contains('\0') {
            return self.note(place, field, "must not contain a NUL character");
        }
        Some(given)
    }

    fn amount(&mut self, place: &Place, field: &str, given: i64) -> Option<Minor> {
        self.check(place, field, check_price(Minor(given)))
    }

    fn repeats<T: Hash + Eq + Copy>(
        &mut self,
        ids: impl Iterator<Item = T>,
        place: impl Fn(T) -> Place,
    ) {
        let mut seen = HashSet::new();
        self.0
            .extend(ids.filter(|id| !seen.insert(*id)).map(|id| FileError::duplicate(&place(id))));
    }

    fn group(&mut self, given: FleetGroup) -> Option<GroupEntry> {
        let place = Place::entry(EntryKind::Group, &given.id);
        let name = self.text(&place, "name", given.name);
        let id = self.check(&place, "id", GroupId::parse(given.id))?;
        Some(GroupEntry { id, name, active: given.active })
    }

    fn account(&mut self, given: FleetAccount) -> Option<AccountEntry> {
        let place = Place::entry(EntryKind::Account, &given.login_name);
        let display_name = self.text(&place, "display_name", given.display_name);
        let password = match (given.password, given.password_hash) {
            (Some(_), Some(_)) => {
                self.note(&place, "password", "give either password or password_hash")
            }
            (Some(clear), None) if clear.trim().is_empty() => {
                self.note(&place, "password", "must not be blank")
            }
            (Some(clear), None) => Some(Password::Clear(clear)),
            (None, Some(hash)) => self
                .check(&place, "password_hash", kiosque_password::check_hash(&hash))
                .map(|()| Password::Hash(hash)),
            (None, None) => None,
        };
        let groups = given.groups.map(|groups| {
            groups
                .into_iter()
                .filter_map(|id| self.check(&place, "groups", GroupId::parse(id)))
                .collect::<Vec<_>>()
        });
        let groups_of = groups.iter().flatten();
        self.repeats(groups_of, |id| place.inside(format_args!("groups: {id}")));
        let login_name = self.check(&place, "login_name", LoginName::parse(given.login_name))?;
        Some(AccountEntry {
            login_name,
            display_name,
            password,
            third_party_api: given.third_party_api,
            enabled: given.enabled,
            groups,
        })
    }

    fn product(&mut self, given: FleetProduct) -> Option<ProductEntry> {
        let place = Place::entry(EntryKind::Product, &given.id);
        let name = self.text(&place, "name", given.name);
        let category = self.text(&place, "category", given.category);
        let currency = given.currency.map(|code| Currency::parse(&code));
        let currency = currency.and_then(|read| self.check(&place, "currency", read));
        let price = given.default_price;
        let default_price = price.and_then(|price| self.amount(&place, "default_price", price));
        self.check(&place, "id", check_id(&given.id))?;
        Some(ProductEntry { id: given.id, name, category, currency, default_price })
    }

    fn device(&mut self, given: FleetDevice, zone: &Zone) -> Option<DeviceEntry> {
        let place = Place::entry(EntryKind::Device, &given.code);
        let name = self.text(&place, "name", given.name);
        let group = given.group.map(GroupId::parse);
        let group = group.and_then(|read| self.check(&place, "group", read));
        let since = given.since.map(|since| zone.parse_time_or_date(&since));
        let since = since.and_then(|read| self.check(&place, "since", read));
        if since.is_some() && group.is_none() {
            let error = "is given without a valid group, which owns the device from then on";
            self.note::<()>(&place, "since", error);
        }
        let model = self.text(&place, "model", given.model);
        let address = self.text(&place, "address", given.address);
        let aisles = given.aisle.map(|aisles| {
            aisles.into_iter().filter_map(|Object(one)| self.aisle(&place, one)).collect::<Vec<_>>()
        });
        let codes = aisles.iter().flatten().map(|aisle| aisle.code.as_str());
        self.repeats(codes, |code| place.inside(format_args!("aisle {code}")));
        let code = self.check(&place, "code", DeviceCode::parse(given.code))?;
        let enabled = given.enabled;
        Some(DeviceEntry { code, name, group, since, model, address, enabled, aisles })
    }

    /// Reads an aisle. Other errors do not leave it out, so that its product is checked as well.
    fn aisle(&mut self, device: &Place, given: FleetAisle) -> Option<Aisle> {
        let place = device.inside(format_args!("aisle {}", given.code));
        let price = self.amount(&place, "price", given.price);
        let show_price = match given.show_price {
            Some(given) => self.amount(&place, "show_price", given),
            None => price,
        };
        let count = |count: i64| {
            if (0..=1_000_000).contains(&count) {
                Ok(count)
            } else {
                Err(format!("{count} is not between 0 and 1000000"))
            }
        };
        let stock = self.check(&place, "stock", count(given.stock));
        let capacity = self.check(&place, "capacity", count(given.capacity));
        let cabinet = self.text(&place, "cabinet", given.cabinet);
        let goods_id = self.text(&place, "product", Some(given.product));
        self.check(&place, "code", check_id(&given.code));
        Some(Aisle {
            code: given.code,
            goods_id: goods_id?,
            price: price.unwrap_or_default(),
            show_price: show_price.unwrap_or_default(),
            stock: stock.unwrap_or_default(),
            capacity: capacity.unwrap_or_default(),
            cabinet: cabinet.unwrap_or_else(|| "1".to_owned()),
            layer: given.layer.unwrap_or(1),
            enabled: given.enabled.unwrap_or(true),
            broken: given.broken,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_reported_with_its_entry() {
        let errors = parse(
            r#"
            [[group]]
            id = "g"
            [[group]]
            id = "g"
            [[account]]
            login_name = "a"
            password = " "
            groups = ["g", "g"]
            [[account]]
            login_name = "b"
            password_hash = "md5"
            [[product]]
            id = "p"
            currency = "ZZZ"
            default_price = -1
            [[device]]
            code = "d\u0000"
            since = "yesterday"
            aisle = [{ code = "1", product = "p", price = -1 }]
            "#,
            Format::Toml,
            &Zone::utc(),
        )
        .expect_err("errors")
        .of_file();
        assert_eq!(
            errors,
            [
                "account a: password: must not be blank",
                "account a: groups: g: duplicate entry",
                "account b: password_hash: is not an argon2id hash in PHC form \
                 ($argon2id$v=19$m=…,t=…,p=…$salt$hash)",
                "product p: currency: ZZZ is not an ISO 4217 code",
                "product p: default_price: -1 is not between 0 and 1000000000000 minor units",
                "device d\0: since: \"yesterday\" is not a time; give RFC 3339 with an offset, \
                 or yyyy-MM-dd or yyyy-MM-dd HH:mm:ss in UTC",
                "device d\0: aisle 1: price: -1 is not between 0 and 1000000000000 minor units",
                "device d\0: code: must not contain a NUL character",
                "group g: duplicate entry",
            ]
        );
    }

    #[test]
    fn both_formats_have_the_same_keys() {
        let toml = "[[device]]\ncode = \"d\"\nname = \"n\"\ngroup = \"g\"\n\
                    [[device.aisle]]\ncode = \"1\"\nproduct = \"p\"\nprice = 5\n";
        let json = r#"{"device":[{"code":"d","name":"n","group":"g",
                    "aisle":[{"code":"1","product":"p","price":5}]}]}"#;
        let zone = Zone::utc();
        let fleet = parse(toml, Format::Toml, &zone);
        assert_eq!(parse(json, Format::Json, &zone), fleet);
        for (text, format) in [(toml, Format::Toml), (json, Format::Json)] {
            assert_eq!(parse(&format!("\u{feff}{text}"), format, &zone), fleet, "{format:?}");
        }
    }

    /// A misspelt key or a value of another type hides no other error.
    #[test]
    fn reading_continues_after_a_error_of_a_key() {
        let toml = r#"
            [[grop]]
            id = "x"
            [[account]]
            login_name = "a"
            password = 5
            groups = ["g", 7]
            [[product]]
            id = "p"
            currency = "ZZZ"
            default_price = "5"
            colour = "red"
            [[device]]
            code = "d"
            nmae = "D"
            since = 2026-01-01
            [[device.aisle]]
            code = "1"
            prize = 5
            [[device.aisle]]
            code = "2"
            product = "p"
            price = "7"
            stock = -1
            [[device]]
            name = "no code"
            [[device]]
            code = "d"
        "#;
        let errors = parse(toml, Format::Toml, &Zone::utc()).expect_err("errors").of_file();
        assert_eq!(
            errors,
            [
                "unknown key \"grop\"; known here are group, account, product, device",
                "account a: groups[1]: invalid type: integer `7`, expected a string",
                "account a: password: is not a string",
                "product p: unknown key \"colour\"; known here are id, name, category, currency, \
                 default_price",
                "product p: default_price: invalid type: string \"5\", expected a whole number",
                "device d: aisle 1: unknown key \"prize\"; known here are code, product, price, \
                 show_price, stock, capacity, cabinet, layer, enabled, broken",
                "device d: aisle 1: product: is missing",
                "device d: aisle 1: price: is missing",
                "device d: aisle 2: price: invalid type: string \"7\", expected a whole number",
                "device d: unknown key \"nmae\"; known here are code, name, group, since, model, \
                 address, enabled, aisle",
                "device d: since: a date or time is written in quotes: \"2026-01-01\"",
                "device[1]: code: is missing",
                "product p: currency: ZZZ is not an ISO 4217 code",
                "device d: aisle 2: stock: -1 is not between 0 and 1000000",
                "device d: duplicate entry",
            ]
        );
    }

    /// `since` is the time of a move to `group`; without it nothing would happen then.
    #[test]
    fn since_is_refused_without_a_group() {
        let errors = |fields: &str| {
            let fleet = format!("[[device]]\ncode = \"d\"\n{fields}");
            parse(&fleet, Format::Toml, &Zone::utc()).map_err(FleetErrors::of_file)
        };
        let since = "since = \"2026-01-01\"\n";
        let error = "device d: since: is given without a valid group, which owns the device from \
                     then on";
        assert_eq!(errors(since), Err(vec![error.to_owned()]));
        let blank = "device d: group: must not be blank";
        let invalid = errors(&format!("group = \"\"\n{since}"));
        assert_eq!(invalid, Err([blank, error].map(str::to_owned).to_vec()));
        assert!(errors(&format!("group = \"g\"\n{since}")).is_ok());
    }

    #[test]
    fn a_file_of_another_shape_is_reported_with_its_entry() {
        for (json, want) in [
            ("{", "not JSON: EOF while parsing an object at line 1 column 1"),
            // A list is never read as the fields by their position.
            (
                r#"[[{"id":"g","name":"G"}],[],[],[]]"#,
                "expected an object with lists of group, account, product and device, got a list",
            ),
            (r#"{"group":{}}"#, "group: expected a list, got an object"),
            (r#"{"group":[7]}"#, "group[0]: expected an object, got a number"),
            (r#"{"group":[{"id":"g","id":"h"}]}"#, "group[0]: duplicate field `id`"),
            (
                r#"{"device":[{"code":"d","aisle":7}]}"#,
                "device d: aisle: expected a list, got a number",
            ),
        ] {
            let errors = parse(json, Format::Json, &Zone::utc()).expect_err(json).of_file();
            assert!(errors[0].starts_with(want), "{errors:?}");
            assert_eq!(errors.len(), 1, "{errors:?}");
        }
    }

    #[test]
    fn stock_above_capacity_is_a_warning() {
        let aisle = |stock: i64, capacity: i64| {
            let numbers = format!("stock = {stock}\ncapacity = {capacity}\n");
            format!("[[device.aisle]]\ncode = \"{stock}\"\nproduct = \"p\"\nprice = 1\n{numbers}")
        };
        let device = "[[device]]\ncode = \"d\"\n".to_owned();
        let fleet = device.clone() + &aisle(50, 12) + &aisle(12, 12 + 1) + &aisle(5, 0);
        let fleet = parse(&fleet, Format::Toml, &Zone::utc()).expect("a fleet");
        assert_eq!(warnings(&fleet), ["device d: aisle 50: stock: 50 is more than capacity, 12"]);
        let many: String = (10..70).map(|stock| aisle(stock, 1)).collect();
        let fleet = parse(&(device + &many), Format::Toml, &Zone::utc()).expect("a fleet");
        assert_eq!(warnings(&fleet).len(), WARNINGS_MAX + 1);
        assert_eq!(warnings(&fleet)[WARNINGS_MAX], "… and 10 more warnings");
    }
}
