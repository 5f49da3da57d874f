import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { consume } from "@switchyard/bus/consume";
import { serve } from "@switchyard/bus/serve";
import {
  getAgent,
  NO_AGENT_LIMITS,
  type AgentDefinition,
} from "@switchyard/contracts/skill-importer/agents";
import { startRun, type StartRun } from "@switchyard/contracts/agent-runner/runs";
import { runCommands } from "@switchyard/topology/streams";
import { revokeUserKey } from "@switchyard/contracts/policy/user-tokens";
import { until } from "@switchyard/local-servers/until";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const world = await startGatewayWorld(["team-a"]);
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const agent: AgentDefinition = {
  name: "demo",
  description: "Nobody takes its runs but this test.",
  source: "project",
  digest: `sha256:${"0".repeat(64)}`,
  model: null,
  systemPrompt: "",
  tools: null,
  skills: [],
  maxSteps: 1,
  temperature: null,
  thinking: null,
  plan: null,
  roles: [],
  limits: NO_AGENT_LIMITS,
  onUnknownOutcome: "fail",
  approval: null,
  contextWindow: null,
  memoryBytes: null,
  sharesMemory: false,
};
const importer = await world.connectAs("importer");
const agents = serve(importer, { name: "importer", version: "0.1.0", description: "", onFault });
agents.handle(getAgent, ({ name }, { fail }) => {
  if (name !== "demo")
    throw fail.unknown_agent(`there is no agent ${name}`, { name, known: ["demo"] });
  return { agent };
});
await importer.flush();

/** The commands that the test received in place of the runners, with their callers. */
const started: { run: StartRun; caller: string }[] = [];
const runner = await world.connectAs("runner");
const consumption = consume(runner, {
  consumer: runCommands,
  commands: [startRun],
  concurrency: 4,
  handle: (delivery) => {
    started.push({ run: delivery.payload as StartRun, caller: delivery.caller }); // The consumer has this one contract.
    return Promise.resolve({ outcome: "done" });
  },
  onFault,
});
after(() => consumption.stop());

const secrets = [randomBytes(32), randomBytes(32)];
const GITHUB_SECRET = "a secret that GitHub has, too";
const keys = {
  good: await world.keyOf("team-a", ["operator"]),
  ended: await world.keyOf("team-a", ["operator"]),
  viewer: await world.keyOf("team-a", ["viewer"]),
};
const env = {
  SECRET_OLD: `whsec_${secrets[0]?.toString("base64")}`,
  SECRET_NEW: `whsec_${secrets[1]?.toString("base64")}`,
  GITHUB_SECRET,
  KEY: keys.good.key,
  ENDED_KEY: keys.ended.key,
  VIEWER_KEY: keys.viewer.key,
};
const both = { agent: "demo", key: "${KEY}", secrets: ["${SECRET_OLD}", "${SECRET_NEW}"] };
const directory = await mkdtemp(join(tmpdir(), "yard-hooks-"));
after(() => rm(directory, { recursive: true, force: true }));
const file = join(directory, "hooks.json");
await writeFile(
  file,
  JSON.stringify({
    hooks: {
      plain: both,
      orders: {
        ...both,
        events: ["order.paid"],
        input: "{{/hook}} {{/event}} {{/delivery}}: {{/body/data/id}}",
      },
      github: {
        agent: "demo",
        key: "${KEY}",
        signature: "github",
        secrets: ["${GITHUB_SECRET}"],
        events: ["push", "issues.opened"],
        input: { about: { $from: "/body/repository" }, event: { $from: "/event" } },
      },
      ended: { ...both, key: "${ENDED_KEY}" },
      viewer: { ...both, key: "${VIEWER_KEY}" },
      lost: { ...both, agent: "nobody" },
      guessed: both,
    },
  }),
);
const settings = { ...env, YARD_HOOKS_FILE: file, YARD_HTTP_TRUSTED_PROXIES: "1" };
const [{ url }, { url: otherUrl }] = await Promise.all([
  world.startGateway(settings),
  world.startGateway(settings),
]);

interface Sent {
  readonly at?: string;
  readonly id?: string;
  readonly secret?: Uint8Array | undefined;
  readonly ageSeconds?: number;
  readonly from?: string;
  readonly type?: string;
  readonly signature?: string;
}
interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: Record<string, unknown>;
}

let ids = 0;
async function send(name: string, body: unknown, sent: Sent = {}): Promise<Answer> {
  const { at = url, id = `msg_${(ids += 1)}`, secret = secrets[1], ageSeconds = 0 } = sent;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
  const hmac = createHmac("sha256", secret ?? assert.fail()).update(`${id}.${timestamp}.${text}`);
  return post(`${at}/hooks/${name}`, text, {
    "content-type": sent.type ?? "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": sent.signature ?? `v1,${hmac.digest("base64")}`,
    "x-forwarded-for": sent.from ?? "203.0.113.1",
  });
}

function sendGitHub(event: string, body: object, id = `delivery-${(ids += 1)}`): Promise<Answer> {
  const text = JSON.stringify(body);
  const hmac = createHmac("sha256", GITHUB_SECRET).update(text).digest("hex");
  return post(`${url}/hooks/github`, text, {
    "content-type": "application/json",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${hmac}`,
  });
}

async function post(to: string, body: string, headers: Record<string, string>): Promise<Answer> {
  const signal = AbortSignal.timeout(30_000);
  const response = await fetch(to, { method: "POST", headers, body, signal });
  const type = response.headers.get("content-type");
  return { status: response.status, type, body: (await response.json()) as Answer["body"] };
}

/** Resolves with the command of a run that was answered. */
async function commandOf({ status, body }: Answer): Promise<{ run: StartRun; caller: string }> {
  assert.equal(status, 202, JSON.stringify(body));
  const [owner, name] = String(body["runId"]).split("~");
  assert.equal(owner, "team-a");
  const find = () => started.find(({ run }) => run.runId === name);
  await until(() => find() !== undefined);
  return find() ?? assert.fail();
}

function assertProblem({ status, type, body }: Answer, expected: [number, string]): void {
  assert.deepEqual([status, body["code"]], expected, JSON.stringify(body));
  assert.equal(type, "application/problem+json");
  assert.ok(typeof body["requestId"] === "string");
}

test("a delivery that is signed starts a run of the hook's caller, with the body as its input", async () => {
  const body = { type: "order.paid", data: { id: 7 } };
  const { run, caller } = await commandOf(await send("plain", body, { id: "msg_first" }));
  assert.equal(caller, "team-a");
  assert.deepEqual(run.input, body);
  assert.deepEqual(run.labels, {
    via: "hook",
    hook: "plain",
    delivery: "msg_first",
    event: "order.paid",
  });
});

test("a template makes the input, and events that the hook does not want start nothing", async () => {
  const body = { type: "order.paid", data: { id: 7 } };
  const { run } = await commandOf(await send("orders", body, { id: "msg_second" }));
  assert.equal(run.input, "orders order.paid msg_second: 7");
  for (const type of ["order.made", undefined]) {
    const { status, body: answer } = await send("orders", { ...body, type });
    assert.deepEqual([status, answer["runId"]], [200, null]);
    assert.match(String(answer["ignored"]), /does not want the event/);
  }
  const empty = await send("orders", { type: "order.paid", data: {} });
  assertProblem(empty, [422, "template_error"]);
  assert.match(String(empty.body["detail"]), /pointer \/body\/data\/id finds nothing at "id"/);
  assertProblem(await send("plain", [1, 2]), [422, "template_error"]);
});

test("a delivery is one run, however often and wherever it arrives, and each hook has its own", async () => {
  const body = { some: "thing" };
  const first = await commandOf(await send("plain", body, { id: "msg_again" }));
  const answers = await Promise.all(
    [url, otherUrl, url, otherUrl].map((at, ageSeconds) =>
      send("plain", body, { at, id: "msg_again", ageSeconds }),
    ),
  );
  for (const { status, body: answer } of answers)
    assert.deepEqual([status, answer["runId"]], [202, `team-a~${first.run.runId}`]);
  const other = await commandOf(await send("guessed", body, { id: "msg_again" }));
  assert.notEqual(other.run.runId, first.run.runId);
  const next = await commandOf(await send("plain", body, { id: "msg_next" }));
  assert.notEqual(next.run.runId, first.run.runId);
});

test("while secrets are exchanged both are good, and another one is not", async () => {
  for (const secret of secrets) await commandOf(await send("plain", {}, { secret }));
  assertProblem(await send("plain", {}, { secret: randomBytes(32) }), [403, "bad_signature"]);
});

test("what is not signed, changed, too old or from the future starts nothing", async () => {
  const runs = () => new Set(started.map(({ run }) => run.runId)).size;
  const before = runs();
  assertProblem(await send("plain", {}, { signature: "" }), [403, "bad_signature"]);
  assertProblem(await send("plain", {}, { signature: "v1,AAAA" }), [403, "bad_signature"]);
  for (const ageSeconds of [310, -310])
    assertProblem(await send("plain", {}, { ageSeconds }), [403, "expired_signature"]);
  assertProblem(await send("github", {}), [403, "bad_signature"]);
  const unsigned = await post(`${url}/hooks/plain`, "{}", { "content-type": "application/json" });
  assertProblem(unsigned, [403, "bad_signature"]);
  const bearer = { authorization: `Bearer ${keys.good.key}`, "content-type": "application/json" };
  assertProblem(await post(`${url}/hooks/plain`, "{}", bearer), [403, "bad_signature"]);
  await commandOf(await send("plain", {}));
  assert.equal(runs(), before + 1);
});

test("what is no hook, no JSON or larger than 1 MiB is refused with its reason", async () => {
  for (const name of ["nothing", "constructor", "plain%2f..", "..%2fplain"])
    assertProblem(await send(name, {}), [404, "unknown_hook"]);
  assert.equal((await fetch(`${url}/hooks/plain`)).status, 405);
  assertProblem(await send("plain", "{"), [400, "malformed_json"]);
  assertProblem(await send("plain", ""), [400, "malformed_json"]);
  assertProblem(await send("plain", "[".repeat(100)), [400, "json_too_complex"]);
  assertProblem(await send("plain", "a=b", { type: "application/x-www-form-urlencoded" }), [
    415,
    "unsupported_media_type",
  ]);
  assertProblem(await send("plain", { text: "x".repeat(1024 * 1024) }), [413, "payload_too_large"]);
  const large = { text: "x".repeat(1024 * 1024 - 1_000) };
  assert.deepEqual((await commandOf(await send("plain", large))).run.input, large);
});

test("GitHub's deliveries start runs by event and action, and its ping none", async () => {
  const repository = { full_name: "a/b" };
  const opened = { action: "opened", repository };
  const { run } = await commandOf(await sendGitHub("issues", opened, "72d3162e"));
  assert.deepEqual(run.input, { about: repository, event: "issues" });
  assert.equal(run.labels?.["delivery"], "72d3162e");
  const again = await sendGitHub("issues", opened, "72d3162e");
  assert.equal(again.body["runId"], `team-a~${run.runId}`);
  await commandOf(await sendGitHub("push", { repository }));
  for (const [event, body] of [
    ["issues", { action: "closed", repository }],
    ["star", { repository }],
    ["ping", { zen: "Design for failure." }],
  ] as const) {
    const { status, body: answer } = await sendGitHub(event, body);
    assert.deepEqual([status, answer["runId"]], [200, null], event);
  }
});

test("a hook whose key has ended, may not start runs or whose agent is gone returns an error, and works once that is put right", async () => {
  assert.equal((await send("ended", {})).status, 202);
  const cli = await world.connectAs("cli");
  await call(cli, revokeUserKey, { id: keys.ended.id });
  await until(async () => (await send("ended", {})).status === 503);
  const ended = await send("ended", {});
  assertProblem(ended, [503, "hook_unavailable"]);
  assertProblem(await send("viewer", {}), [503, "hook_unavailable"]);
  assertProblem(await send("lost", {}), [503, "hook_unavailable"]);
  for (const { body } of [ended, await send("viewer", {})])
    for (const { key } of Object.values(keys)) assert.ok(!JSON.stringify(body).includes(key));
});

test("a client that guesses signatures locks its own address out of that hook, and no other address", async () => {
  const wrong = { signature: "v1,AAAA", from: "198.51.100.7" };
  const statuses = new Set<number>();
  for (let n = 0; n < 32; n += 1) statuses.add((await send("guessed", {}, wrong)).status);
  assert.deepEqual([...statuses], [403, 429]);
  assert.equal((await send("guessed", {}, { from: "198.51.100.8" })).status, 202);
  assertProblem(await send("plain", {}, wrong), [403, "bad_signature"]);
});

test("refusals are on record with the address, and neither secrets nor bodies", async () => {
  const { key } = await world.keyOf("ada", ["admin"]);
  const canary = "canary-of-a-body";
  await send("plain", { canary }, { signature: "v1,canary", from: "192.0.2.55" });
  let text = "";
  await until(async () => {
    const headers = { authorization: `Bearer ${key}` };
    text = await (await fetch(`${url}/api/v1/audit?kind=access`, { headers })).text();
    return text.includes("192.0.2.55");
  });
  assert.match(text, /POST \/hooks\/plain/);
  for (const secret of [canary, "v1,canary", GITHUB_SECRET, env.SECRET_NEW])
    assert.ok(!text.includes(secret));
});

test("a file that makes no sense ends the start, and says why", async () => {
  const broken = join(directory, "broken.json");
  await writeFile(broken, JSON.stringify({ hooks: { a: { ...both, key: "${NOT_THERE}" } } }));
  await assert.rejects(
    world.startGateway({ YARD_HOOKS_FILE: broken, ...env }),
    /hooks\.a\.key: the environment variable NOT_THERE is not set/,
  );
});
