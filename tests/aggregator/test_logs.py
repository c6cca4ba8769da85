"""What a process of the aggregator writes to stderr, as a process of its own writes it."""

import json
import os
import subprocess
import sys

SECRET = "s3cret-of-a-client"

PROGRAM = f"""
import logging
import structlog
from aggregator import logs

logs.configure()
log = structlog.get_logger("aggregator.test")
SECRET = {SECRET!r}
{{body}}
"""


def written(body: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.replace("{body}", body)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_a_line_is_json_with_the_allowed_fields_only() -> None:
    (line,) = written(
        'log.warning("deadlines", federation="engines", round=3, error="Unavailable", reason="full",'
        " body=SECRET, ticket=SECRET, theta=[1.0], exc_info=ValueError(SECRET))"
    )
    told = json.loads(line)
    assert told.pop("timestamp").endswith("Z")
    assert told == {
        "event": "deadlines",
        "level": "warning",
        "federation": "engines",
        "round": 3,
        "error": "Unavailable",
        "reason": "full",
    }


def test_a_line_stays_one_line() -> None:
    (line,) = written('log.error("problem", reason="one\\ntwo\\x1b[31m")')
    assert json.loads(line)["reason"] == "one\ntwo\x1b[31m"
    assert "\x1b" not in line


def test_a_traceback_is_the_name_of_its_class() -> None:
    lines = written(
        """
def handler(measurement):
    raise ValueError(f"bad {measurement}")

try:
    handler(SECRET)
except ValueError:
    logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
"""
    )
    assert lines == ["Exception in ASGI application", "ValueError"]


def test_the_cause_of_an_error_is_not_told_either() -> None:
    lines = written(
        """
try:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise RuntimeError("outer") from error
except RuntimeError:
    logging.getLogger("anything").error("failed", exc_info=True)
"""
    )
    assert lines == ["failed", "RuntimeError"]


def test_no_exception_under_way_is_no_failure_of_the_log() -> None:
    assert written('logging.getLogger("anything").error("failed", exc_info=True)') == ["failed"]


def test_what_is_less_than_a_warning_is_not_written() -> None:
    assert written('logging.getLogger("httpx").info(SECRET); logging.getLogger("sqlalchemy").debug(SECRET)') == []
