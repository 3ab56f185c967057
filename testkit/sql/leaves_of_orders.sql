-- SQLite: the number and the entries of each page of the orders, or of an index of them, that has no pages below it.
select pageno, ncell from dbstat
where pagetype = 'leaf'
    and name in (select name from sqlite_master where tbl_name = 'orders')
