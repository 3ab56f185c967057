-- The codes of all devices, in order.
select device_code from devices order by device_code
