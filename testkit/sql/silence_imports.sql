-- Sets the last update of every running import back by more than a minute.
update arrivals set active_at_ms = active_at_ms - 61000;
