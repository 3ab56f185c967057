select count(*) from group_histories
