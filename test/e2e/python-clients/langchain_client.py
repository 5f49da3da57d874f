"""The OpenAI API of the gateway (BASE, TOKEN) by LangChain, which is built on the official client."""

import os

from langchain_openai import ChatOpenAI
from pydantic import BaseModel

URL, KEY = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
ANSWER = "You said hello. The tool said: This is a simple text"


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


for more in ({}, {"use_responses_api": True}):
    model = ChatOpenAI(model="helper", base_url=URL, api_key=KEY, max_retries=0, **more)
    assert ANSWER in model.invoke("hello").text, more
    assert ANSWER in "".join(chunk.text for chunk in model.stream("hello")), more
    solver = ChatOpenAI(model="solver", base_url=URL, api_key=KEY, max_retries=0, **more)
    solved = solver.with_structured_output(Solution).invoke("hello")
    assert solved.steps[0].output == "42", solved
print("ok")
