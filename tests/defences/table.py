"""Every defence, in the order of the threat model."""

from defences import disks_and_backups, intake, keys_and_tickets, secrets_and_keys, signed_requests, transactions
from defences.defence import Defence

DEFENCES: list[Defence] = [
    *signed_requests.DEFENCES,
    *keys_and_tickets.DEFENCES,
    *intake.DEFENCES,
    *transactions.DEFENCES,
    *disks_and_backups.DEFENCES,
    *secrets_and_keys.DEFENCES,
]

ROWS = tuple(dict.fromkeys(one.row for one in DEFENCES))
