from benchmarks_secagg.cost import Cost, judge, measure


def test_a_small_round_is_measured_and_right() -> None:
    cost = measure(10, turns=1)
    assert (cost.clients, cost.seats, cost.threshold) == (10, 10, 8)
    assert min(cost.client, cost.member, cost.aggregator, cost.aggregator_json, cost.view) > 0
    # Ten boxes of 33 words and 48 bytes, and the vector, in base64.
    assert 10 * 312 * 4 // 3 < cost.upload < 10 * 312 * 4 // 3 + 1500


def test_the_targets_are_those_of_sixty_and_a_thousand() -> None:
    def cost(clients: int) -> Cost:
        return Cost(clients, 60, 45, 15.0, 1.0, 15.0, 1.0, 20.5, 9.0, 1.5, 28_000, 500, 9_000, 60_000)

    judged = {line.name: line.met for line in judge(cost(60)) if line.met is not None}
    assert judged == {
        "n = 60: client": True,
        "n = 60: member": False,
        "n = 60: aggregator": False,
        "n = 60: upload": True,
    }
    assert not [line for line in judge(cost(100)) if line.met is not None]
    assert len([line for line in judge(cost(1000)) if line.met]) == 2
