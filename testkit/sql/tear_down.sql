-- For PostgreSQL: nothing of the data is left.
do $$ begin
    execute format('drop schema %I cascade', current_schema());
end $$
