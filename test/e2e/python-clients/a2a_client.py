"""A2A of the gateway (BASE, TOKEN) by the official client: an answer at once, as a stream, and a question."""

import asyncio
import os

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, new_text_message
from a2a.types import Role, SendMessageRequest, TaskState

BASE = os.environ["BASE"]
HEADERS = {"authorization": f"Bearer {os.environ['TOKEN']}"}


def request(text):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))


async def main():
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
        for streaming in (False, True):
            factory = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming))
            client = await factory.create_from_url(f"{BASE}/a2a/helper/")
            task, text, states = None, "", []
            async for answer in client.send_message(request("hello")):
                if answer.HasField("task"):
                    task = answer.task
                    states.append(task.status.state)
                elif answer.HasField("artifact_update"):
                    text += get_artifact_text(answer.artifact_update.artifact)
                elif answer.HasField("status_update"):
                    states.append(answer.status_update.status.state)
            if not streaming:
                text = "".join(get_artifact_text(artifact) for artifact in task.artifacts)
            assert "You said hello. The tool said:" in text, (streaming, text)
            assert states[-1] == TaskState.TASK_STATE_COMPLETED, (streaming, states)
    print("ok")


asyncio.run(main())
