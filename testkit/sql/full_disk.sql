-- PostgreSQL: makes new orders, and the file that shows whether the server has room, fail as on a
-- full disk. The file's statement finds this function before the one of the same name that takes
-- any element. Citus has triggers on distributed tables only with this setting.
set citus.enable_unsafe_triggers = on;
create function array_fill(text, integer[]) returns text[] language plpgsql as $$ begin
    raise disk_full using message = 'could not write to file: No space left on device';
end $$;
create function no_room() returns trigger language plpgsql as $$ begin
    raise disk_full using message = 'could not extend file: No space left on device';
end $$;
create trigger no_room before insert on orders for each row execute function no_room();
