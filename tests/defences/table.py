"""Every defence, in the order of the threat model."""

from defences import keys_and_tickets, signed_requests
from defences.defence import Defence

DEFENCES: list[Defence] = [*signed_requests.DEFENCES, *keys_and_tickets.DEFENCES]

ROWS = tuple(dict.fromkeys(one.row for one in DEFENCES))
