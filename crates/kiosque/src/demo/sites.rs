//! The groups of the demonstration fleet and the locations of their kiosks, all invented.

use super::products::{FRANCE, JAPAN, Range, UNITED_STATES};
use super::rhythm::SiteKind;

use Build::{Classic, Compact, Duo};
use Channel::{Card, Cash, Pass, Wallet};

/// A group and its kiosks.
#[derive(Debug)]
pub(super) struct Site {
    /// The `groupId`.
    pub(super) group: &'static str,
    /// The group's name.
    pub(super) name: &'static str,
    /// Weeks since the last sale; `Some` for an inactive group.
    pub(super) closed_weeks_ago: Option<u32>,
    /// Kind of site.
    pub(super) kind: SiteKind,
    /// Products of the kiosks.
    pub(super) range: &'static Range,
    /// Prefix of device codes.
    pub(super) prefix: &'static str,
    /// Payment channels, each with its name and its share in percent.
    pub(super) channels: &'static [(Channel, &'static str, u32)],
    /// Prefix of phone numbers.
    pub(super) dial: &'static str,
    /// The kiosks.
    pub(super) locations: &'static [Location],
}

/// A payment channel, by the data that it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// A card number.
    Card,
    /// A phone number.
    Wallet,
    /// A trade number only.
    Pass,
    /// Nothing.
    Cash,
}

/// A model of kiosks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    /// One cabinet of 4 layers.
    Compact,
    /// One cabinet of 6 layers.
    Classic,
    /// Two cabinets, of 5 and of 3 layers.
    Duo,
}

impl Build {
    /// Returns the model's name in the fleet.
    pub(super) const fn model(self) -> &'static str {
        match self {
            Compact => "Borne Compact 24",
            Classic => "Borne Classic 36",
            Duo => "Borne Duo 48",
        }
    }

    /// Returns the number of layers of each cabinet.
    pub(super) const fn cabinets(self) -> &'static [u32] {
        match self {
            Compact => &[4],
            Classic => &[6],
            Duo => &[5, 3],
        }
    }
}

/// The location of a kiosk.
#[derive(Debug)]
pub(super) struct Location {
    /// Name of the device.
    pub(super) name: &'static str,
    /// Address.
    pub(super) address: &'static str,
    /// Model.
    pub(super) build: Build,
    /// Demand, in percent of the usual demand.
    pub(super) busy: u32,
}

const fn location(build: Build, busy: u32, name: &'static str, address: &'static str) -> Location {
    Location { name, address, build, busy }
}

/// All groups. Orders depend on the order of this list: append to it, do not insert.
pub(super) const SITES: [&Site; 5] = [&HARBOR, &METROPOLE, &TOKYO, &LAKESIDE, &AIRPORT];

/// The inactive group.
pub(super) const AIRPORT_GROUP: &str = AIRPORT.group;
/// The default group of the account in the example calls.
pub(super) const HARBOR_GROUP: &str = HARBOR.group;
/// The French group.
pub(super) const METROPOLE_GROUP: &str = METROPOLE.group;
/// The Japanese group.
pub(super) const TOKYO_GROUP: &str = TOKYO.group;
/// The group of the account with a single group.
pub(super) const LAKESIDE_GROUP: &str = LAKESIDE.group;

const HARBOR: Site = Site {
    group: "harbor-offices",
    name: "Harbor Offices",
    closed_weeks_ago: None,
    kind: SiteKind::Office,
    range: &UNITED_STATES,
    prefix: "HBR",
    channels: &[
        (Card, "Contactless card", 58),
        (Wallet, "Mobile wallet", 27),
        (Pass, "Staff badge", 9),
        (Cash, "Cash", 6),
    ],
    dial: "+1 555 01",
    locations: &[
        location(Duo, 190, "Pier 1, lobby", "1 Pier Street, ground floor, Harbor City"),
        location(Classic, 140, "Pier 1, level 6", "1 Pier Street, level 6, Harbor City"),
        location(Classic, 125, "Pier 1, level 12", "1 Pier Street, level 12, Harbor City"),
        location(Classic, 110, "Customs House, canteen", "20 Wharf Road, Harbor City"),
        location(Compact, 80, "Customs House, level 3", "20 Wharf Road, level 3, Harbor City"),
        location(Duo, 150, "Lighthouse Tower, lobby", "7 Beacon Square, Harbor City"),
        location(
            Classic,
            115,
            "Lighthouse Tower, level 9",
            "7 Beacon Square, level 9, Harbor City",
        ),
        location(Compact, 60, "Lighthouse Tower, gym", "7 Beacon Square, basement, Harbor City"),
        location(Compact, 70, "Dry Dock Studios", "44 Dock Lane, Harbor City"),
        location(Classic, 95, "Ropewalk Building", "3 Ropewalk, Harbor City"),
        location(Compact, 35, "Ferry Terminal Offices", "90 Quayside, Harbor City"),
    ],
};

const METROPOLE: Site = Site {
    group: "metropole-gares",
    name: "Métropole – Gares",
    closed_weeks_ago: None,
    kind: SiteKind::Station,
    range: &FRANCE,
    prefix: "MTP",
    channels: &[
        (Card, "Carte sans contact", 64),
        (Wallet, "Paiement mobile", 20),
        (Pass, "Titre-restaurant", 6),
        (Cash, "Espèces", 10),
    ],
    dial: "+33 6 39 98 ",
    locations: &[
        location(Duo, 180, "Gare du Canal, hall", "1 place de la Gare, Valmontel"),
        location(Classic, 150, "Gare du Canal, quai A", "1 place de la Gare, quai A, Valmontel"),
        location(Classic, 130, "Gare du Canal, quai F", "1 place de la Gare, quai F, Valmontel"),
        location(Compact, 90, "Gare du Canal, parvis", "2 place de la Gare, Valmontel"),
        location(Classic, 105, "Halte des Tanneurs", "18 quai des Tanneurs, Valmontel"),
        location(Compact, 75, "Halte du Vieux-Pont", "5 rue du Vieux-Pont, Valmontel"),
        location(Classic, 110, "Gare des Coteaux", "30 avenue des Coteaux, Saint-Orme"),
        location(Compact, 55, "Gare des Coteaux, parking", "32 avenue des Coteaux, Saint-Orme"),
        location(Compact, 45, "Halte de l’Écluse", "9 chemin de l’Écluse, Saint-Orme"),
    ],
};

const TOKYO: Site = Site {
    group: "tokyo-stations",
    name: "東京ステーション",
    closed_weeks_ago: None,
    kind: SiteKind::Station,
    range: &JAPAN,
    prefix: "TKY",
    channels: &[
        (Pass, "交通系IC", 55),
        (Wallet, "QR決済", 22),
        (Card, "クレジットカード", 11),
        (Cash, "現金", 12),
    ],
    dial: "+81 90 0000 ",
    locations: &[
        location(Duo, 200, "北口コンコース", "東京都みなと台1-1 北口"),
        location(Classic, 160, "南口改札内", "東京都みなと台1-1 南口"),
        location(Classic, 135, "1番線ホーム", "東京都みなと台1-1 1番線"),
        location(Classic, 120, "4番線ホーム", "東京都みなと台1-1 4番線"),
        location(Compact, 85, "西口バスターミナル", "東京都みなと台2-8"),
        location(Compact, 70, "川端駅 改札前", "東京都川端3-4-1"),
        location(Compact, 65, "川端駅 2番線ホーム", "東京都川端3-4-1 2番線"),
        location(Compact, 40, "緑ヶ丘駅", "東京都緑ヶ丘5-2"),
    ],
};

const LAKESIDE: Site = Site {
    group: "lakeside-campus",
    name: "Lakeside Campus",
    closed_weeks_ago: None,
    kind: SiteKind::Campus,
    range: &UNITED_STATES,
    prefix: "LKS",
    channels: &[
        (Pass, "Campus card", 46),
        (Card, "Contactless card", 30),
        (Wallet, "Mobile wallet", 20),
        (Cash, "Cash", 4),
    ],
    dial: "+1 555 01",
    locations: &[
        location(Duo, 185, "Main Library, foyer", "100 Lakeside Drive, Fairwater"),
        location(Classic, 140, "Main Library, level 2", "100 Lakeside Drive, level 2, Fairwater"),
        location(Classic, 130, "Science Hall", "12 Observatory Walk, Fairwater"),
        location(Classic, 115, "Lecture Centre", "3 College Green, Fairwater"),
        location(Compact, 90, "Residence North", "41 Boathouse Road, Fairwater"),
        location(Compact, 85, "Residence South", "77 Boathouse Road, Fairwater"),
        location(Compact, 75, "Sports Centre", "8 Oval Way, Fairwater"),
        location(Compact, 50, "Music School", "21 Orchard Lane, Fairwater"),
        location(Compact, 30, "Workshop Yard", "60 Mill Track, Fairwater"),
    ],
};

const AIRPORT: Site = Site {
    group: "airport-pilot",
    name: "Airport Pilot (ended)",
    closed_weeks_ago: Some(3),
    kind: SiteKind::Airport,
    range: &FRANCE,
    prefix: "AIR",
    channels: &[(Card, "Carte sans contact", 80), (Wallet, "Paiement mobile", 20)],
    dial: "+33 6 39 98 ",
    locations: &[
        location(Classic, 120, "Terminal 1, arrivées", "Aéroport de Valmontel, terminal 1"),
        location(Duo, 150, "Terminal 1, porte 12", "Aéroport de Valmontel, terminal 1, porte 12"),
        location(Compact, 70, "Terminal 2, navettes", "Aéroport de Valmontel, terminal 2"),
    ],
};
