"""Wires one aggregator: settings, database, keys, routes, deadlines. The only place where parts are put together."""

import secrets
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio.to_thread
from fastapi import APIRouter, FastAPI

from aggregator import problems
from aggregator.answers import SignedAnswers, Signer
from aggregator.deadlines import Deadlines
from aggregator.keys import KeyDirectory
from aggregator.routes import enrolments, federations, log, operator, rounds
from aggregator.routes.wiring import Wiring
from aggregator.service import restoring
from aggregator.service.context import Context
from aggregator.settings import Settings
from aggregator.storage import migrate
from aggregator.storage.announcements import Listener
from aggregator.storage.engine import Database

WORKING_THREADS = 40
"""Threads for requests that do not wait."""


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
    """
    return Context(
        database=Database(settings.database),
        keys=KeyDirectory(settings.keys),
        origin=settings.origin,
        clock=clock,
        random_bytes=random_bytes,
    )


def check_known(settings: Settings, context: Context) -> None:
    """Check that the log continues every checkpoint of it that is known outside the database.

    Raises:
        VerificationError: it does not.
        OSError: the file that the settings name cannot be read.
    """
    remembered = context.keys.remembered()
    if remembered is not None:
        restoring.check_continues(context, remembered, "beside the keys")
    if settings.known_checkpoint is not None:
        note = settings.known_checkpoint.read_text(encoding="utf-8")
        restoring.check_continues(context, note, str(settings.known_checkpoint))


def create_app(settings: Settings, context: Context) -> FastAPI:
    """The application.

    Raises:
        LocalProtocolError: the database's schema is not this program's; says what to run.
        VerificationError: the log does not continue a checkpoint that is known outside the database.
    """
    migrate.check_schema(context.database)
    context.keys.service()
    check_known(settings, context)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        # Routes are plain functions in threads; those that wait for a change must not keep the others out.
        anyio.to_thread.current_default_thread_limiter().total_tokens = WORKING_THREADS + settings.waiters
        deadlines = Deadlines(context, settings.tick_seconds)
        listener = Listener(settings.database, context.bell.ring, context.bell.listen)
        deadlines.start()
        listener.start()
        yield
        listener.stop()
        deadlines.stop()
        context.database.close()

    app = FastAPI(title="FGPR aggregator", version="1", lifespan=life, docs_url=None, redoc_url=None)
    app.state.aggregator = Wiring(
        settings, context, threading.BoundedSemaphore(settings.waiters), restoring.epoch(context)
    )
    problems.install(app)
    app.add_middleware(SignedAnswers, signer=Signer(context.keys.service(), context.clock), origin=settings.origin)
    v1 = APIRouter(prefix="/v1")
    for part in (enrolments, federations, rounds, log, operator):
        v1.include_router(part.router)
    app.include_router(v1)
    return app
