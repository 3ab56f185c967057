-- For SQLite: every update of the order ORDER fails.
create trigger refuse before update on orders when new.order_id = 'ORDER'
begin select raise(abort, 'refused for a test'); end
