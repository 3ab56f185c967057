-- Sets the last sign of every import that runs more than a minute back.
update imports set active_at_ms = active_at_ms - 61000;
