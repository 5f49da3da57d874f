import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { storedRunEvents } from "@switchyard/service/read-run-events";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { archiveRuns } from "../lib/archive-runs.ts";
import { expireEvents } from "../lib/expire-events.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-archive-"));
const stateDir = join(directory, "state");
const workspace = join(directory, "workspace");
await mkdir(workspace);
await writeFile(join(workspace, "notes.md"), "# Notes\n");
const dev = await startYardDev({ project: "test/console/project", stateDir, workspace });
const bus = await connectAsCli(dev);
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});
const token = (await readFile(dev.httpTokenFile, "utf8")).trim();

type Json = Record<string, unknown>;

type Read = [name: string, face: () => Promise<unknown>];

const AT_ONCE = 7;

/** Returns what a command prints. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard([...args, "--json"], yardEnvironment(stateDir));
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
  return stdout;
}

async function http(path: string, body?: unknown): Promise<string> {
  const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${text}`);
  return text;
}

async function send(path: string, body: unknown): Promise<Json> {
  return JSON.parse(await http(path, body)) as Json; // as its contract says
}

const start = async (name: string, more: Json): Promise<string> =>
  String((await send("/runs", { runId: name, ...more }))["runId"]);

/** Returns the events that a client reads over NATS, without their positions in the stream. */
async function eventsOf(runId: string): Promise<unknown> {
  const fromJournal = client(bus, { listRunEvents }).listRunEvents;
  const events: unknown[] = [];
  for await (const { subject, payload, correlationId } of storedRunEvents(bus, {
    runId,
    fromJournal,
  }))
    events.push({ subject, payload, correlationId });
  return events;
}

const ended = (runId: string, status: string) =>
  until(
    async () =>
      (await call(bus, listRuns, { ids: [runId] })).runs.find((run) => run.status === status) ??
      null,
  );

/** Approves the call for which a run waits; returns the approval's id. */
async function approve(runId: string): Promise<string> {
  const id = await until(async () => {
    const listed = JSON.parse(await http(`/approvals?runId=${runId}`)) as { approvals: Json[] };
    return listed.approvals[0]?.["id"];
  });
  await send(`/approvals/${String(id)}/approve`, {});
  return String(id);
}

test("a run reads the same on every face after its journal has moved and its events have left the stream, and can be forked, replayed and retried", async () => {
  const input = `hello ${"ä".repeat(20_000)}`;
  const plain = await start("plain", { agent: "reader", input });
  const parent = await start("parent", { agent: "lead", input: "go" });
  const short = await start("short", { agent: "reader", input: "hi", limits: { maxSteps: 1 } });
  const careful = await start("careful", { agent: "careful", input: "notes.md" });
  const said = await send("/sessions/s1/messages", { agent: "reader", message: "first" });
  const inSession = String(said["runId"]);
  const approvalId = await approve(careful);
  for (const runId of [plain, parent, careful, inSession]) await ended(runId, "succeeded");
  await ended(short, "failed");
  const { run } = await call(bus, getRun, { runId: parent });
  const child = run.children?.[0]?.runId ?? assert.fail();
  const all = [plain, parent, child, short, careful, inSession];

  const to = new Date().toISOString();
  const read = async (): Promise<Json> => {
    const reads: Read[] = all.flatMap((runId): Read[] => [
      [`NATS get ${runId}`, () => call(bus, getRun, { runId })],
      [`HTTP get ${runId}`, () => http(`/runs/${encodeURIComponent(runId)}`)],
      [`NATS events ${runId}`, () => eventsOf(runId)],
      [`HTTP events ${runId}`, () => http(`/runs/${encodeURIComponent(runId)}/events`)],
      [
        `HTTP later events ${runId}`,
        () => http(`/runs/${encodeURIComponent(runId)}/events?after=2`),
      ],
      [`yard show ${runId}`, () => printed("runs", "show", runId)],
      [`yard events ${runId}`, () => printed("runs", "events", runId)],
    ]);
    reads.push(
      ["NATS list", () => call(bus, listRuns, { sort: "dearest", to })],
      ["HTTP list", () => http(`/runs?to=${to}&text=hello`)],
      ["HTTP totals", () => http(`/runs/totals?to=${to}`)],
      ["yard list", () => printed("runs", "list")],
      ["NATS recording", () => call(bus, getRecording, { runId: plain })],
      ["HTTP recording", () => http(`/runs/${plain}/recording`)],
      ["HTTP history", () => http("/sessions/s1/history")],
      ["HTTP audit", () => http(`/audit?runId=${plain}&reads=false`)],
    );
    const answers: [string, unknown][] = [];
    // Dozens of commands at once would keep the services from answering in time.
    for (let at = 0; at < reads.length; at += AT_ONCE)
      answers.push(
        ...(await Promise.all(
          reads
            .slice(at, at + AT_ONCE)
            .map(async ([name, face]): Promise<[string, unknown]> => [name, await face()]),
        )),
      );
    // An approval is shown without its run's part when the runner does not answer in time, so it is read when the others are done.
    return {
      ...Object.fromEntries(answers),
      "HTTP approval": await http(`/approvals/${approvalId}`),
    };
  };

  const before = await read();
  await archiveRuns(dev, all);
  assert.deepEqual(await read(), before);
  await expireEvents(dev);
  assert.deepEqual(await read(), before);

  const cancelled = await send(`/runs/${plain}/cancel`, {});
  assert.equal(cancelled["outcome"], "ended");
  const { runId: copy } = await send(`/runs/${plain}/fork`, { fromStep: 2, newRunId: "copy" });
  const forked = await ended(String(copy), "succeeded");
  assert.equal(forked.steps, 3);
  assert.match(await printed("runs", "replay", plain), /"event":"run.finished"/);
  const { runId: next } = await send("/sessions/s1/messages", { message: "second" });
  await ended(String(next), "succeeded");

  await send(`/runs/${short}/retry`, { limits: { maxSteps: 5 } });
  const retried = await ended(short, "succeeded");
  assert.equal(retried.attempts, 2);
  await archiveRuns(dev, [short, String(copy)]);
  const { run: again } = await call(bus, getRun, { runId: short });
  assert.equal(again.output, "hi");
});

test("runs that are deleted over HTTP and by yard are unknown on every face, and their neighbours in the archive are read as before", async () => {
  const begin = async (name: string): Promise<string> => {
    const runId = await start(name, { agent: "reader", input: "to be forgotten" });
    await ended(runId, "succeeded");
    return runId;
  };
  const [archived, named, other] = [
    await begin("erased"),
    await begin("named"),
    await begin("kept"),
  ];
  const waiting = await start("open", { agent: "careful", input: "notes.md" });
  await archiveRuns(dev, [archived, named, other]);
  const kept = await http(`/runs/${other}/events`);

  const erase = async (runId: string): Promise<{ status: number; body: Json }> => {
    const headers = { authorization: `Bearer ${token}` };
    const url = `${dev.httpUrl}/api/v1/runs/${encodeURIComponent(runId)}`;
    const response = await fetch(url, { method: "DELETE", headers });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const refused = await erase(waiting);
  assert.deepEqual([refused.status, refused.body["code"]], [409, "run_not_ended"]);
  assert.deepEqual(await erase(archived), {
    status: 200,
    body: { runId: archived, outcome: "deleted" },
  });
  assert.equal((await erase(archived)).body["outcome"], "absent");
  const { data } = JSON.parse(await printed("runs", "delete", named, "--yes")) as { data: Json };
  assert.deepEqual(data, { deleted: 1, notEnded: 0, absent: [] });

  for (const runId of [archived, named]) {
    const headers = { authorization: `Bearer ${token}` };
    const look = async (path: string): Promise<number> => {
      const url = `${dev.httpUrl}/api/v1/runs/${encodeURIComponent(runId)}${path}`;
      return (await fetch(url, { headers })).status;
    };
    for (const path of ["", "/recording"]) assert.equal(await look(path), 404, `${runId}${path}`);
    // The sweeper deletes them, so they are there for some seconds.
    await until(
      () => http(`/runs/${encodeURIComponent(runId)}/events?follow=false`),
      (text) => !text.includes("event:"),
    );
    const shown = await yard(["runs", "show", runId], yardEnvironment(stateDir));
    assert.equal(shown.code, 3, shown.stderr);
    assert.deepEqual(await until(() => eventsOf(runId), isEmpty), []);
  }
  const listed = await http("/runs?text=forgotten");
  assert.ok(listed.includes(other) && !listed.includes(archived) && !listed.includes(named));
  assert.equal(await http(`/runs/${other}/events`), kept);
  const { records } = JSON.parse(await http("/audit?limit=200")) as { records: Json[] };
  const recorded = records.filter((record) => JSON.stringify(record).includes("runs.delete"));
  assert.ok(
    recorded.some((record) => JSON.stringify(record).includes(archived)),
    "the audit names the deleted run",
  );

  const again = await fetch(`${dev.httpUrl}/api/v1/runs`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ runId: "erased", agent: "reader", input: "once more" }),
  });
  assert.equal(again.status, 202, await again.text());
  const { body } = await erase(archived);
  assert.equal(body["outcome"], "absent", "the command of a deleted run starts nothing");
  const some = await yard(["runs", "delete", waiting, other, "--yes"], yardEnvironment(stateDir));
  assert.equal(some.code, 1, some.stderr);
  assert.match(some.stdout, /^1 run deleted$/m);
  assert.match(some.stderr, /open.* is waiting; cancel it/);

  const left = await begin("left");
  const early = ["runs", "delete", "--owner", "cli", "--before", "2020-01-01T00:00:00Z", "--yes"];
  assert.deepEqual((JSON.parse(await printed(...early)) as { data: Json }).data["deleted"], 0);
  const all = JSON.parse(await printed("runs", "delete", "--owner", "cli", "--yes")) as {
    data: Json;
  };
  assert.ok(Number(all.data["deleted"]) >= 1 && Number(all.data["notEnded"]) >= 1);
  const { runs } = await call(bus, listRuns, {});
  assert.deepEqual(
    runs.filter(({ status }) => status !== "waiting"),
    [],
    left,
  );
  await send(`/runs/${waiting}/cancel`, {});
});

const isEmpty = (events: unknown): boolean => Array.isArray(events) && events.length === 0;
