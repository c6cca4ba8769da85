"""Row 16: what is no message."""

from defences.defence import Defence, defence

WIRING = "services/aggregator/routes/wiring.py"
PROBLEMS = "services/aggregator/problems.py"
MESSAGE = "libs/fgpr/message.py"
CANONICAL = "libs/fgpr/canonical.py"
ENCODING = "libs/fgpr/secagg/encoding.py"
WIRING_TESTS = "aggregator/routes/test_wiring.py"
BAD_INPUT = "aggregator/routes/test_bad_input.py"
PROBLEM_TESTS = "aggregator/test_problems.py"
MESSAGES = "fgpr/test_message.py"
STRICT = f"{MESSAGES}::test_decoding_is_strict_and_names_the_field"
CANONICALS = "fgpr/test_canonical.py"

DEFENCES: list[Defence] = [
    defence("16", "no field is converted", MESSAGE, "ConfigDict(strict=True, ", "ConfigDict(", tests=STRICT),
    defence("16", "no unknown field", MESSAGE, 'extra="forbid", ', "", tests=STRICT),
    defence(
        "16",
        "a parser of our own first",
        MESSAGE,
        "        canonical.parse(raw)\n        try:",
        "        try:",
        tests=STRICT,
    ),
    defence("16", "no repeated key", CANONICAL, "if len(fields) != len(pairs):", tests=CANONICALS),
    defence(
        "16",
        "no NaN and no Infinity",
        CANONICAL,
        'raise EncodingError(f"{name} is not JSON")',
        "return 0.0",
        tests=CANONICALS,
    ),
    defence("16", "nothing beyond floats", CANONICAL, "if not math.isfinite(number):", tests=CANONICALS),
    defence("16", "not nested too deep", CANONICAL, "_check_depth(raw)", tests=CANONICALS, inside="parse"),
    defence("16", "32 deep and no deeper", CANONICAL, "if depth > MAX_DEPTH:", tests=CANONICALS),
    defence(
        "16",
        "brackets in text do not count",
        CANONICAL,
        '_BRACKET.findall(_STRING.sub(b"", raw))',
        "_BRACKET.findall(raw)",
        tests=CANONICALS,
    ),
    defence(
        "16",
        "UTF-8",
        CANONICAL,
        'raw.decode("utf-8"), object_pairs_hook',
        'raw.decode("utf-8", "replace"), object_pairs_hook',
        tests=CANONICALS,
    ),
    defence("16", "one spelling of bytes", CANONICAL, "if to_text(raw) != text:", tests=CANONICALS),
    defence(
        "16",
        "digests of 32 bytes",
        MESSAGE,
        "Field(min_length=canonical.DIGEST_BYTES, max_length=canonical.DIGEST_BYTES),",
        "Field(),",
        tests=f"{MESSAGES}::test_a_digest_has_32_bytes",
    ),
    defence(
        "16",
        "keys of 32 bytes",
        MESSAGE,
        "Field(min_length=signatures.KEY_BYTES, max_length=signatures.KEY_BYTES)",
        "Field()",
        tests=f"{MESSAGES}::test_keys_and_signatures_have_their_length",
    ),
    defence(
        "16",
        "signatures of 64 bytes",
        MESSAGE,
        "Field(min_length=signatures.SIGNATURE_BYTES, max_length=signatures.SIGNATURE_BYTES),",
        "Field(),",
        tests=f"{MESSAGES}::test_keys_and_signatures_have_their_length",
    ),
    defence("16", "names of a few letters", MESSAGE, "pattern=NAME_PATTERN", "max_length=64", tests=STRICT),
    defence("16", "whole numbers in range", MESSAGE, "Field(ge=0, le=2**53 - 1)", "Field(ge=0)", tests=STRICT),
    defence("16", "no negative ones", MESSAGE, "Field(ge=0, le=2**53 - 1)", "Field(le=2**53 - 1)", tests=STRICT),
    defence("16", "times that there are", MESSAGE, "    AfterValidator(_real_instant),\n", "", tests=STRICT),
    defence(
        "16",
        "times in one spelling",
        MESSAGE,
        r'Field(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\z"),',
        "Field(),",
        tests=STRICT,
    ),
    defence(
        "16",
        "our own answer to a bad parameter",
        PROBLEMS,
        "app.add_exception_handler(RequestValidationError, _invalid)",
        tests=PROBLEM_TESTS,
    ),
    defence(
        "16", "and to a bad path", PROBLEMS, "app.add_exception_handler(HTTPException, _framework)", tests=PROBLEM_TESTS
    ),
    defence("16", "and to a typed error", PROBLEMS, "app.add_exception_handler(FgprError, _typed)", tests=WIRING_TESTS),
    defence(
        "16",
        "half a surrogate pair is no second failure",
        PROBLEMS,
        'ensure_ascii=True, allow_nan=False).encode("ascii")',
        "ensure_ascii=False, allow_nan=False).encode()",
        tests=f"{PROBLEM_TESTS}::test_any_reason_makes_a_document",
    ),
    defence(
        "16",
        "a body that says it is JSON",
        WIRING,
        'if kind != "application/json":',
        tests=f"{WIRING_TESTS}::test_another_content_type",
    ),
    defence(
        "16",
        "names in paths",
        WIRING,
        'Path(pattern="^[a-z0-9-]{1,64}$", ',
        "Path(",
        tests=f"{WIRING_TESTS}::test_odd_parameters",
    ),
    defence(
        "16",
        "numbers in paths",
        WIRING,
        "Path(ge=0, le=2**31 - 1, ",
        "Path(",
        tests=f"{BAD_INPUT}::test_limits_of_whole_numbers",
    ),
    defence(
        "16",
        "numbers in queries",
        WIRING,
        "Query(ge=0, le=2**53, ",
        "Query(",
        tests=f"{BAD_INPUT}::test_limits_of_whole_numbers",
    ),
    defence(
        "16",
        "clients encode nothing that is not finite",
        ENCODING,
        "if not math.isfinite(value):",
        tests="fgpr/secagg/test_contributor.py::test_nothing_that_is_not_finite_is_encoded",
    ),
]
