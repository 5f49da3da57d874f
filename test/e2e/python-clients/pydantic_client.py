"""The OpenAI API of the gateway (BASE, TOKEN) by Pydantic AI: at once, as streams, and with what was said before."""

import asyncio
import os

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

PROVIDER = OpenAIProvider(base_url=os.environ["BASE"] + "/v1", api_key=os.environ["TOKEN"])
ANSWER = "The tool said: This is a simple text"


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


async def main():
    for form in (OpenAIChatModel, OpenAIResponsesModel):
        settings = {"temperature": 0.2, "max_tokens": 50}
        agent = Agent(form("helper", provider=PROVIDER), instructions="Be kind.", model_settings=settings)
        first = await agent.run("hello")
        assert "Be kind." in first.output and ANSWER in first.output, first.output
        again = await agent.run("and now?", message_history=first.all_messages())
        assert "hello" in again.output and "and now?" in again.output, again.output
        async with agent.run_stream("hello") as stream:
            assert ANSWER in await stream.get_output(), form
        solver = Agent(form("solver", provider=PROVIDER), output_type=NativeOutput(Solution))
        solved = (await solver.run("hello")).output
        assert solved.steps[0].output == "42", solved
    print("ok")


asyncio.run(main())
