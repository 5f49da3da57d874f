"""The OpenAI API of the gateway (BASE, TOKEN) by LiteLLM, at once and as a stream."""

import os

# Else it fetches a list of prices while it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

URL, KEY = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
ANSWER = "You said hello. The tool said: This is a simple text"

about = {"model": "openai/helper", "api_base": URL, "api_key": KEY, "num_retries": 0}
messages = [{"role": "user", "content": "hello"}]
assert ANSWER in litellm.completion(messages=messages, **about).choices[0].message.content
chunks = litellm.completion(messages=messages, stream=True, **about)
assert ANSWER in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
print("ok")
