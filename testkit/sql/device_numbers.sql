-- The number and the code of each device.
select device_no, device_code from devices order by device_no
