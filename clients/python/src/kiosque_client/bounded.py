"""Reads files as a whole, up to a limit: a path may name a device without an end."""

from __future__ import annotations

import errno
import os

CONTENT_MAX = 4 << 20


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Returns the content of a file or of a pipe. Raises `OSError` for one above the limit."""
    with open(path, "rb") as file:
        content = file.read(CONTENT_MAX + 1)
    if len(content) > CONTENT_MAX:
        raise OSError(errno.EFBIG, f"it has more than {CONTENT_MAX} bytes, the limit; check that it "
                                   "is the intended one")
    return content
