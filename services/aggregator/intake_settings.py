"""What one process takes in at most, how it is reached, and what it tells of itself."""

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0, le=3600)]
Rate = Annotated[float, Field(gt=0, le=1e6)]
Many = Annotated[int, Field(ge=1, le=1_000_000)]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _metrics(text: str) -> str:
    host, _, port = text.rpartition(":")
    if text not in ("here", "off") and not (host and port.isdecimal() and 0 < int(port) < 65_536):
        raise ValueError("metrics is here (at /metrics), off, or HOST:PORT of a listener of its own")
    return text


def _proxies(text: str) -> str:
    for one in _words(text):
        try:
            ipaddress.ip_network(one)
        except ValueError:
            raise ValueError(
                f"{one!r} is no address of a proxy and no network of addresses: name addresses such as 10.0.0.2 and "
                "networks such as 10.0.0.0/24 or fd00::/64, whose bits after the prefix are 0, with commas between; no "
                "host names"
            ) from None
    return text


def _words(text: str) -> list[str]:
    return [word for word in (one.strip() for one in text.split(",")) if word]


class IntakeSettings(BaseSettings):
    """Limits have a variable each, such as FGPR_BODY_SECONDS; their defaults suit a thousand clients.

    Attributes:
        head_seconds: time for the header of a request.
        head_bytes: its size.
        body_seconds: time for a body, before what `body_rate` adds.
        body_rate: bytes of a body that gain one more second: the slowest sender that is waited for.
        bodies_bytes: of all bodies that are held in memory at one time.
        write_seconds: how long a client may read nothing of its answer.
        connections: at one time; further ones take the place of those that wait for a header, or are refused.
        connections_each: of one address.
        address_rate: requests a second of one address, judged before anything of a request is read.
        address_burst: requests of one address at once.
        identity_rate: requests a second of one key, judged when its signature held.
        identity_burst: requests of one key at once.
        proxies: addresses of proxies and networks of them, with commas between, whose X-Forwarded-For is believed.
        log_requests: whether each request is a line of the log.
        metrics: "here" for /metrics beside the rest, "off", or HOST:PORT of a listener of its own.
        tls_certificate: PEM file with the chain; with it the process speaks TLS.
        tls_key: PEM file with its private key.
    """

    model_config = SettingsConfigDict(env_prefix="FGPR_", extra="ignore", frozen=True)

    head_seconds: Seconds = 10.0
    head_bytes: Many = 65_536
    body_seconds: Seconds = 30.0
    body_rate: Many = 16_384
    bodies_bytes: Annotated[int, Field(ge=8 * 2**20)] = 256 * 2**20
    write_seconds: Seconds = 60.0
    connections: Many = 2_000
    connections_each: Many = 500
    address_rate: Rate = 100.0
    address_burst: Many = 1_000
    identity_rate: Rate = 20.0
    identity_burst: Many = 200
    proxies: Annotated[str, AfterValidator(_proxies)] = ""
    log_requests: bool = True
    metrics: Annotated[str, AfterValidator(_metrics)] = "here"
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    @property
    def proxy_networks(self) -> tuple[Network, ...]:
        """The networks of the proxies; an address is a network of one."""
        return tuple(ipaddress.ip_network(one) for one in _words(self.proxies))
