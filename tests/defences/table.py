"""Every defence, in the order of the threat model."""

from defences import (
    backups,
    bad_input,
    changed,
    disks,
    doubles,
    floods,
    key_files,
    kills,
    lost_answers,
    replayed,
    secrets_told,
    stale,
    tickets,
    unknown_keys,
)
from defences.defence import Defence

DEFENCES: list[Defence] = [
    *replayed.DEFENCES,
    *changed.DEFENCES,
    *stale.DEFENCES,
    *unknown_keys.DEFENCES,
    *tickets.DEFENCES,
    *floods.DEFENCES,
    *bad_input.DEFENCES,
    *kills.DEFENCES,
    *doubles.DEFENCES,
    *lost_answers.DEFENCES,
    *disks.DEFENCES,
    *backups.DEFENCES,
    *secrets_told.DEFENCES,
    *key_files.DEFENCES,
]

ROWS = tuple(dict.fromkeys(one.row for one in DEFENCES))
