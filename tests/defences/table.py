"""Every defence, in the order of the threat model."""

from defences import signed_requests
from defences.defence import Defence

DEFENCES: list[Defence] = [*signed_requests.DEFENCES]

ROWS = tuple(dict.fromkeys(one.row for one in DEFENCES))
