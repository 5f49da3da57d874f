"""The OpenAI API of the gateway (BASE, TOKEN) by the official client, at once and as streams."""

from __future__ import annotations

import asyncio
import os
import warnings
from datetime import datetime
from typing import Optional

import openai
from pydantic import BaseModel

URL, KEY = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
HELLO = [{"role": "user", "content": "hello"}]
ANSWER = "You said hello. The tool said: This is a simple text"


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


class Node(BaseModel):
    name: str
    children: list[Node]
    born: Optional[datetime] = None


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def asynchronous():
    client = openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0)
    stream = await client.chat.completions.create(model="helper", messages=HELLO, stream=True)
    return text_of([chunk async for chunk in stream])


client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
assert "helper" in [model.id for model in client.models.list()]

chat = client.chat.completions.create(model="helper", messages=HELLO)
assert ANSWER in chat.choices[0].message.content, chat
streamed = client.chat.completions.create(
    model="helper", messages=HELLO, stream=True, stream_options={"include_usage": True}
)
assert ANSWER in text_of(streamed)
assert ANSWER in asyncio.run(asynchronous())
parsed = client.chat.completions.parse(model="solver", messages=HELLO, response_format=Solution)
assert parsed.choices[0].message.parsed.final_answer == "42", parsed
parsed = client.responses.parse(model="solver", input="hello", text_format=Solution)
assert parsed.output_parsed.steps[0].output == "42", parsed
parsed = client.chat.completions.parse(model="tree", messages=HELLO, response_format=Node)
assert parsed.choices[0].message.parsed.children[0].name == "leaf", parsed
parsed = client.responses.parse(model="tree", input="hello", text_format=Node)
assert parsed.output_parsed.children[0].born.year == 2026, parsed

first = client.responses.create(model="helper", input="hello")
assert ANSWER in first.output_text, first
events = list(client.responses.create(model="helper", input="hello", stream=True))
assert events[0].type == "response.created", events[0]
assert events[-1].type == "response.completed", events[-1]
numbers = [event.sequence_number for event in events]
assert numbers == sorted(set(numbers)), numbers
again = client.responses.create(
    model="helper", input=[*first.output, {"role": "user", "content": "and now?"}]
)
assert "and now?" in again.output_text, again
# The types of a year ago have a text there.
if hasattr(openai.types.responses, "McpToolCallError"):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed = client.responses.create(model="chief", input="hello")
        [call] = [item for item in failed.output if item.type == "mcp_call"]
        assert call.error.type == "mcp_tool_execution_error", call
        items = [item.model_dump() for item in failed.output]
    client.responses.create(model="helper", input=[*items, {"role": "user", "content": "why?"}])

for option in ({"n": 2}, {"logprobs": True}, {"store": True}, {"service_tier": "flex"}):
    try:
        client.chat.completions.create(model="helper", messages=HELLO, **option)
        raise AssertionError(f"{option} was accepted")
    except openai.BadRequestError as error:
        assert error.param == next(iter(option)), error

try:
    client.chat.completions.create(model="no-such", messages=HELLO, stream=True)
    raise AssertionError("a model that does not exist answered")
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error
print("ok", openai.__version__)
