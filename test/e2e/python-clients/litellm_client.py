"""The OpenAI API of the gateway (BASE, TOKEN) by LiteLLM, at once and as a stream."""

import os

# Else it fetches a list of prices while it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402
from pydantic import BaseModel  # noqa: E402

URL, KEY = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
ANSWER = "You said hello. The tool said: This is a simple text"


class Step(BaseModel):
    explanation: str
    output: str


class Solution(BaseModel):
    steps: list[Step]
    final_answer: str


about = {"model": "openai/helper", "api_base": URL, "api_key": KEY, "num_retries": 0}
messages = [{"role": "user", "content": "hello"}]
assert ANSWER in litellm.completion(messages=messages, **about).choices[0].message.content
chunks = litellm.completion(messages=messages, stream=True, **about)
assert ANSWER in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
about["model"] = "openai/solver"
solved = litellm.completion(messages=messages, response_format=Solution, **about)
assert Solution.model_validate_json(solved.choices[0].message.content).steps[0].output == "42", solved
print("ok")
