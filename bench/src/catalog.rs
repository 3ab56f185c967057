//! Products and locations of the kiosks: names for a realistic fleet.

/// Products: a Chinese or English name, its category and its price in minor units.
pub(crate) const GOODS: [(&str, &str, i64); 24] = [
    ("可口可乐 330ml", "饮料", 350),
    ("农夫山泉 550ml", "饮料", 200),
    ("康师傅冰红茶 500ml", "饮料", 350),
    ("元气森林白桃味 480ml", "饮料", 550),
    ("东方树叶乌龙茶 500ml", "饮料", 500),
    ("旺仔牛奶 245ml", "饮料", 450),
    ("乐事薯片原味 75g", "零食", 750),
    ("奥利奥夹心饼干 97g", "零食", 680),
    ("卫龙大面筋 65g", "零食", 400),
    ("德芙丝滑牛奶巧克力 43g", "零食", 890),
    ("桶装方便面 红烧牛肉", "方便食品", 550),
    ("自热米饭 宫保鸡丁", "方便食品", 1_890),
    ("Coca-Cola Zero 330 ml", "drinks", 180),
    ("Sparkling water 500 ml", "drinks", 150),
    ("Iced latte 250 ml", "drinks", 295),
    ("Orange juice 300 ml", "drinks", 260),
    ("Energy drink 250 ml", "drinks", 275),
    ("Snickers 50 g", "snacks", 160),
    ("Salted almonds 40 g", "snacks", 220),
    ("Paprika crisps 90 g", "snacks", 210),
    ("Muesli bar \"forest berries\" 35 g", "snacks", 145),
    ("Chicken & bacon sandwich", "fresh", 495),
    ("Greek salad 350 g", "fresh", 625),
    ("Phone charging cable USB-C", "non-food", 1_290),
];

/// The difference between products with the same name.
pub(crate) const VARIANTS: [&str; 10] =
    ["", " ×2", " 限定", " light", " 家庭装", " XL", " 无糖", " mini", " 新品", " bio"];

/// Currencies, the most frequent first; a group trades in one of them.
pub(crate) const CURRENCIES: [&str; 4] = ["CNY", "CNY", "USD", "EUR"];

/// How orders are paid.
pub(crate) const CHANNELS: [&str; 6] =
    ["微信支付", "支付宝", "银联云闪付", "Visa", "Mastercard", "Cash"];

/// Locations of kiosks.
pub(crate) const PLACES: [&str; 12] = [
    "上海市浦东新区世纪大道100号",
    "北京市海淀区中关村大街27号",
    "深圳市南山区科技园南路8号",
    "杭州市西湖区文三路478号",
    "成都市高新区天府大道中段1号",
    "Berlin Hauptbahnhof, Europaplatz 1",
    "London, King's Cross, Platform 4",
    "Rotterdam Centraal, hall B",
    "Chicago, 233 S Wacker Dr, lobby",
    "Singapore, 1 Raffles Place, level 2",
    "Wien, Universitätsring 1",
    "Lyon, gare Part-Dieu, sortie Vivier-Merle",
];

/// Models of kiosks.
pub(crate) const MODELS: [&str; 5] = ["KX-60", "KX-60 Pro", "VM-21C", "SnackCube 3", "冷链柜 L2"];

/// Shipment errors: the machine's code and description.
pub(crate) const FAULTS: [(i64, &str); 4] = [
    (101, "货道卡货"),
    (102, "Motor timeout"),
    (205, "Drop sensor saw nothing"),
    (310, "取货口故障"),
];
