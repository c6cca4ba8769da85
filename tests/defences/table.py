"""Every defence, in the order of the threat model."""

from defences import intake, keys_and_tickets, signed_requests, transactions
from defences.defence import Defence

DEFENCES: list[Defence] = [
    *signed_requests.DEFENCES,
    *keys_and_tickets.DEFENCES,
    *intake.DEFENCES,
    *transactions.DEFENCES,
]

ROWS = tuple(dict.fromkeys(one.row for one in DEFENCES))
