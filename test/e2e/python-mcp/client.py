"""Uses everything of /mcp, or of `yard mcp serve`, as a program with one of Python's clients does.

client.py sdk|fastmcp legacy|auto http|stdio; the environment names the gateway (BASE, TOKEN) and the command (COMMAND).
"""

import asyncio
import contextlib
import json
import os
import re
import sys
import urllib.request
from importlib.metadata import version

kind, mode, way = sys.argv[1:4]
BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
COMMAND = json.loads(os.environ["COMMAND"])
IS_NEW = int(version("mcp").split(".")[0]) >= 2
IS_HTTP = way == "http"
NAME = f"py-{kind[0]}{version(kind if kind == 'fastmcp' else 'mcp').split('.')[0]}-{mode[0]}{way[0]}"

asked = []
changed = {"tools": asyncio.Event()}


def answer_to(message, schema):
    """What the client's person answers; the first answer about the colour does not fit the form."""
    asked.append(message)
    properties = schema["properties"]
    if "decision" in properties:
        return {"decision": "approve"}
    if "colour" in properties:
        # FastMCP checks the answer itself.
        first = kind == "sdk" and sum("colour" in one for one in asked) == 1
        return {"colour": "red", "count": 0 if first else 2}
    return {"username": "ann", "email": "a@b.example"}


def wire(value):
    """Members as they are called in JSON, in both versions of the SDK."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


async def on_message(message):
    method = getattr(getattr(message, "root", message), "method", None)
    if method == "notifications/tools/list_changed":
        changed["tools"].set()


def sdk_client():
    if IS_NEW:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client
        from mcp.types import ElicitResult

        async def elicit(_context, params):
            schema = wire(params)["requestedSchema"]
            return ElicitResult(action="accept", content=answer_to(params.message, schema))

        if IS_HTTP:
            http = create_mcp_http_client(headers=HEADERS)
            transport = streamable_http_client(f"{BASE}/mcp", http_client=http)
        else:
            transport = stdio_client(StdioServerParameters(**COMMAND))
        return Client(
            transport, mode=mode, elicitation_callback=elicit, message_handler=on_message
        )

    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    from mcp.types import ElicitResult

    async def elicit(_context, params):
        return ElicitResult(
            action="accept", content=answer_to(params.message, params.requestedSchema)
        )

    @contextlib.asynccontextmanager
    async def session():
        streams = (
            streamablehttp_client(f"{BASE}/mcp", headers=HEADERS)
            if IS_HTTP
            else stdio_client(StdioServerParameters(**COMMAND))
        )
        async with streams as (read, write, *_):
            async with ClientSession(
                read, write, elicitation_callback=elicit, message_handler=on_message
            ) as one:
                await one.initialize()
                yield one

    return session()


def fastmcp_client():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    async def elicit(message, _type, params, _context):
        return answer_to(message, getattr(params, "requested_schema", None) or params.requestedSchema)

    transport = (
        StreamableHttpTransport(f"{BASE}/mcp", headers=HEADERS)
        if IS_HTTP
        else StdioTransport(**COMMAND)
    )
    more = {"mode": mode} if IS_NEW else {}
    return Client(transport, elicitation_handler=elicit, message_handler=on_message, **more)


def entries(listed, member):
    """A list of FastMCP is the list itself; that of the SDK is in a member."""
    return [wire(one) for one in (listed if isinstance(listed, list) else getattr(listed, member))]


async def call(client, name, arguments=None, progress=None):
    if kind == "fastmcp":
        result = await client.call_tool_mcp(name, arguments or {}, progress_handler=progress)
    elif progress is None:
        result = await client.call_tool(name, arguments or {})
    else:
        result = await client.call_tool(name, arguments or {}, progress_callback=progress)
    return wire(result)


def text_of(result):
    return "\n".join(block.get("text", "") for block in result["content"])


async def check_tools(client):
    tools = {tool["name"]: tool for tool in entries(await client.list_tools(), "tools")}
    rich = tools["mcp__rich__rich"]
    assert rich["title"] == "Rich" and rich["annotations"]["readOnlyHint"] is True, rich
    assert rich["outputSchema"]["required"] == ["a"], rich
    assert "mcp__suite__test_simple_text" in tools, sorted(tools)
    for odd in ("list_out", "flag", "nothing"):
        assert f"mcp__rich__{odd}" in tools, odd

    said = await call(client, "mcp__suite__test_simple_text")
    assert "simple text response" in text_of(said), said
    structured = await call(client, "mcp__rich__rich", {"a": "x"})
    assert structured["structuredContent"] == {"a": '{"a":"x"}'}, structured
    assert {block["type"] for block in structured["content"]} >= {"resource_link", "resource"}
    image = await call(client, "mcp__suite__test_image_content")
    assert image["content"][0]["type"] == "image", image
    failed = await call(client, "mcp__suite__test_error_handling")
    assert failed["isError"] is True, failed
    refused = await call(client, "mcp__rich__number", {"n": "three"})
    assert refused["isError"] is True and "n" in text_of(refused), refused

    if not IS_HTTP:
        return
    steps = []

    async def progress(value, total, message):
        steps.append((value, total, message))

    await call(client, "mcp__suite__test_tool_with_progress", progress=progress)
    assert steps and steps[-1] == (100, 100, "100 of 100"), steps
    assert steps == sorted(steps, key=lambda step: step[0]), steps


async def check_unknown_tool(client):
    try:
        result = await call(client, "mcp__rich__none")
    except Exception as error:  # each client has a class of its own
        assert "none" in str(error), error
    else:
        assert result["isError"] is True and "none" in text_of(result), result


async def check_questions(client):
    if not IS_HTTP:
        parked = await call(client, "mcp__rich__ask", {"by": NAME})
        assert parked["isError"] is True and "Which colour?" in text_of(parked), parked
        question = re.search(r"questions/(q-\w+)/answer", text_of(parked))[1]
        content = {"colour": "blue"}
        answer = {"action": "accept", "content": content}
        await asyncio.to_thread(post, f"/mcp/questions/{question}/answer", answer)
        told = await call(client, "mcp__rich__ask", {"by": NAME})
        assert json.loads(text_of(told))["content"] == content, told
        return
    told = await call(client, "mcp__rich__ask", {"by": NAME})
    assert json.loads(text_of(told))["content"] == {"colour": "red", "count": 2}, told
    if kind == "sdk":
        assert any("count must be a whole number" in one for one in asked), asked
    named = await call(client, "mcp__suite__ask_name", {"message": NAME})
    assert "ann" in text_of(named), named
    done = await call(client, "mcp__suite__guarded", {"what": NAME})
    assert NAME in text_of(done), done
    assert len(asked) == (4 if kind == "sdk" else 3), asked


async def check_features(client):
    resources = entries(await client.list_resources(), "resources")
    static = next(one for one in resources if one["uri"].endswith("test://static-text"))
    uris = [one["uri"] for one in resources]
    assert any(uri.startswith("ui://yard-mcp.rich/") for uri in uris), uris
    read = entries(await client.read_resource(static["uri"]), "contents")
    assert read[0]["text"] == "static", read
    templates = entries(await client.list_resource_templates(), "resourceTemplates" if not IS_NEW else "resource_templates")
    assert any(one["uriTemplate"].endswith("test://template/{id}/data") for one in templates)
    prompts = {one["name"] for one in entries(await client.list_prompts(), "prompts")}
    assert "suite__test_prompt_with_arguments" in prompts, prompts
    got = await client.get_prompt(
        "suite__test_prompt_with_arguments", {"arg1": "one", "arg2": "two"}
    )
    assert "one" in json.dumps(wire(got)), got


async def check_cancel(client):
    waiting = asyncio.create_task(call(client, "mcp__suite__wait", {"ms": 60_000}))
    await asyncio.sleep(0.5)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    said = await call(client, "mcp__suite__test_simple_text")
    assert "simple text response" in text_of(said), said


async def check_list_changed(client):
    """The administrator adds a server while the client listens."""
    session = client if kind == "sdk" else client.session
    is_modern = IS_NEW and mode == "auto"
    before = len(entries(await client.list_tools(), "tools"))
    async with contextlib.AsyncExitStack() as stack:
        if is_modern:
            if kind == "fastmcp":
                from mcp.client.subscriptions import listen

                opened = listen(session, tools_list_changed=True)
            else:
                opened = client.listen(tools_list_changed=True)
            subscription = await stack.enter_async_context(opened)
            events = aiter(subscription)
        more = {"id": f"rich-{NAME}", **json.loads(os.environ["RICH"])}
        await asyncio.to_thread(post, "/mcp/servers", more)
        if is_modern:
            await asyncio.wait_for(anext(events), 60)
        else:
            await asyncio.wait_for(changed["tools"].wait(), 60)
    fresh = {"cache_mode": "refresh"} if kind == "sdk" and IS_NEW else {}
    now = len(entries(await client.list_tools(**fresh), "tools"))
    assert now > before, (before, now)


def post(path, body):
    """A request of the administrator."""
    headers = {**HEADERS, "Content-Type": "application/json"}
    data = json.dumps(body).encode()
    urllib.request.urlopen(urllib.request.Request(f"{BASE}/api/v1{path}", data, headers))


async def main():
    async with sdk_client() if kind == "sdk" else fastmcp_client() as client:
        await check_tools(client)
        await check_unknown_tool(client)
        await check_questions(client)
        if IS_HTTP:
            await check_features(client)
        await check_cancel(client)
        await check_list_changed(client)
    print("ok", NAME, "asked", len(asked))


asyncio.run(asyncio.wait_for(main(), 110))
