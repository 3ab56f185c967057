//! The products of the demonstration fleet: invented, with prices that are usual in each country.

use kiosque_clock::mixed;

use Category::{Coffee, Meal, Snack, Soft, Sweet, Tea, Useful, Water};

/// A category of products; it determines demand by hour and the capacity of an aisle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// Water.
    Water,
    /// Lemonades, juices and the like.
    Soft,
    /// Tea.
    Tea,
    /// Coffee.
    Coffee,
    /// Crisps, nuts, crackers.
    Snack,
    /// Chocolate, biscuits, sweets.
    Sweet,
    /// Sandwiches, salads and the like.
    Meal,
    /// Articles other than food.
    Useful,
}

impl Category {
    /// Returns the category's name in the fleet.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Water => "Water",
            Soft => "Soft drinks",
            Tea => "Tea",
            Coffee => "Coffee",
            Snack => "Snacks",
            Sweet => "Confectionery",
            Meal => "Meals",
            Useful => "Everyday items",
        }
    }

    /// Returns the number of items that fit an aisle.
    pub(super) const fn capacity(self) -> u32 {
        match self {
            Meal => 5,
            Useful => 6,
            Water | Soft | Tea | Coffee => 8,
            Snack | Sweet => 10,
        }
    }

    /// Returns the weight of the demand at an hour of the day.
    pub(super) const fn demand(self, hour: u32) -> u32 {
        match (self, hour) {
            (Coffee, 6..=10) => 14,
            (Meal, 11..=13) => 14,
            (Meal, 18..=20) => 7,
            (Sweet | Coffee, 14..=16) => 9,
            (Water | Soft, 11..=18) => 8,
            (Coffee | Meal, _) => 2,
            (Useful, _) => 1,
            (_, _) => 5,
        }
    }
}

/// One product.
#[derive(Debug)]
pub(super) struct Product {
    /// The `goodsId`.
    pub(super) id: &'static str,
    /// Name, in the language of the country.
    pub(super) name: &'static str,
    /// Category.
    pub(super) category: Category,
    /// List price in minor units of the range's currency.
    pub(super) price: i64,
}

impl Product {
    /// Returns the product's popularity within its category: 1 to 6.
    pub(super) const fn popularity(&self) -> u32 {
        match mixed(self.price.unsigned_abs() ^ (self.id.as_bytes()[4] as u64) << 16) % 8 {
            0 => 6,
            1 | 2 => 4,
            3 | 4 => 3,
            5 | 6 => 2,
            _ => 1,
        }
    }
}

/// The products of the kiosks of a country.
#[derive(Debug)]
pub(super) struct Range {
    /// Currency of all prices.
    pub(super) currency: &'static str,
    /// Unit of prices, discounted ones included, in minor units.
    pub(super) step: i64,
    /// The products.
    pub(super) products: &'static [Product],
}

const fn product(id: &'static str, category: Category, price: i64, name: &'static str) -> Product {
    Product { id, name, category, price }
}

/// United States, in cents; many of the teas and snacks are labelled in Chinese.
pub(super) const UNITED_STATES: Range = Range {
    currency: "USD",
    step: 5,
    products: &[
        product("P1001", Water, 150, "Spring Water 500 ml"),
        product("P1002", Water, 175, "Sparkling Water, Lime 355 ml"),
        product("P1003", Soft, 225, "Cola 355 ml"),
        product("P1004", Soft, 225, "Cola Zero 355 ml"),
        product("P1005", Soft, 275, "Orange Juice 300 ml"),
        product("P1006", Soft, 325, "Energy Drink 250 ml"),
        product("P1007", Coffee, 350, "Cold Brew 300 ml"),
        product("P1008", Coffee, 375, "Oat Milk Latte 300 ml"),
        product("P1009", Tea, 275, "Iced Tea, Peach 500 ml"),
        product("P1010", Tea, 295, "乌龙茶 500 毫升"),
        product("P1011", Tea, 295, "茉莉花茶 500 毫升"),
        product("P1012", Tea, 295, "冰红茶 500 毫升"),
        product("P1013", Soft, 325, "椰子水 330 毫升"),
        product("P1014", Soft, 265, "酸梅汤 350 毫升"),
        product("P1015", Snack, 195, "Sea Salt Chips 40 g"),
        product("P1016", Snack, 225, "Trail Mix 50 g"),
        product("P1017", Snack, 250, "海苔脆片 30 克"),
        product("P1018", Snack, 275, "香辣花生 60 克"),
        product("P1019", Sweet, 185, "Milk Chocolate Bar 45 g"),
        product("P1020", Sweet, 215, "Oat & Honey Bar 40 g"),
        product("P1021", Sweet, 245, "芝麻酥糖 50 克"),
        product("P1022", Meal, 725, "Turkey & Cheddar Sandwich"),
        product("P1023", Meal, 795, "Quinoa Salad Bowl"),
        product("P1024", Meal, 650, "红烧牛肉面 110 克"),
        product("P1025", Useful, 999, "USB-C Charging Cable 1 m"),
    ],
};

/// France, in cents.
pub(super) const FRANCE: Range = Range {
    currency: "EUR",
    step: 5,
    products: &[
        product("P2001", Water, 100, "Eau de source 50 cl"),
        product("P2002", Water, 130, "Eau gazeuse 50 cl"),
        product("P2003", Soft, 180, "Limonade artisanale 33 cl"),
        product("P2004", Soft, 200, "Jus de pomme fermier 25 cl"),
        product("P2005", Soft, 220, "Nectar d’abricot 25 cl"),
        product("P2006", Tea, 190, "Thé glacé à la pêche 33 cl"),
        product("P2007", Tea, 210, "Infusion glacée verveine-menthe 33 cl"),
        product("P2008", Coffee, 210, "Café frappé 20 cl"),
        product("P2009", Coffee, 240, "Café au lait d’avoine 20 cl"),
        product("P2010", Snack, 160, "Chips à l’ancienne 45 g"),
        product("P2011", Snack, 190, "Noix de cajou grillées 50 g"),
        product("P2012", Snack, 170, "Crackers au comté 40 g"),
        product("P2013", Sweet, 150, "Sablés pur beurre 60 g"),
        product("P2014", Sweet, 180, "Tablette noir 70 % 40 g"),
        product("P2015", Sweet, 140, "Compote pomme-châtaigne 90 g"),
        product("P2016", Sweet, 210, "Gaufre fourrée à la vanille"),
        product("P2017", Meal, 450, "Sandwich jambon-emmental"),
        product("P2018", Meal, 620, "Salade de lentilles vertes"),
        product("P2019", Meal, 590, "Quiche aux poireaux"),
        product("P2020", Useful, 350, "Parapluie pliant"),
    ],
};

/// Japan, in yen, which has no minor unit.
pub(super) const JAPAN: Range = Range {
    currency: "JPY",
    step: 10,
    products: &[
        product("P3001", Water, 120, "天然水 550ml"),
        product("P3002", Water, 140, "炭酸水 レモン 500ml"),
        product("P3003", Tea, 160, "緑茶 525ml"),
        product("P3004", Tea, 160, "ほうじ茶 525ml"),
        product("P3005", Tea, 160, "Barley Tea 600 ml"),
        product("P3006", Coffee, 140, "ブラックコーヒー 185g"),
        product("P3007", Coffee, 150, "カフェオレ 280ml"),
        product("P3008", Soft, 170, "白桃ソーダ 500ml"),
        product("P3009", Soft, 180, "Yuzu Lemonade 450 ml"),
        product("P3010", Soft, 130, "野菜ジュース 200ml"),
        product("P3011", Snack, 180, "えびせんべい 60g"),
        product("P3012", Snack, 160, "柿の種 50g"),
        product("P3013", Sweet, 150, "抹茶チョコレート 40g"),
        product("P3014", Sweet, 170, "どら焼き"),
        product("P3015", Meal, 320, "鮭おにぎり 二個"),
        product("P3016", Meal, 480, "Egg Sandwich"),
        product("P3017", Useful, 550, "折りたたみマスク 五枚"),
    ],
};

/// All ranges.
pub(super) const RANGES: [&Range; 3] = [&UNITED_STATES, &FRANCE, &JAPAN];
