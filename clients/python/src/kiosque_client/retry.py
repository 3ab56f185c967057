"""Waits between the attempts of a call."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import KiosqueError, NoAnswer, ServerFailed

RETRY_AFTER_MAX = 60.0


@dataclass(frozen=True)
class Timing:
    """The clock, the waits and the limits of an account; tests replace them."""

    clock: Callable[[], float] = time.time
    """The time in seconds since 1970, to which ends of sessions are compared."""
    sleep: Callable[[float], object] = time.sleep
    random: Callable[[], float] = random.random
    retries: int = 3
    """How often a call is repeated when the server fails or no answer arrives."""
    refusals_max: int = 5
    """How many tokens may be refused for one call."""
    timeout: float = 30.0
    """The seconds that a call may take."""
    turn: float = 0.2
    """The seconds for which a group has the session while calls of other groups wait."""
    linger: float = 0.005
    """The seconds for which a group keeps the session after an answer, for a further call."""

    def wait_before(self, attempt: int, error: KiosqueError) -> float | None:
        """Returns the seconds before a further attempt, the first of which is 1; `None` if there
        is none."""
        if attempt > self.retries or not isinstance(error, (NoAnswer, ServerFailed)):
            return None
        if isinstance(error, NoAnswer) and error.is_cut and attempt == 1:
            return 0.0
        if isinstance(error, ServerFailed) and error.retry_after is not None:
            is_short = error.retry_after <= RETRY_AFTER_MAX
            return error.retry_after + self.random() if is_short else None
        return float(2 ** min(attempt - 1, 5)) + self.random()
