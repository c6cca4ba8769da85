"""Wires one aggregator: settings, database, keys, routes, deadlines. The only place where parts are put together."""

import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import cache, partial
from urllib.parse import urlsplit

import anyio.to_thread
from fastapi import FastAPI

from aggregator import interface, kept_files, problems
from aggregator.answers import SignedAnswers, Signer
from aggregator.deadlines import Deadlines
from aggregator.intake.bodies import Bodies
from aggregator.intake.observed import Observed
from aggregator.keys import KeyDirectory, size_of
from aggregator.metrics import Metrics
from aggregator.routes import enrolments, federations, health, log, operator, rounds
from aggregator.routes.methods import methods_of
from aggregator.routes.wiring import Wiring
from aggregator.service import restoring, round_views, statistics
from aggregator.service.context import Context
from aggregator.service.lookout import Lookout
from aggregator.service.readiness import ReadinessCheck
from aggregator.settings import Settings
from aggregator.storage import database_file, migrate
from aggregator.storage.announcements import Listener
from aggregator.storage.engine import Database
from aggregator.token_buckets import TokenBuckets
from fgpr.errors import LocalProtocolError

V1 = "/v1"

WORKING_THREADS = 16
"""Threads for requests; those that wait for a change hold none. Python runs one of them, the others wait for disks."""


def now() -> datetime:
    """The system's clock."""
    return datetime.now(UTC)


def create_context(
    settings: Settings,
    clock: Callable[[], datetime] = now,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
) -> Context:
    """Open database and keys.

    Raises:
        CryptographicError: the folder of keys is not safe.
        LocalProtocolError: the database's file or its password's cannot be used.
    """
    database_file.check(settings.database)
    return Context(
        database=Database(settings.database_url),
        keys=KeyDirectory(settings.keys, settings.key_passphrase),
        origin=settings.origin,
        clock=clock,
        random_bytes=random_bytes,
    )


def check_known(settings: Settings, context: Context) -> None:
    """Check that the log continues every checkpoint of it that is known outside the database.

    Raises:
        DataError: one of them cannot be read, or is none of this aggregator.
        VerificationError: the log is older than one of them, or has another history.
    """
    remembered = context.keys.remembered()
    if remembered is not None:
        restoring.check_continues(context, remembered, "beside the keys")
    if settings.known_checkpoint is not None:
        note = kept_files.read_note(settings.known_checkpoint)
        restoring.check_continues(context, note, str(settings.known_checkpoint))


def check_may_begin(context: Context) -> None:
    """Check that a log may begin in this database: not in a new one, where the keys signed leaves of another.

    Raises:
        LocalProtocolError: they did; says what to do.
    """
    remembered = context.keys.remembered()
    size = 0 if remembered is None else size_of(remembered)
    if size > 0 and migrate.is_new(context.database):
        raise LocalProtocolError(
            f"the database {context.database.shown} is new, and a checkpoint of {size} leaves is known (beside the "
            "keys): one key must not sign two logs. Name the database of that log (--database or FGPR_DATABASE), put "
            "its newest backup here with `fgpr-aggregator restore FILE`, or begin anew with another folder of keys "
            "(--keys or FGPR_KEYS)"
        )


def create_app(settings: Settings, context: Context) -> FastAPI:
    """The application.

    Raises:
        LocalProtocolError: the database's schema is not this program's; says what to run.
        CryptographicError: the service key cannot be read, or is not the one that signs the log.
        DataError: a checkpoint that is known outside the database cannot be read, or is none of this aggregator.
        VerificationError: the log does not continue it.
    """
    migrate.check_schema(context.database)
    context.keys.service()
    restoring.check_keys(context)
    check_known(settings, context)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = WORKING_THREADS
        deadlines = Deadlines(context, settings.tick_seconds)
        listener = Listener(settings.database_url, context.bell.ring, context.bell.listen)
        deadlines.start()
        listener.start()
        yield
        listener.stop()
        deadlines.stop()
        context.database.close()

    app = create_interface(settings.origin, life, metrics=settings.metrics == "here")
    metrics = Metrics(partial(statistics.read, context))
    epoch = restoring.epoch(context)
    app.state.aggregator = Wiring(
        settings,
        context,
        threading.BoundedSemaphore(settings.waiters),
        metrics,
        ReadinessCheck(context, epoch=epoch),
        TokenBuckets("key", settings.identity_rate, settings.identity_burst, time.monotonic),
        epoch,
        Lookout(context.bell, partial(round_views.state, context)),
    )
    # The last one that is added is the first that a request meets. Nothing is signed for who is over an allowance.
    app.add_middleware(SignedAnswers, signer=Signer(context.keys.service(), context.clock), origin=settings.origin)
    app.add_middleware(
        Bodies,
        prefix=urlsplit(settings.origin).path,
        addresses=TokenBuckets("address", settings.address_rate, settings.address_burst, time.monotonic),
        seconds=settings.body_seconds,
        rate=settings.body_rate,
        most_bytes=settings.bodies_bytes,
    )
    app.add_middleware(Observed, metrics=metrics, log_requests=settings.log_requests)
    return app


def create_interface(
    origin: str, life: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None, *, metrics: bool = True
) -> FastAPI:
    """The routes and what OpenAPI tells of them, without anything behind them.

    Args:
        origin: the public address.
        life: what begins and ends with the application.
        metrics: whether /metrics is among the routes.
    """
    app = FastAPI(
        title="FGPR aggregator",
        version="1",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        # Another slash would be answered with an address made of whatever Host the request names, and signed.
        redirect_slashes=False,
        root_path_in_servers=False,
        generate_unique_id_function=lambda route: route.name,
    )
    problems.install(app)
    # Those that are asked most often are compared first.
    routers = [part.router for part in (rounds, log, federations, enrolments, operator)]
    for router in routers:
        app.include_router(router, prefix=V1)
    app.state.methods_of = lambda path: methods_of(routers, path.removeprefix(V1))
    app.include_router(health.router)
    if metrics:
        app.include_router(health.metrics_router)
    _build(app)
    # It takes half a second, and most processes are never asked.
    app.openapi = cache(partial(interface.document, app, origin))  # type: ignore[method-assign]  # FastAPI's own way
    return app


def _build(app: FastAPI) -> None:
    """Let the framework make its routes now.

    It makes them at the first match otherwise, under a change of the process's warning filters that other threads see.
    """
    for route in app.routes:
        route.matches({"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []})
