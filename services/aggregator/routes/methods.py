"""The methods of a path that several routes share: the framework names those of the first one only."""

from collections.abc import Iterable

from fastapi import APIRouter
from fastapi.routing import APIRoute


def methods_of(routers: Iterable[APIRouter], path: str) -> list[str]:
    """What Allow has to list (RFC 9110, 10.2.1), in order.

    Args:
        routers: that may have it.
        path: without what stands before all of them.
    """
    routes = (route for router in routers for route in router.routes if isinstance(route, APIRoute))
    return sorted({method for route in routes if route.path_regex.match(path) for method in route.methods or ()})
