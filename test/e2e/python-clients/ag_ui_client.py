"""AG-UI of the gateway (BASE, TOKEN): each record of a stream is an event of the official package's models."""

import os
import uuid

import httpx
from ag_ui.core import Event, EventType, RunAgentInput, UserMessage
from pydantic import TypeAdapter

EVENTS = TypeAdapter(Event)
given = RunAgentInput(
    thread_id=str(uuid.uuid4()),
    run_id=str(uuid.uuid4()),
    state={},
    messages=[UserMessage(id="m1", role="user", content="hello")],
    tools=[],
    context=[],
    forwarded_props={},
)
headers = {
    "authorization": f"Bearer {os.environ['TOKEN']}",
    "content-type": "application/json",
    "accept": "text/event-stream",
}
body = given.model_dump_json(by_alias=True, exclude_none=True)
types, text = [], ""
with httpx.stream(
    "POST", os.environ["BASE"] + "/ag-ui/helper", content=body, headers=headers, timeout=60
) as response:
    assert response.status_code == 200, response.read()
    # As the package's encoder writes them: every record is one line of data, but for comments.
    for record in "".join(response.iter_text()).split("\n\n"):
        lines = [line for line in record.split("\n") if line != "" and not line.startswith(":")]
        if lines == []:
            continue
        assert len(lines) == 1 and lines[0].startswith("data: "), record
        event = EVENTS.validate_json(lines[0].removeprefix("data: "))
        types.append(event.type)
        text += getattr(event, "delta", "") if event.type == EventType.TEXT_MESSAGE_CONTENT else ""
assert types[0] == EventType.RUN_STARTED, types
assert types[-1] == EventType.RUN_FINISHED, types
assert "You said hello. The tool said:" in text, text
print("ok")
