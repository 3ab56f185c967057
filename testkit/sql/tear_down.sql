-- For PostgreSQL: deletes all data.
do $$ begin
    execute format('drop schema %I cascade', current_schema());
end $$
