"""The HTTP server around the application: its connections, its limits, TLS, and the listener for metrics."""

import errno
import gc
import os
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import prometheus_client
import uvicorn
from fastapi import FastAPI

from aggregator.intake.connection import Gate, connection_class
from aggregator.routes.wiring import Wiring
from aggregator.settings import Settings
from fgpr import private_keys
from fgpr.errors import CryptographicError, LocalProtocolError

SPARE_FILES = 200
"""Files that a process needs beside its connections: database, keys, log."""

GRACE_SECONDS = 5

BACKLOG = 2048
"""Connections that may wait to be taken."""

COLLECT_AFTER = 20_000
"""Objects that are made between two searches for garbage."""


def configure(app: FastAPI) -> uvicorn.Config:
    """The server's configuration; sockets are handed over when it runs.

    Args:
        app: made by `aggregator.main.create_app`.

    Raises:
        CryptographicError: others can read the key of the certificate.
        LocalProtocolError: certificate or key cannot be read, or do not belong together.
    """
    found: Wiring = app.state.aggregator
    settings = found.settings
    proxies = settings.proxy_networks
    gate = Gate(
        most=_connections(settings.connections),
        most_each=settings.connections_each,
        proxies=proxies,
        head_seconds=settings.head_seconds,
        head_bytes=settings.head_bytes,
        write_seconds=settings.write_seconds,
        metrics=found.metrics,
    )
    context = tls_context(settings)
    return uvicorn.Config(
        app,
        http=connection_class(gate),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[str(one) for one in proxies],
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=None if context is None else lambda _config, _default: context,
    )


@contextmanager
def listening(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Sockets that listen at every address of a host, closed at the end.

    Raises:
        LocalProtocolError: it has none here, or its port is taken or not this user's; says what to do.
    """
    with ExitStack() as stack:
        bound = []
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, _, _, _, address in dict.fromkeys(found):
                one = stack.enter_context(socket.socket(family))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    # A client's IPv4 address would be written as another one otherwise.
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                one.bind(address)
                # Of two processes that start at once, both may bind, and only one may listen.
                one.listen(BACKLOG)
                bound.append(one)
        except OSError as error:
            raise LocalProtocolError(f"cannot listen on {host}:{port}: {error.strerror}; {_advice(error)}") from error
        yield bound


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "stop the process that listens there (`ss -ltnp` shows it), or name another port"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "name a port from 1024 on, or let this user listen on low ones"
    return "name an address of this machine, such as 127.0.0.1 or 0.0.0.0"


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """TLS 1.2 and 1.3 with the certificate of the settings; None without one.

    Raises:
        CryptographicError: others can read the key.
        LocalProtocolError: only one of the two is named, they cannot be read, or do not belong together.
    """
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise LocalProtocolError("TLS takes a certificate and its key: name both")
    _check_key(key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise LocalProtocolError(f"cannot use {certificate} with {key} for TLS: {reason}") from error
    return context


@contextmanager
def metrics_listener(app: FastAPI) -> Iterator[None]:
    """A listener for metrics alone, where the settings name one.

    Raises:
        LocalProtocolError: its address is in use, or is none.
    """
    found: Wiring = app.state.aggregator
    host, _, port = found.settings.metrics.rpartition(":")
    if not host:
        yield
        return
    try:
        server, thread = prometheus_client.start_http_server(int(port), host.strip("[]"), found.metrics.registry)
    except OSError as error:
        where = found.settings.metrics
        raise LocalProtocolError(f"cannot listen on {where} for metrics: {error.strerror}; {_advice(error)}") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settle_memory() -> None:
    """Look for garbage less often, and never again at what was loaded until now.

    For a process that does nothing but serve: what a request leaves behind is freed without any search.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 50, 100)


def _check_key(path: Path) -> None:
    try:
        status = path.stat()
    except OSError as error:
        raise CryptographicError(f"cannot read {path}: {error.strerror}") from error
    private_keys.check_file(str(path), status.st_mode, status.st_uid, os.geteuid())


def _connections(wanted: int) -> int:
    """As many as the process may have files for: beyond, accepting would fail for all."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < wanted + SPARE_FILES:
        files = wanted + SPARE_FILES if most == resource.RLIM_INFINITY else min(most, wanted + SPARE_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return max(1, min(wanted, files - SPARE_FILES))
