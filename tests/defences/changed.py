"""Row 2: requests that were changed on their way."""

from defences.defence import Defence, defence

AUTH = "services/aggregator/auth.py"
PLAIN = "services/aggregator/plain_requests.py"
REPLAYS = "aggregator/test_replays.py"
AUTH_TESTS = "aggregator/test_auth.py"
PLAIN_TESTS = "aggregator/test_plain_requests.py"


def _not_covered(name: str) -> Defence:
    return defence(
        "2",
        f"over {name}",
        AUTH,
        "missing = [name for name in covered(body) if",
        f'missing = [name for name in covered(body) if name != "{name}" and',
        tests=AUTH_TESTS,
    )


def _unread(name: str, before: str, after: str | None = None) -> Defence:
    return defence("2", f"the agents' form has {name}", PLAIN, before, after, tests=PLAIN_TESTS, inside="read")


DEFENCES: list[Defence] = [
    *map(_not_covered, ("@method", "@authority", "@path", "@query", "content-type", "content-digest")),
    defence("2", "all of these are required", AUTH, "if missing:", tests=AUTH_TESTS, inside="verify_request"),
    defence(
        "2",
        "a component with parameters is another one",
        AUTH,
        "f'\"{name}\"' not in result.covered_components",
        "not any(one.startswith(f'\"{name}\"') for one in result.covered_components)",
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "the digest is that of the raw bytes",
        AUTH,
        "verifier.verify_body(message, [result], body)",
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "before anything is parsed",
        "services/aggregator/request_bodies.py",
        "    request.state.raw_body = bytes(body)\n    return bytes(body)",
        "    from fgpr import canonical\n    canonical.parse(bytes(body) or b'0')\n"
        "    request.state.raw_body = bytes(body)\n    return bytes(body)",
        tests=f"{REPLAYS}::test_what_is_not_signed_is_not_parsed",
    ),
    defence(
        "2",
        "unsigned requests are none",
        AUTH,
        'if "signature-input" not in headers or "signature" not in headers:',
        tests=AUTH_TESTS,
    ),
    defence("2", "of our label", AUTH, ", expect_label=LABEL)", ")", tests=AUTH_TESTS),
    defence(
        "2",
        "of our tag",
        AUTH,
        ", expect_tag=TAG, ",
        ', expect_tag="fgpr-v2" if "fgpr-v2" in str(headers.items()) else TAG, ',
        tests=AUTH_TESTS,
    ),
    defence(
        "2",
        "the agents' form has our tag",
        PLAIN,
        """tag="{TAG}")'""",
        """tag="[a-z0-9-]+")'""",
        tests=PLAIN_TESTS,
    ),
    defence(
        "2",
        "at the public address, whatever Host says",
        AUTH,
        [
            (
                '    if "signature-input" not in headers or "signature" not in headers:',
                (
                    '    host = str(dict(headers.items())["host"])\n'
                    '    origin = "/".join(["https:", "", host, *origin.split("/")[3:]])\n'
                    '    if "signature-input" not in headers or "signature" not in headers:'
                ),
            )
        ],
        tests=f"{AUTH_TESTS}::test_the_host_header_plays_no_part",
    ),
    defence(
        "2",
        "a half signed read is no unsigned one",
        AUTH,
        'if "signature-input" not in request.headers and "signature" not in request.headers:',
        'if "signature-input" not in request.headers or "signature" not in request.headers:',
        tests="aggregator/routes/test_log.py",
    ),
    defence(
        "2",
        "the agents' form is signed",
        PLAIN,
        "if not key or not signatures.holds(key, self.base, self.signature):",
        "if not key:",
        tests=PLAIN_TESTS,
    ),
    _unread("each line once", "if lower in fields:"),
    _unread(
        "all components, in their order",
        'if parameters["names"] != " ".join(f\'"{name}"\' for name in names) or ',
        "if ",
    ),
    _unread("no port that signatures leave out", ' or default_port(address["authority"]):', ":"),
    _unread("one content type", 'if fields.get("content-type") != _TYPE or ', "if "),
    _unread("the digest of the raw bytes", ' or fields.get("content-digest") != digest:', ":"),
    _unread("no digest without a body", 'elif "content-digest" in fields:'),
    _unread("a method in capitals", " or not _METHOD.fullmatch(method):", ":"),
]
