import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { publishEvent, publishLive } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { createClient } from "@switchyard/client/client";
import { ProblemError } from "@switchyard/client/problem-error";
import {
  runCancelled,
  runLive,
  runMerged,
  runRejected,
  runSteered,
} from "@switchyard/contracts/agent-runner/run-events";
import { getRun, listRuns, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import { startGatewayWorld } from "./gateway-world.ts";

const world = await startGatewayWorld();
const runner = await world.connectAs("runner");
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const runs = serve(runner, { name: "runner", version: "0.1.0", description: "", onFault });
const asked: unknown[] = [];
runs.handle(listRuns, (request) => {
  asked.push(request);
  return { runs: [] };
});
runs.handle(getRun, ({ runId }, { fail }) => {
  if (!runId.endsWith("ended")) throw fail.unknown_run(`there is no run ${runId}`, { runId });
  return { run: { ...RUN, runId } };
});
await runner.flush();

const at = () => new Date().toISOString();
const usage = { inputTokens: 0, outputTokens: 0 };
const RUN: RunDetail = {
  runId: "",
  agent: "demo",
  requester: "alice",
  model: "scripted/plan",
  status: "cancelled",
  steps: 0,
  toolCalls: 0,
  createdAt: at(),
  updatedAt: at(),
  attempts: 1,
  labels: {},
  input: "hello",
  output: null,
  failure: null,
  cancellation: { by: "alice", reason: null },
  usage,
  agentDigest: `sha256:${"0".repeat(64)}`,
  skills: [],
};

async function report(name: string, seq: number, isLast = false): Promise<void> {
  const about = { runId: `alice~${name}`, seq, at: at() };
  const tokens = { owner: "alice", runId: name };
  const options = { messageId: `${name}:${seq}` };
  if (isLast) {
    const facts = { by: "alice", reason: null, steps: 0, toolCalls: 0, usage, durationMs: 1 };
    await publishEvent(runner, runCancelled, tokens, { ...about, ...facts }, options);
  } else {
    const facts = { by: "alice", preview: `event ${seq}` };
    await publishEvent(runner, runSteered, tokens, { ...about, ...facts }, options);
  }
}

test("a request has the types of its contract, and a problem is an error that states the next step", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("alice", ["viewer"]);
  const client = createClient({ baseUrl: url, token: () => key });
  assert.deepEqual(await client.request("GET /runs", { query: { limit: 3, status: "failed" } }), {
    runs: [],
    next: null,
  });
  assert.deepEqual(asked, [{ limit: 3, status: "failed" }]);
  const me = await client.request("GET /me");
  assert.equal(me.caller, "alice");
  assert.ok(me.may.includes("GET /runs") && me.may.includes("GET /events"));
  assert.ok(!me.may.includes("POST /runs"), "a viewer starts no runs");
  const error = await client
    .request("GET /runs/{runId}", { path: { runId: "alice~x y/../z" } })
    .catch((cause: unknown) => cause);
  assert.ok(error instanceof ProblemError);
  assert.deepEqual([error.status, error.code], [400, "invalid_request"]);
  assert.ok(error.next !== undefined && error.requestId !== "");
  const stranger = await createClient({ baseUrl: url, token: "yk_nothing" })
    .request("GET /me")
    .catch((cause: unknown) => cause);
  assert.ok(stranger instanceof ProblemError);
  assert.deepEqual([stranger.status, stranger.code], [401, "unauthenticated"]);
  assert.match(stranger.next ?? "", /Authorization/);
  assert.match(stranger.requestId, /^[\w-]{36}$/);
  const away = await createClient({ baseUrl: "http://127.0.0.1:9", token: key })
    .request("GET /me")
    .catch((cause: unknown) => cause);
  assert.ok(away instanceof ProblemError && away.code === "unreachable");
});

test("a run is followed over the death of its gateway, with live text, and each event once", async () => {
  const [killed, other] = await Promise.all([world.startGatewayProcess(), world.startGateway()]);
  const { key } = await world.keyOf("alice", ["viewer"]);
  let base = killed.url;
  const client = createClient({
    baseUrl: "http://gateway.invalid",
    token: key,
    fetch: (input, init) => fetch(input.replace("http://gateway.invalid", base), init),
  });
  await report("cut", 1);
  const ids: (number | null)[] = [];
  const states: string[] = [];
  const reported = (async () => {
    const options = { onState: (state: string) => states.push(state) };
    for await (const { event, id, data } of client.followRun("cut", options)) {
      if (event === "delta") assert.equal(data.delta, "hel");
      ids.push(id);
    }
  })();
  await until(() => Promise.resolve(ids.length === 1));
  const delta = { runId: "alice~cut", step: 1, delta: "hel" };
  publishLive(runner, runLive, { owner: "alice", runId: "cut" }, delta);
  await until(() => Promise.resolve(ids.length === 2));
  base = other.url;
  killed.child.kill("SIGKILL");
  await report("cut", 2);
  await report("cut", 3);
  await report("cut", 4, true);
  await reported;
  assert.deepEqual(ids, [1, null, 2, 3, 4]);
  assert.ok(states.includes("waiting") && states.at(-1) === "live", states.join(" "));
});

test("readers that are cut again and again, at any moment, get every event once, ends of the past included", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("alice", ["viewer"]);
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    for (const one of [socket, upstream]) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => sockets.delete(one));
    }
    socket.pipe(upstream).pipe(socket);
    socket.on("close", () => upstream.destroy());
    upstream.on("close", () => socket.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  after(() => proxy.close());
  const address = proxy.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = createClient({ baseUrl: `http://127.0.0.1:${address.port}`, token: key });
  const names = Array.from({ length: 15 }, (_, index) => `often${index}`);
  const LAST = 12;
  const follow = async (name: string): Promise<(number | null)[]> => {
    const ids: (number | null)[] = [];
    for await (const { id } of client.followRun(name)) ids.push(id);
    return ids;
  };
  for (const name of names) for (const seq of [1, 2, 3]) await report(name, seq, seq === 2);
  const following = Promise.all(names.map(follow));
  for (let seq = 4; seq <= LAST; seq += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250 * Math.random()));
    if (seq % 3 === 0) for (const socket of sockets) socket.destroy();
    await Promise.all(names.map((name) => report(name, seq, seq === LAST)));
  }
  for (const ids of await following)
    assert.deepEqual(
      ids,
      Array.from({ length: LAST }, (_, index) => index + 1),
    );
});

test("a run is waited for: its end, a refused command, a message that became part of another run", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("alice", ["viewer"]);
  const client = createClient({ baseUrl: url, token: key });
  const waiting = client.waitForRun("ended");
  await report("ended", 1, true);
  assert.equal((await waiting).status, "cancelled");
  const merged = { sessionId: `ses-${"0".repeat(26)}-1`, sessionKey: "chat", into: "alice~ended" };
  await publishEvent(
    runner,
    runMerged,
    { owner: "alice", runId: "said" },
    { runId: "alice~said", at: at(), ...merged },
  );
  assert.equal((await client.waitForRun("said")).runId, "alice~ended");
  const refused = { code: "unknown_agent", message: "there is no agent x", problems: [] };
  await publishEvent(
    runner,
    runRejected,
    { owner: "alice", runId: "refused" },
    {
      runId: "alice~refused",
      at: at(),
      subject: "yard.cmd.alice.run.start.x",
      caller: "alice",
      streamSequence: 1,
      messageId: null,
      ...refused,
    },
  );
  await assert.rejects(client.waitForRun("refused"), { code: "rejected", message: /no agent x/ });
  const stopped = new AbortController();
  const stopping = client.waitForRun("never", { signal: stopped.signal });
  stopped.abort(new Error("enough"));
  await assert.rejects(stopping, /enough/);
});
