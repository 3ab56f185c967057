-- Damages the order ORDER by adding BY to a column that its checksum covers.
update orders set trade_start_ms = trade_start_ms + BY where order_id = 'ORDER'
