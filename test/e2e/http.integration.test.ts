import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/runs";
import { pathWithCurl } from "../lib/curl.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const run = promisify(execFile);
const directory = await mkdtemp(join(tmpdir(), "yard-http-"));
const dev = await startYardDev({ project: "examples", stateDir: join(directory, "state") });
after(async () => {
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});
const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
const env = {
  ...process.env,
  PATH: pathWithCurl(directory),
  YARD_HTTP: dev.httpUrl,
  YARD_HTTP_TOKEN: token,
};
const document = await readFile(new URL("../../docs/http.md", import.meta.url), "utf8");
const examples = [...document.matchAll(/```sh\n(.*?)```/gs)].map(([, text = ""]) => text);

test("every example of docs/http.md works as it is written, and its run is the same one over NATS", async () => {
  const answers: string[] = [];
  for (const example of examples) {
    const { stdout } = await run("sh", ["-ec", example], { env, timeout: 120_000 });
    answers.push(stdout);
  }
  const [me, key, started, events, shown] = answers;
  assert.deepEqual(JSON.parse(me ?? ""), { caller: "cli", roles: ["admin"], credential: "laptop" });
  assert.match(key ?? "", /"key":"yk_/);
  assert.deepEqual(JSON.parse(started ?? ""), { runId: "cli~order-4711" });
  assert.match(events ?? "", /event: started\nid: 1\n/);
  assert.match(events ?? "", /event: finished\nid: \d+\n/);
  const { run: overHttp } = JSON.parse(shown ?? "") as { run: unknown };
  const bus = await connectAsCli(dev);
  after(() => bus.close());
  const overNats = await call(bus, getRun, { runId: "order-4711" });
  assert.deepEqual(overHttp, overNats.run);
  assert.equal(overNats.run.status, "succeeded");
});

test("a key of a team starts the team's own runs, and cannot see those of others", async () => {
  const made = await send("/keys", { body: { caller: "team-a", roles: ["operator"] } });
  const { key } = made as { key: string };
  const { runId } = (await send("/runs", {
    key,
    body: { agent: "demo", input: "hello", runId: "t1" },
  })) as { runId: string };
  assert.equal(runId, "team-a~t1");
  const events = await fetch(`${dev.httpUrl}/api/v1/runs/t1/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.match(await events.text(), /event: finished/);
  const { runs } = (await send("/runs", { key })) as { runs: { requester: string }[] };
  assert.deepEqual(new Set(runs.map(({ requester }) => requester)), new Set(["team-a"]));
  const foreign = (await send("/runs/cli~order-4711", { key })) as { code: string };
  assert.equal(foreign.code, "unknown_run");
  const { agents } = (await send("/agents", { key })) as { agents: { name: string }[] };
  assert.ok(agents.some(({ name }) => name === "demo"));
});

async function send(
  path: string,
  { key = token, body }: { key?: string; body?: unknown } = {},
): Promise<unknown> {
  const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}
