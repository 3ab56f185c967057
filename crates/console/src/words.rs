//! Texts that several pages share.

use crate::text::texts;

texts! {
    ACCOUNT: "Account", "账户";
    ACCOUNTS: "Accounts", "账户";
    ADDRESS: "Address", "地址";
    AISLE: "Aisle", "货道";
    ALL: "All", "全部";
    ANSWER: "Answer", "应答";
    CODE: "Code", "代码";
    COPY: "Copy", "复制";
    CREATED: "Created", "创建时间";
    DAY: "Day", "日期";
    DEVICE: "Device", "设备";
    DEVICES: "Devices", "设备";
    DISABLED: "disabled", "已停用";
    EVENT: "Event", "事件";
    FAILED: "failed", "失败";
    FILE: "File", "文件";
    FROM: "From", "从";
    GROUP: "Group", "分组";
    GROUPS: "Groups", "分组";
    IN_GROUP: "group {0}", "分组 {0}";
    KEY: "Key", "密钥";
    LAST_ACTIVE: "Last activity", "最近活动";
    LAST_USE: "Last use", "最近使用";
    NAME: "Name", "名称";
    NEEDS_ATTENTION: "Needs attention", "需要关注";
    NONE: "none", "无";
    ORDER: "Order", "订单";
    ORDERS: "Orders", "订单";
    ORDER_COUNT: "Orders", "订单数";
    PAYMENT: "Payment", "支付";
    PRODUCT: "Product", "商品";
    REASON: "Reason", "原因";
    REQUEST: "Request", "请求";
    SEARCH: "Search", "搜索";
    SEVEN_DAYS: "7 days", "7 天";
    SHIPMENT: "Shipment", "出货";
    SOURCE: "Source", "来源";
    STARTED: "Trade started", "交易开始";
    STATE: "State", "状态";
    STATUS: "Status", "状态";
    STOCK: "Items in stock", "库存件数";
    SUM_PAID: "Paid", "实付";
    TIME: "Time", "时间";
    TO: "To", "至";
    TODAY: "Today", "今天";
    USER: "User", "用户";
}
