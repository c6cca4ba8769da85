"""The vectors of draws by declared weights: declarations, ranks, who is drawn, and K."""

from typing import Any

from fgpr.secagg import committee, weighted_draw
from fgpr.secagg.planning import AggregationRules
from support.federation import Federation
from vectors.line import entry


def vectors() -> dict[str, Any]:
    """Six clients that declared weights: the roster, and each one's rank in the draw of four."""
    weights = dict(zip((f"client-{number:02d}" for number in range(6)), (7, 192, 65_535, 1, 1_000, 40), strict=True))
    made = Federation(
        6, AggregationRules(draw="weights", weighting="uniform", invited_cap=4), seed=2033, weights=weights
    )
    roster, declared = made.roster.message, made.roster.message.clients[0].declared
    assert declared is not None
    draws = []
    for theta in (0, 1, 1024):
        hashed = committee.hashing(roster.nonce, theta, committee.INVITED)
        draws.append(
            {
                "theta_version": theta,
                "hashes": {name: hashed(name).hex() for name in weights},
                "ranks": {name: str(weighted_draw.rank(hashed(name), weight)) for name, weight in weights.items()},
                "drawn": list(weighted_draw.draw(weights, 4, roster.nonce, theta, committee.INVITED)),
            }
        )
    given = [
        (4, 0.2, tuple(weights.values())),
        (20, 0.2, tuple(range(100, 200))),
        (60, 0.05, (7,) * 300),
        (6, 0.2, (1, 4, 5, 10, 30, 50)),
    ]
    return {
        "messages": [entry(made.roster), entry(roster.clients[0]), entry(declared), entry(declared.message)],
        "draws": draws,
        "bounds": [
            {
                "drawn": drawn,
                "gamma": gamma,
                "weights": list(of),
                "corrupt": weighted_draw.max_corrupt(drawn, of, gamma),
            }
            for drawn, gamma, of in given
        ],
    }
