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
    js = nc.jetstream()

    run_id = f"py-{uuid.uuid4()}"  # publishing it again is the same run, not another one
    command = json.dumps({"input": text, "runId": run_id}).encode()
    await js.publish(f"yard.cmd.{USER}.run.start.{agent}", command)

    # Events are read from the stream: a plain subscription also receives what other users have the server deliver to it.
    name = await make_consumer(nc, f"yard.evt.run.{USER}.{run_id}.*")
    events = await js.pull_subscribe_bind(consumer=name, stream="YARD_EVENTS")
    while True:
        try:
            [message] = await events.fetch(1, timeout=20)
        except nats.errors.TimeoutError:
            continue  # the run takes longer
        event_name, event = message.subject.rsplit(".", 1)[1], json.loads(message.data)
        print(event_name, file=sys.stderr)
        if event_name in ENDS:
            await js.delete_consumer("YARD_EVENTS", name)
            await nc.close()
            print(event["output"] if event_name == "finished" else json.dumps(event))
            return 0 if event_name == "finished" else 1


async def make_consumer(nc: nats.NATS, subject: str) -> str:
    """A user's consumers are named {user}-1 to {user}-32: this takes the first name that no other program uses."""
    for number in range(1, 33):
        name = f"{USER}-{number}"
        config = {
            "name": name,
            "filter_subject": subject,
            "ack_policy": "none",
            "inactive_threshold": 30_000_000_000,  # nanoseconds
        }
        # add_consumer() of nats-py has no "create" and would change the consumer of another program.
        request = {"stream_name": "YARD_EVENTS", "action": "create", "config": config}
        reply = await nc.request(
            f"$JS.API.CONSUMER.CREATE.YARD_EVENTS.{name}.{subject}",
            json.dumps(request).encode(),
            timeout=10,
        )
        error = json.loads(reply.data).get("error")
        if error is None:
            return name
        if error["err_code"] != 10148:  # the name is taken
            sys.exit(f"cannot read events: {error['description']}")
    sys.exit(f"{USER} has 32 consumers of events already")


if len(sys.argv) != 3:
    sys.exit("usage: start_run.py AGENT INPUT")
sys.exit(asyncio.run(main(*sys.argv[1:])))
