"""The installed client of this repository (BASE, TOKEN) starts, follows, approves, cancels and reads runs, also with asyncio."""

import asyncio
import os
import uuid

from switchyard_client import AsyncClient, Client, ProblemError

BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]


def code_of(error: ProblemError) -> str:
    assert error.next and error.request_id, error
    return error.code


def follow(client: Client) -> None:
    key = str(uuid.uuid4())
    started = client.start_run(agent="helper", input="hello", idempotency_key=key)
    again = client.start_run(agent="helper", input="hello", idempotency_key=key)
    assert started == again, (started, again)
    run_id = started["runId"]
    seen = []
    output = ""
    for message in client.follow_run(run_id):
        if message["event"] != "delta":
            seen.append((message["id"], message["event"]))
        if message["event"] == "finished":
            output = message["data"]["output"]
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1)), seen
    assert seen[-1][1] == "finished" and "The tool said: This is a simple text" in output, seen
    behind = [message["id"] for message in client.follow_run(run_id, after=len(seen) - 1)]
    assert behind == [len(seen)], behind
    run = client.get_run(run_id)["run"]
    assert run["status"] == "succeeded" and run["output"] == output, run
    assert run_id in [one["runId"] for one in client.list_runs(agent="helper", limit=5)["runs"]]


def approve(client: Client) -> None:
    run_id = client.start_run(agent="careful", input="the release")["runId"]
    for message in client.follow_run(run_id):
        if message["event"] == "waiting":
            assert [wait["reason"] for wait in message["data"]["waits"]] == ["approval"], message
            (waiting,) = client.list_approvals(run_id=run_id, pending_only=True)["approvals"]
            client.approve_call(waiting["id"], binding=waiting["binding"])
    run = client.wait_for_run(run_id)
    assert run["status"] == "succeeded" and (run["output"] or "").startswith("Done:"), run


def cancel(client: Client) -> None:
    run_id = client.start_run(agent="patient", input="wait")["runId"]
    for message in client.follow_run(run_id):
        if message["event"] == "tool-requested":
            client.cancel_run(run_id, reason="changed my mind")
    run = client.wait_for_run(run_id)
    assert run["status"] == "cancelled", run


def refuse(client: Client) -> None:
    codes = []
    for attempt in (
        lambda: client.start_run(agent="no-such", input="hello"),
        lambda: client.get_run("x y/../z"),
        lambda: list(client.follow_run("cli~x y")),
        lambda: client.get_agent("no-such"),
    ):
        try:
            attempt()
        except ProblemError as error:
            codes.append(code_of(error))
    assert codes[:2] == ["unknown_agent", "invalid_request"] and len(codes) == 4, codes
    try:
        Client(BASE, token="yk_nothing").get_me()
        raise AssertionError("an unknown key was accepted")
    except ProblemError as error:
        assert (error.status, code_of(error)) == (401, "unauthenticated"), error


async def use_asyncio() -> None:
    async with AsyncClient(BASE, token=lambda: TOKEN) as client:
        started = await asyncio.gather(
            *(client.start_run(agent="helper", input=f"hello {number}") for number in range(3))
        )
        runs = await asyncio.gather(*(client.wait_for_run(one["runId"]) for one in started))
        assert [run["status"] for run in runs] == ["succeeded"] * 3, runs
        file = await client.put_file(name="notes.txt", content=b"hello")
        assert file["file"]["sizeBytes"] == 5, file
        records = [record async for record in client.export_audit()]
        assert records


with Client(BASE, token=TOKEN) as client:
    follow(client)
    approve(client)
    cancel(client)
    refuse(client)
asyncio.run(use_asyncio())
print("ok")
