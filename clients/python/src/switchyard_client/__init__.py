"""Client of a Switchyard gateway: `Client`, and `AsyncClient` for asyncio."""

from ._wire import NOT_GIVEN, ProblemError
from .async_client import AsyncClient
from .client import Client

__all__ = ["NOT_GIVEN", "AsyncClient", "Client", "ProblemError"]
