-- Lets every import that runs have shown so more than a minute earlier than it did.
update imports set active_at_ms = active_at_ms - 61000;
