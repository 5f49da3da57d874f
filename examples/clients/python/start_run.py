"""Starts a run of a Switchyard agent and prints its answer: start_run.py AGENT INPUT

pip install "nats-py[nkeys]"
"""

import asyncio
import json
import os
import sys
import uuid

import nats

USER = os.environ.get("YARD_USER", "me")
ENDS = {"finished", "failed", "cancelled", "dead", "rejected"}


async def main(agent: str, text: str) -> int:
    options = {"servers": os.environ.get("NATS_URL", "nats://127.0.0.1:4222")}
    if seed := os.environ.get("YARD_NATS_NKEY_FILE"):
        # A user with a key reads replies at an inbox of its own and nowhere else.
        options |= {"nkeys_seed": seed, "inbox_prefix": f"_INBOX_{USER}".encode()}
    nc = await nats.connect(**options)

    run_id = f"py-{uuid.uuid4()}"  # publishing it again is the same run, not another one
    events: asyncio.Queue = asyncio.Queue()
    await nc.subscribe(f"yard.evt.run.{USER}.{run_id}.*", cb=events.put)
    command = json.dumps({"input": text, "runId": run_id}).encode()
    await nc.jetstream().publish(f"yard.cmd.{USER}.run.start.{agent}", command)

    while True:
        message = await events.get()
        name, event = message.subject.rsplit(".", 1)[1], json.loads(message.data)
        print(f"{name}", file=sys.stderr)
        if name in ENDS:
            await nc.close()
            print(event["output"] if name == "finished" else json.dumps(event))
            return 0 if name == "finished" else 1


if len(sys.argv) != 3:
    sys.exit("usage: start_run.py AGENT INPUT")
sys.exit(asyncio.run(main(*sys.argv[1:])))
