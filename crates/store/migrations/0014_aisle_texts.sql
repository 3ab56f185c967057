-- The element of each device in the hierarchy of aisles, as JSON.
create table aisle_texts (
    device_no bigint primary key,
    element text not null
);
-- The devices whose elements have the name and the currency of a product.
create index aisles_of_product on aisles (goods_id, device_no);
