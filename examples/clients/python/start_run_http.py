"""Starts a run of a Switchyard agent over HTTP and prints its answer: start_run_http.py AGENT INPUT

pip install httpx
"""

import json
import os
import sys
import time
import uuid

import httpx

ENDS = {"finished", "failed", "cancelled", "dead", "rejected"}


def check(response: httpx.Response) -> None:
    """Ends the program with what the gateway says is wrong."""
    if response.is_success:
        return
    response.read()
    problem = response.json()
    sys.exit(f"{problem['code']}: {problem['detail']} {problem.get('next', '')}".rstrip())


def follow(client: httpx.Client, run_id: str):
    """The events of a run; after a cut it continues behind the last one, at whatever gateway answers."""
    last_id = ""
    while True:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        try:
            with client.stream("GET", f"/runs/{run_id}/events", headers=headers) as response:
                check(response)
                name = data = ""
                for line in response.iter_lines():
                    field, _, value = line.partition(": ")
                    if field == "event":
                        name = value
                    elif field == "id":
                        last_id = value
                    elif field == "data":
                        data = value
                    elif not line and data:
                        yield name, json.loads(data)
                        data = ""
        except httpx.TransportError:
            time.sleep(1)


def main(agent: str, text: str) -> int:
    client = httpx.Client(
        base_url=os.environ.get("YARD_HTTP", "http://127.0.0.1:8080") + "/api/v1",
        headers={"Authorization": f"Bearer {os.environ['YARD_HTTP_TOKEN']}"},
        timeout=httpx.Timeout(10, read=60),  # the gateway says something at least every 15 s
    )
    # With the same key it is the same run, so it can be sent again when its answer is lost.
    key = {"Idempotency-Key": f"py-{uuid.uuid4()}"}
    started = client.post("/runs", json={"agent": agent, "input": text}, headers=key)
    check(started)
    for name, event in follow(client, started.json()["runId"]):
        if name == "delta":
            continue
        print(name, file=sys.stderr)
        if name in ENDS:
            print(event["output"] if name == "finished" else json.dumps(event))
            return 0 if name == "finished" else 1
    return 1


if len(sys.argv) != 3:
    sys.exit("usage: start_run_http.py AGENT INPUT")
sys.exit(main(*sys.argv[1:]))
