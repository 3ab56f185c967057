-- Gives the device D1 a wrong stock, and a code that clears a terminal.
update devices set device_code = 'D1' || char(27) || '[2J', total_curr_stock = 1
where device_code = 'D1';
