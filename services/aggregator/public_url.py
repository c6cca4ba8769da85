"""The address that a client called, as it signed it and as its answer is bound to it."""

from urllib.parse import urlsplit


def public_url(origin: str, path: str, query: str) -> str:
    """The URL that the client called; proxies may or may not have stripped the path prefix of `origin`."""
    origin = origin.rstrip("/")
    prefix = urlsplit(origin).path
    if path.startswith(f"{prefix}/"):
        path = path.removeprefix(prefix)
    return f"{origin}{path}?{query}" if query else f"{origin}{path}"
