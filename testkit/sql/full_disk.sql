-- PostgreSQL: makes the file that shows whether the server has room fail as on a full disk. Its
-- statement finds this function before the one of the same name that takes any element.
create function array_fill(text, integer[]) returns text[] language plpgsql as $$
begin
    raise disk_full using message = 'could not write to file: No space left on device';
end $$;
