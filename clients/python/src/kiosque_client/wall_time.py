"""Local times without an offset."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


def wall_time(text: str) -> datetime:
    """Returns the local time of a text such as `2026-03-02 10:00:00` (FMT-2), without a zone.

    Raises `ValueError` for a text of another form.
    """
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r} does not have the form yyyy-MM-dd HH:mm:ss")
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")


def instants(text: str, zone: ZoneInfo) -> tuple[datetime, ...]:
    """Returns the instants in UTC that have this local time in a zone, the earlier first.

    It is one, or none or two when clocks change. The summary names the platform's zone in
    `timeZone`.
    """
    local = wall_time(text)
    readings = [local.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)]
    real = {utc for utc in readings if utc.astimezone(zone).replace(tzinfo=None) == local}
    return tuple(sorted(real))
