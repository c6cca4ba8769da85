import ast

from mutants.campaign import TESTS, all_mutants
from mutants.mutant import mutants

SOURCE = '''
def check(plan, key):
    """Docs."""
    _require(1, plan.ok, "no")
    with _failing(2):
        plan.verify(key)
    if plan.late:
        raise Refused(3)
    if plan.small:
        return None
    if plan.big:
        plan = plan.smaller()
    parsed = FIELD.from_bytes(plan.sum)
    FIELD.from_bytes(plan.other)
    plan.append(key)
    return parsed


def _require(check, holds, reason):
    if not holds:
        raise Refused(check, reason)
'''


def test_each_check_is_deleted_once_and_nothing_else() -> None:
    found = list(mutants("plan", SOURCE))
    assert [mutant.text for mutant in found] == [
        '_require(1, plan.ok, "no")',
        "plan.verify(key)",
        "if plan.late: raise Refused(3)",
        "if plan.small: return None",
        "FIELD.from_bytes(plan.other)",
    ]
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in found:
        left = mutant.source.splitlines()
        assert left.count("    pass") + left.count("        pass") == 1
        kept = [line for line in left if line.strip() != "pass"]
        assert len(whole) - len(kept) in (1, 2)
        assert set(kept) < set(whole)


def test_the_modules_with_checks_have_them() -> None:
    found = all_mutants(TESTS)
    assert {mutant.module for mutant in found} == set(TESTS)
    assert len({mutant.source for mutant in found}) == len(found) > 80
