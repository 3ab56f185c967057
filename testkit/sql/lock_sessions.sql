-- PostgreSQL: locks the table of sessions, so that no other transaction can read it.
lock table sessions in access exclusive mode
