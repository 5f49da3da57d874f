"""The OpenAI API of the gateway (BASE, TOKEN) by OpenAI's Agents SDK: at once, as streams, and with the items of an earlier answer."""

import asyncio
import os

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

ANSWER = "The tool said: This is a simple text"


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


async def main():
    set_tracing_disabled(True)
    url, key = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
    client = AsyncOpenAI(base_url=url, api_key=key, max_retries=0)
    for form in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        agent = Agent(name="remote", instructions="Be kind.", model=form("helper", client))
        first = await Runner.run(agent, "hello")
        assert "Be kind." in first.final_output and ANSWER in first.final_output, first.final_output
        items = [*first.to_input_list(), {"role": "user", "content": "and now?"}]
        again = await Runner.run(agent, items)
        assert "hello" in again.final_output and "and now?" in again.final_output, again
        streamed = Runner.run_streamed(agent, "hello")
        async for _ in streamed.stream_events():
            pass
        assert ANSWER in streamed.final_output, streamed.final_output
        solver = Agent(name="solver", model=form("solver", client), output_type=Solution)
        solved = (await Runner.run(solver, "hello")).final_output
        assert solved.steps[0].output == "42", solved
    print("ok")


asyncio.run(main())
