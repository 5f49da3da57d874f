"""The OpenAI API of the gateway (BASE, TOKEN) by LangChain and LiteLLM, which are built on the official client."""

import os

import litellm
from langchain_openai import ChatOpenAI

URL, KEY = os.environ["BASE"] + "/v1", os.environ["TOKEN"]
ANSWER = "You said hello. The tool said: This is a simple text"

for more in ({}, {"use_responses_api": True}):
    model = ChatOpenAI(model="helper", base_url=URL, api_key=KEY, max_retries=0, **more)
    assert ANSWER in model.invoke("hello").text, more
    assert ANSWER in "".join(chunk.text for chunk in model.stream("hello")), more

about = {"model": "openai/helper", "api_base": URL, "api_key": KEY, "num_retries": 0}
messages = [{"role": "user", "content": "hello"}]
assert ANSWER in litellm.completion(messages=messages, **about).choices[0].message.content
chunks = litellm.completion(messages=messages, stream=True, **about)
assert ANSWER in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
print("ok")
