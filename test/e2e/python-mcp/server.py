"""A server of MCP's Python SDK (1.x, 2.x) or of FastMCP: server.py mcp|fastmcp stdio|<port>"""

import asyncio
import sys
from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, Field

kind, transport = sys.argv[1:3]
if kind == "fastmcp":
    from fastmcp import Context, FastMCP as Server
else:
    try:
        from mcp.server.mcpserver import Context, MCPServer as Server
    except ImportError:
        from mcp.server.fastmcp import Context, FastMCP as Server

address = {} if transport == "stdio" else {"port": int(transport)}
# Only the SDK before 2.0 takes the port where the server is made.
is_old = kind == "mcp" and Server.__name__ == "FastMCP"
server = Server("python", instructions="Use it in tests.", **(address if is_old else {}))


class Street(BaseModel):
    name: str
    zip: Annotated[int, Field(ge=0, le=99999)] = 1


class Mood(str, Enum):
    good = "good"
    bad = "bad"


class Person(BaseModel):
    name: str
    streets: list[Street]
    mood: Mood = Mood.good
    note: str | None = None
    friend: "Person | None" = None


class Colour(BaseModel):
    colour: str
    count: int = 1


@server.tool()
def add(a: int, b: int = 2) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def person(name: str, kind: Literal["a", "b"] = "a") -> Person:
    return Person(name=name, streets=[Street(name=kind)])


@server.tool()
def takes_person(who: Person) -> str:
    return who.model_dump_json()


@server.tool()
def names() -> list[str]:
    return ["a", "b"]


@server.tool()
def table() -> dict[str, float]:
    return {"pi": 3.25}


@server.tool()
def nothing() -> None:
    return None


@server.tool()
def mixed() -> list:
    return ["one", {"two": 2}]


@server.tool()
def boom() -> str:
    raise ValueError("kaboom")


@server.tool()
async def steps(n: int, ctx: Context) -> str:
    for i in range(n):
        await ctx.report_progress(i + 1, n, f"step {i + 1}")
        await asyncio.sleep(0.05)
    return f"{n} done"


@server.tool()
async def ask(ctx: Context) -> str:
    result = await ctx.elicit("Which colour?", Colour)
    data = getattr(result, "data", None)
    return f"{result.action} {data.colour} {data.count}" if data else result.action


@server.resource("lab://text")
def text() -> str:
    return "hello resource"


@server.resource("lab://bin", mime_type="application/octet-stream")
def binary() -> bytes:
    return b"\x00\x01"


@server.resource("lab://item/{id}")
def item(id: str) -> str:
    return f"item {id}"


@server.prompt()
def review(code: str, lang: str = "py") -> str:
    """Reviews code."""
    return f"review {code} in {lang}"


if transport == "stdio":
    server.run("stdio")
elif is_old:
    server.run("streamable-http")
elif kind == "mcp":
    server.run("streamable-http", host="127.0.0.1", **address)
else:
    server.run(transport="http", host="127.0.0.1", **address)
