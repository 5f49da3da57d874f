"""Tests of the client against a transport in this process: python -m unittest discover -s tests"""

import asyncio
import inspect
import json
import re
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

import httpx

from switchyard_client import NOT_GIVEN, AsyncClient, Client, ProblemError
from switchyard_client import client as sync_module
from switchyard_client._operations import Operations

GATEWAY = "http://gateway.invalid"
STARTED = 'id: 1\nevent: started\ndata: {"runId":"a~b","seq":1}\n\n'
DELTA = 'event: delta\ndata: {"delta":"Hé"}\n\n'
STEERED = 'id: 2\r\nevent: steered\r\ndata: {"seq":2,\r\ndata: "by":"alice"}\r\n\r\n'
FINISHED = 'id: 3\nevent: finished\ndata: {"seq":3,"output":"done"}\n\n'


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes byte by byte, and is cut at its end when the connection is lost."""

    def __init__(self, text, lost):
        self._bytes = text.encode()
        self._lost = lost

    def __iter__(self):
        for one in self._bytes:
            yield bytes([one])
        if self._lost:
            raise httpx.RemoteProtocolError("peer closed connection")

    async def __aiter__(self):
        for part in self:
            yield part


class Gateway:
    """Answers requests one after the other, and records them."""

    def __init__(self, *answers):
        self.requests = []
        self._answers = list(answers)
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request):
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else httpx.Response(200, json={})
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **options):
        return Client(GATEWAY, transport=self.transport, **options)


def stream(text, lost=False):
    return httpx.Response(200, stream=Cut(text, lost))


def problem(status, code, **more):
    return httpx.Response(status, json={"status": status, "code": code, "detail": "why", **more})


def without_pauses():
    return mock.patch.object(sync_module.time, "sleep")


class Requests(unittest.TestCase):
    def test_every_method_has_an_example_that_is_one_request(self):
        methods = inspect.getmembers(Operations, inspect.isfunction)
        methods = [(name, method) for name, method in methods if not name.startswith("_")]
        self.assertGreater(len(methods), 130)
        with tempfile.NamedTemporaryFile() as file:
            for name, method in methods:
                with self.subTest(name):
                    example = inspect.getdoc(method).split("Example:\n")[1]
                    code = textwrap.dedent(example).replace('Path("file")', "Path(path)")
                    gateway = Gateway()
                    client = gateway.client()
                    exec(code, {"client": client, "Path": Path, "path": file.name})
                    self.assertEqual(len(gateway.requests), 1)
                    self.assertNotIn("{", str(gateway.requests[0].url))
                    self.assertIn(name, code)
                    self.assertTrue(hasattr(AsyncClient, name))
                    self.assertEqual(
                        str(inspect.signature(method)),
                        str(inspect.signature(getattr(AsyncClient, name))),
                    )

    def test_arguments_become_path_query_body_and_headers(self):
        gateway = Gateway()
        client = gateway.client(token=lambda: "yk_1", headers={"x-team": "a"})
        client.start_run(agent="demo", input="hi", on_busy="reject", idempotency_key="order-1")
        client.list_runs(labels=["a,b", "c"], limit=3)
        client.get_run("alice~x y/../z")
        client.put_file(name="a.txt", content=b"bytes")
        client.patch_session("planning", if_match="42", label=None)
        start, listed, shown, file, patched = gateway.requests
        self.assertEqual((start.method, start.url.path), ("POST", "/api/v1/runs"))
        self.assertEqual(start.headers["authorization"], "Bearer yk_1")
        self.assertEqual((start.headers["idempotency-key"], start.headers["x-team"]), ("order-1", "a"))
        self.assertEqual(
            json.loads(start.content), {"agent": "demo", "input": "hi", "onBusy": "reject"}
        )
        self.assertEqual(dict(listed.url.params), {"labels": '["a,b", "c"]', "limit": "3"})
        self.assertEqual(shown.url.raw_path, b"/api/v1/runs/alice~x%20y%2F..%2Fz")
        self.assertEqual((file.content, file.url.params["name"]), (b"bytes", "a.txt"))
        self.assertEqual(file.headers["content-type"], "application/octet-stream")
        self.assertEqual(patched.headers["if-match"], '"42"')
        self.assertEqual(json.loads(patched.content), {"label": None})
        self.assertFalse(NOT_GIVEN)

    def test_a_problem_is_an_error_with_code_next_and_request_id(self):
        data = {"problems": ["agent: is missing"]}
        gateway = Gateway(
            problem(400, "invalid_request", next="correct it", requestId="r-1", data=data),
            httpx.Response(502, text="<html>proxy</html>", headers={"x-request-id": "r-2"}),
            httpx.Response(503, json=["not", "a", "problem"]),
            httpx.ConnectError("refused"),
        )
        client = gateway.client()
        errors = []
        for _ in range(4):
            with self.assertRaises(ProblemError) as caught:
                client.get_me()
            errors.append(caught.exception)
        first, proxy, odd, away = errors
        self.assertEqual((first.status, first.code, first.next), (400, "invalid_request", "correct it"))
        self.assertEqual((first.request_id, first.data), ("r-1", data))
        self.assertEqual(str(first), "invalid_request: why (next: correct it)")
        self.assertEqual((proxy.code, proxy.request_id, proxy.next), ("http_502", "r-2", None))
        self.assertEqual(odd.code, "http_503")
        self.assertEqual((away.code, away.status), ("unreachable", 0))


class Streams(unittest.TestCase):
    def test_a_run_is_followed_over_cuts_and_each_event_comes_once(self):
        gateway = Gateway(
            stream(STARTED + DELTA + 'id: 2\nevent: ste', lost=True),
            httpx.ConnectError("refused"),
            problem(503, "unavailable"),
            problem(429, "rate_limited"),
            stream("retry: 20\n\n: ping\n\n" + STARTED + STEERED),
            stream(FINISHED),
        )
        with without_pauses() as sleep:
            messages = list(gateway.client().follow_run("a~b"))
        self.assertEqual(
            [(message["event"], message["id"]) for message in messages],
            [("started", 1), ("delta", None), ("steered", 2), ("finished", 3)],
        )
        self.assertEqual(messages[1]["data"], {"delta": "Hé"})
        self.assertEqual(messages[2]["data"], {"seq": 2, "by": "alice"})
        ids = [request.headers.get("last-event-id") for request in gateway.requests]
        self.assertEqual(ids, [None, "1", "1", "1", "1", "2"])
        pauses = [call.args[0] for call in sleep.call_args_list]
        self.assertEqual(pauses, [1.0, 2.0, 4.0, 8.0, 0.02])

    def test_ends_of_the_past_do_not_end_the_stream_of_a_run_that_was_retried(self):
        later = 'id: 4\nevent: resumed\ndata: {"seq":4}\n\n'
        last = 'id: 5\nevent: failed\ndata: {"seq":5}\n\n'
        gateway = Gateway(stream(FINISHED + later), stream(last))
        with without_pauses():
            messages = list(gateway.client().follow_run("a~b", after=2))
        self.assertEqual([message["id"] for message in messages], [3, 4, 5])
        self.assertEqual(gateway.requests[0].headers["last-event-id"], "2")

    def test_stored_events_alone_end_with_the_stream(self):
        gateway = Gateway(stream(STARTED))
        messages = list(gateway.client().follow_run("a~b", stop_at_end=True))
        self.assertEqual(len(messages), 1)
        self.assertEqual(gateway.requests[0].url.params["follow"], "false")

    def test_a_refused_stream_is_an_error(self):
        with self.assertRaises(ProblemError) as caught:
            list(Gateway(problem(404, "unknown_run")).client().follow_run("none"))
        self.assertEqual(caught.exception.code, "unknown_run")

    def test_waiting_for_a_run_follows_a_merge_and_raises_for_a_rejected_command(self):
        merged = 'id: 1\nevent: merged\ndata: {"into":"a~c"}\n\n'
        run = httpx.Response(200, json={"run": {"runId": "a~c", "status": "succeeded"}})
        gateway = Gateway(stream(merged), stream(FINISHED), run)
        self.assertEqual(gateway.client().wait_for_run("a~b")["runId"], "a~c")
        text = 'event: rejected\ndata: {"code":"unknown_agent","message":"no","problems":["x"]}\n\n'
        with self.assertRaises(ProblemError) as caught:
            Gateway(stream(text)).client().wait_for_run("a~b")
        self.assertEqual((caught.exception.code, caught.exception.detail), ("rejected", "no; x"))

    def test_the_audit_is_read_line_by_line(self):
        gateway = Gateway(httpx.Response(200, text='{"n":1}\n{"n":2}\n'), problem(403, "forbidden"))
        client = gateway.client()
        self.assertEqual(list(client.export_audit(since="2026-11-01T00:00:00Z")), [{"n": 1}, {"n": 2}])
        with self.assertRaises(ProblemError):
            list(client.export_audit())


class Asynchronous(unittest.TestCase):
    def test_the_client_for_asyncio_sends_follows_waits_and_raises_the_same(self):
        run = httpx.Response(200, json={"run": {"runId": "a~b", "status": "succeeded"}})
        gateway = Gateway(
            httpx.Response(202, json={"runId": "a~b", "sequence": 1}),
            stream("retry: 1\n\n" + STARTED, lost=True),
            stream(STEERED + FINISHED),
            stream(FINISHED),
            run,
            problem(404, "unknown_run"),
            httpx.Response(200, text='{"n":1}\n'),
            httpx.ConnectError("refused"),
        )

        async def use():
            async with AsyncClient(GATEWAY, transport=gateway.transport) as client:
                started = await client.start_run(agent="demo", input="hi")
                events = [message["event"] async for message in client.follow_run(started["runId"])]
                waited = await client.wait_for_run("a~b")
                codes = []
                for operation in (client.get_run, None, client.get_run):
                    if operation is None:
                        records = [record async for record in client.export_audit()]
                        continue
                    try:
                        await operation("none")
                    except ProblemError as error:
                        codes.append(error.code)
                return events, waited["status"], codes, records

        result = asyncio.run(use())
        self.assertEqual(
            result,
            (["started", "steered", "finished"], "succeeded", ["unknown_run", "unreachable"], [{"n": 1}]),
        )


class Documentation(unittest.TestCase):
    def test_every_other_method_has_an_example_and_its_errors(self):
        for name in ("follow_run", "follow_events", "wait_for_run", "export_audit"):
            self.assertRegex(inspect.getdoc(getattr(Client, name)), re.compile("Raises:.*Example:", re.S))


if __name__ == "__main__":
    unittest.main()
