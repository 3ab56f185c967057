-- The number of histories of all groups.
select count(*) from group_histories
