-- Stores LINES as the lines of the order ORDER.
update orders set lines = 'LINES' where order_id = 'ORDER'
