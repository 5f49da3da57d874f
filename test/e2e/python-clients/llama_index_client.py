"""The OpenAI API of the gateway (BASE, TOKEN) by LlamaIndex: at once, as a stream, in a form, and over Responses."""

import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

ABOUT = {"api_base": os.environ["BASE"] + "/v1", "api_key": os.environ["TOKEN"], "max_retries": 0}
ANSWER = "You said hello. The tool said: This is a simple text"
HELLO = [ChatMessage(role="user", content="hello")]


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


def like(model):
    return OpenAILike(model=model, is_chat_model=True, should_use_structured_outputs=True, **ABOUT)


assert ANSWER in like("helper").chat(HELLO).message.content
streamed = "".join(chunk.delta or "" for chunk in like("helper").stream_chat(HELLO))
assert ANSWER in streamed, streamed
solved = like("solver").as_structured_llm(Solution).chat(HELLO).raw
assert solved.steps[0].output == "42", solved

# It sends store=false and truncation=disabled with each request.
responses = OpenAIResponses(model="helper", context_window=100_000, **ABOUT)
assert ANSWER in responses.chat(HELLO).message.content
chunks = [chunk.delta or "" for chunk in responses.stream_chat(HELLO)]
assert ANSWER in "".join(chunks), chunks
print("ok")
