-- For PostgreSQL: locks the group GROUP until this transaction ends, as an apply of a fleet does.
begin;
update group_changes set last_change_no = last_change_no
where group_no = (select group_no from groups where group_id = 'GROUP')
