-- Grows with each change of a device, its aisles, or the name of a group or of a product.
insert into counters (name, last) values ('devices', 0);
