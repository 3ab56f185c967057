-- For SQLite: a process that adds a dictionary counts the quadruples of orders before, which takes days
-- with the thousands of orders that a dictionary needs, until the trigger hold_dictionary is dropped.
create trigger hold_dictionary before insert on dictionaries
begin select count(*) from orders a, orders b, orders c, orders d; end
