"""Every attack, in the order of the threat model."""

from attacks import (
    liars,
    lying_cohorts,
    lying_draws,
    lying_groups,
    lying_keys,
    lying_noise,
    lying_plans,
    mixed_openings,
    one_theta,
)
from attacks.attack import Attack

ATTACKS: list[Attack] = sorted(
    [
        *lying_cohorts.ATTACKS,
        *mixed_openings.ATTACKS,
        *lying_plans.ATTACKS,
        *one_theta.ATTACKS,
        *lying_draws.ATTACKS,
        *lying_groups.ATTACKS,
        *lying_noise.ATTACKS,
        *lying_keys.ATTACKS,
        *liars.ATTACKS,
    ],
    # The swapped boxes first.
    key=lambda attack: (attack.row != "6b", int(attack.row.rstrip("abc"))),
)
