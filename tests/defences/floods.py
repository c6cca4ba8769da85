"""Row 15: too much, too slow, too many."""

from defences.defence import Defence, defence

CONNECTION = "services/aggregator/intake/connection.py"
BODIES = "services/aggregator/intake/bodies.py"
BUCKETS = "services/aggregator/token_buckets.py"
RAW = "services/aggregator/request_bodies.py"
AUTH = "services/aggregator/auth.py"
SERVING = "services/aggregator/serving.py"
ROUND_ROUTES = "services/aggregator/routes/rounds.py"
CONNECTIONS = "aggregator/intake/test_connection.py"
BODY_TESTS = "aggregator/intake/test_bodies.py"
AUTH_TESTS = "aggregator/test_auth.py"
WIRING_TESTS = "aggregator/routes/test_wiring.py"
WAITING = "aggregator/routes/test_waiting.py"

DEFENCES: list[Defence] = [
    defence(
        "15",
        "a declared body above its route's limit is not read",
        RAW,
        "if declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):",
        tests=f"{BODY_TESTS}::test_a_gigabyte_that_is_declared_is_not_waited_for",
    ),
    defence(
        "15",
        "nor one whose length is no number",
        RAW,
        "(len(declared) > 18 or int(declared) > limit)",
        "int(declared) > limit",
        tests=f"{AUTH_TESTS}::test_an_absurd_content_length_is_refused_unread",
    ),
    defence(
        "15",
        "an undeclared one is cut off at the limit",
        RAW,
        "if len(body) > limit:",
        tests=f"{BODY_TESTS}::test_a_gigabyte_in_chunks_is_cut_off",
    ),
    defence(
        "15",
        "limits by route",
        ROUND_ROUTES,
        [("dependencies=[body_limit(CONTRIBUTION_LIMIT)]", "dependencies=[]")],
        tests=f"{WIRING_TESTS}::test_bodies_beyond_the_limit",
    ),
    defence(
        "15",
        "before authentication",
        RAW,
        "    limit: int = getattr",
        '    if "signature" not in request.headers:\n        return b""\n    limit: int = getattr',
        tests=f"{AUTH_TESTS}::test_too_large_comes_before_authentication",
    ),
    defence(
        "15",
        "all bodies together",
        BODIES,
        "if self._held > self._most_bytes:",
        tests=f"{BODY_TESTS}::test_all_bodies_together_have_a_limit",
    ),
    defence(
        "15",
        "what is gone makes room",
        BODIES,
        "self._held -= body.received",
        tests=f"{BODY_TESTS}::test_all_bodies_together_have_a_limit",
    ),
    defence(
        "15",
        "nothing is unpacked",
        BODIES,
        'if coding != "identity" or transfer != "chunked":',
        'if transfer != "chunked":',
        tests=f"{BODY_TESTS}::test_packed_bodies_are_not_unpacked",
    ),
    defence(
        "15",
        "nor packed on its way",
        BODIES,
        'if coding != "identity" or transfer != "chunked":',
        'if coding != "identity":',
        tests=f"{BODY_TESTS}::test_a_packed_transfer",
    ),
    defence(
        "15",
        "a body has to come",
        BODIES,
        "async with asyncio.timeout_at(until):",
        "async with asyncio.timeout_at(None):",
        tests=f"{BODY_TESTS}::test_a_body_that_does_not_end_is_not_waited_for",
    ),
    defence(
        "15",
        "and to keep its rate",
        BODIES,
        "self._began + self._seconds + self.received / self._rate",
        "self._loop.time() + self._seconds",
        tests=f"{BODY_TESTS}::test_a_slow_body_has_to_keep_its_rate",
    ),
    defence(
        "15",
        "a body that nobody read ends its connection",
        BODIES,
        'if message["type"] == "http.response.start" and not self._complete:',
        tests=f"{BODY_TESTS}::test_what_nobody_reads_ends_the_connection",
    ),
    defence(
        "15",
        "an allowance for each address",
        BODIES,
        "self._addresses.take(sender(scope))",
        tests=f"{BODY_TESTS}::test_one_address_asks_so_much",
    ),
    defence(
        "15",
        "an IPv6 network is one sender",
        BODIES,
        "str(ipaddress.IPv6Network((int(address), 64), strict=False))",
        "str(address)",
        tests=f"{BODY_TESTS}::test_whose_allowance_it_is",
    ),
    defence(
        "15",
        "an allowance for each key",
        AUTH,
        "aggregator.admit(caller.key_id)",
        tests=f"{BODY_TESTS}::test_one_key_asks_so_much",
    ),
    defence(
        "15",
        "which nobody else uses up",
        AUTH,
        [
            (
                "    body = await raw_body(request)\n    try:",
                (
                    "    body = await raw_body(request)\n"
                    "    import re\n"
                    "    told = re.search('keyid=\"([^\"]+)\"', request.headers.get('signature-input', ''))\n"
                    "    aggregator.admit(told[1] if told else '')\n    try:"
                ),
            ),
            ("    aggregator.admit(caller.key_id)\n", ""),
        ],
        tests=f"{BODY_TESTS}::test_one_key_asks_so_much",
    ),
    defence("15", "a bucket is empty at last", BUCKETS, "bucket.tokens -= 1", tests="aggregator/test_token_buckets.py"),
    defence(
        "15",
        "and holds no more than its burst",
        BUCKETS,
        "min(float(self._burst), bucket.tokens + (now - bucket.at) * self._rate)",
        "bucket.tokens + (now - bucket.at) * self._rate",
        tests="aggregator/test_token_buckets.py",
    ),
    defence(
        "15",
        "buckets do not fill the memory",
        BUCKETS,
        "while len(self._buckets) > self._most:",
        "while False:",
        tests="aggregator/test_token_buckets.py",
    ),
    defence(
        "15",
        "what a client says of its address counts behind a proxy only",
        SERVING,
        "proxy_headers=bool(proxies),\n        forwarded_allow_ips=[str(one) for one in proxies],",
        'proxy_headers=True,\n        forwarded_allow_ips="*",',
        tests=f"{BODY_TESTS}::test_without_a_proxy_what_a_client_says_of_its_address_does_not_count",
    ),
    defence(
        "15",
        "a header has to come",
        CONNECTION,
        "self._head_timer = self.loop.call_later(self.gate.head_seconds, self._head_late)",
        "self._head_timer = self.loop.call_later(1e6, self._head_late)",
        tests=f"{CONNECTIONS}::test_a_header_that_does_not_end_is_not_waited_for",
    ),
    defence(
        "15",
        "the next one, too",
        CONNECTION,
        "if self._head_timer is None and self.cycle is not None and self.cycle.response_complete:",
        tests=f"{CONNECTIONS}::test_a_second_request_on_a_connection_has_its_own_time",
    ),
    defence(
        "15",
        "and to end",
        CONNECTION,
        "if self._head_timer is not None and self._head_bytes > self.gate.head_bytes:",
        tests=f"{CONNECTIONS}::test_an_endless_header",
    ),
    defence(
        "15",
        "so many connections of one address",
        CONNECTION,
        "if gate.held[self._address] > gate.most_each and not gate.is_proxy(self._address):",
        tests=f"{CONNECTIONS}::test_one_address_holds_so_many_connections",
    ),
    defence(
        "15",
        "so many in all: who waits for a header makes room",
        CONNECTION,
        "elif len(self.connections) <= gate.most:",
        "elif True:",
        tests=f"{CONNECTIONS}::test_who_waits_for_a_header_makes_room",
    ),
    defence(
        "15",
        "the one that waits longest",
        CONNECTION,
        "elif gate.heads:",
        tests=f"{CONNECTIONS}::test_who_waits_for_a_header_makes_room",
    ),
    defence(
        "15",
        "or the newest is refused",
        CONNECTION,
        'self._end(Unavailable(f"all {gate.most} connections are in use"), "full")',
        tests=f"{CONNECTIONS}::test_where_nobody_can_make_room_the_newest_is_refused",
    ),
    defence(
        "15",
        "a reader has to read",
        CONNECTION,
        "self._write_timer = self.loop.call_later(self.gate.write_seconds, self._not_reading)",
        tests=f"{CONNECTIONS}::test_a_client_that_does_not_read_its_answer_is_let_go",
    ),
    defence(
        "15",
        "never more connections than files",
        SERVING,
        "return max(1, min(wanted, files - SPARE_FILES))",
        "return wanted",
        tests="aggregator/test_serving.py::test_there_are_never_more_connections_than_files",
    ),
    defence(
        "15",
        "so many requests that wait",
        ROUND_ROUTES,
        "while may_wait and seen == shown.state",
        "while seen == shown.state",
        tests=f"{WAITING}::test_without_a_free_place_it_is_answered_at_once",
    ),
    defence(
        "15",
        "for so long",
        ROUND_ROUTES,
        "Query(ge=0, le=LONGEST_WAIT)",
        "Query(ge=0)",
        tests=f"{WAITING}::test_limits",
    ),
    defence(
        "15",
        "lists have pages",
        ROUND_ROUTES,
        "Query(ge=1, le=round_views.MOST_ROUNDS)",
        "Query(ge=1)",
        tests=f"{WIRING_TESTS}::test_odd_parameters",
    ),
    defence(
        "15",
        "the log, too",
        "services/aggregator/service/audit.py",
        "last = min(end, size, start_index + MOST_ENTRIES)",
        "last = min(end, size)",
        tests="aggregator/routes/test_log.py::test_a_page_has_so_many_leaves",
    ),
    defence(
        "15",
        "one look of the counters at a time",
        "services/aggregator/metrics.py",
        "blocking=self._last is None",
        "blocking=True",
        tests="aggregator/test_metrics.py::test_the_database_is_asked_once_at_a_time",
    ),
    defence(
        "15",
        "in leaves and in bytes",
        "services/aggregator/service/audit.py",
        "if total > MOST_BYTES and total != len(one):",
        tests="aggregator/routes/test_log.py::test_a_page_has_so_many_bytes",
    ),
]
