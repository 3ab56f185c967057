-- Makes the last change of each group that has two the first one.
update group_changes set last_change_no = 1 where last_change_no = 2
