"""The network between parties and processes: loses requests and answers, and keeps what went by."""

from dataclasses import dataclass
from typing import Protocol

import httpx

from machine.faults import CRASHES, Crash, Fault
from machine.process import Process
from machine.violation import require
from support.party import Recorded

KEPT = 40
"""Captured requests that are kept."""


@dataclass
class Captured:
    """A signed request that somebody on the way wrote down.

    Attributes:
        request: as it went by.
        key_id: of the key that signed it.
        nonce: of its signature.
        status: of its answer; None where none was given.
        is_void: whether a backup was put in place since it was signed.
    """

    request: httpx.Request
    key_id: str
    nonce: str
    status: int | None = None
    is_void: bool = False


class Processes(Protocol):
    """The processes that serve."""

    def next(self) -> Process:
        """The one that serves the next request."""
        ...

    def bury(self, process: Process) -> None:
        """Begin another one in place of one that was killed."""
        ...


class Wire(Recorded):
    """The way from every party to whichever process is next."""

    def __init__(self, processes: Processes) -> None:  # not Recorded's: there is no socket
        self.processes = processes
        self.fault, self.commits = Fault.NONE, 1
        self.captured: list[Captured] = []
        self.requests, self.answers = [], []

    def close(self) -> None:
        """There is nothing to close."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Deliver one request, unless a fault comes between."""
        request.read()
        if request.method == "GET":
            return self.deliver(request, Fault.NONE)
        captured = _captured(request)
        self.captured = [*self.captured[1 - KEPT :], captured]
        fault, self.fault = self.fault, Fault.NONE
        if fault is Fault.DROP_REQUEST:
            raise httpx.ConnectError("the request was lost")
        response = self.deliver(request, fault)
        captured.status = response.status_code
        if fault is Fault.DROP_RESPONSE:
            raise httpx.ReadError("the answer was lost")
        return response

    def deliver(self, request: httpx.Request, fault: Fault) -> httpx.Response:
        """Let a process serve a request; where it is killed, there is no answer.

        Raises:
            Violation: it answered with a status of 500 or above.
        """
        process = self.processes.next()
        if fault in CRASHES:
            process.arm(fault, self.commits)
        try:
            response = process.answer(request)
        except Crash:
            self.processes.bury(process)
            raise httpx.RemoteProtocolError("the process was killed") from None
        process.disarm()
        content = response.read()
        status, where = response.status_code, f"{request.method} {request.url.path}"
        require(status < 500, 13, f"{where} is answered with {status}: {content[:300]!r}")
        self.requests, self.answers = [request], [(status, content)]
        return httpx.Response(status, headers=response.headers, content=content)


def _captured(request: httpx.Request) -> Captured:
    given = request.headers["signature-input"]
    named = {name: given.partition(f'{name}="')[2].partition('"')[0] for name in ("keyid", "nonce")}
    return Captured(request, named["keyid"], named["nonce"])
