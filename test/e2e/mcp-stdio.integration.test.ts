import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { promisify } from "node:util";
import { call } from "@switchyard/bus/call";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { PLATFORM_TOOLS } from "@switchyard/contracts/toolbox/toolbox";
import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import { findCodingClis } from "../../services/agent-runner/test-fixtures/coding-clis.ts";
import {
  INSPECTOR,
  installedCli,
} from "../../services/agent-runner/test-fixtures/installed-cli.ts";
import { runOutsideClient, startToolUser, type OutsideServer } from "../lib/outside-client.ts";
import { callOf, errorOf, startStdioWorld, type Json } from "../lib/stdio-world.ts";
import { yardCommand } from "../lib/yard-command.ts";
import { connectAsCli } from "../lib/yard-dev.ts";

const { dev, stateDir, token, basics, seed, bridge, paramsOf, connectV1, connectV2 } =
  await startStdioWorld();
const natsEnv = bridge(dev.natsUrl, seed);
const { client: nats } = await connectV2({ env: natsEnv });
const ownerEnv = { ...natsEnv, SWITCHYARD_SENDER_IS_OWNER: "true" };
const { client: owner } = await connectV2({
  env: Object.fromEntries(
    Object.entries(ownerEnv).map(([name, value]) => [
      name.replace("SWITCHYARD_", "REMOTECLAW_"),
      value,
    ]),
  ),
});
const inspector = await installedCli(INSPECTOR);
const open = PLATFORM_TOOLS.filter((name) => !/^(?:cron|gateway)_/.test(name));
const namesOf = async (client: Pick<ClientV2, "listTools">) =>
  (await client.listTools()).tools.map(({ name }) => name).toSorted();

for (const [how, connect] of [
  ["SDK v1", connectV1],
  ["SDK v2", connectV2],
] as [string, typeof connectV2][]) {
  test(`${how} over stdio lists what is not for owners, over NATS and over HTTP [F3]`, async () => {
    for (const env of [natsEnv, bridge(dev.httpUrl, token), {}]) {
      const { client } = await connect({ env });
      assert.deepEqual(await namesOf(client), open.toSorted());
      const { json } = await callOf(client, "agents_list");
      assert.ok(JSON.stringify(json["agents"]).includes('"helper"'));
      await client.close();
    }
  });
}

test("an owner has all of them, under older names of the variables, too [F1] [F35] [F41] [F42] [X42] [complaint-9]", async () => {
  const names = await namesOf(owner);
  assert.deepEqual(names, PLATFORM_TOOLS.toSorted());
  assert.equal(new Set(names).size, names.length);
  // The rest is for owners.
  assert.deepEqual([names.length, open.length], [29, 17]);
  assert.equal(names.filter((name) => name.startsWith("cron_")).length, 7);
  assert.equal(names.filter((name) => name.startsWith("gateway_")).length, 5);
});

test("a profile narrows, and an unknown one stops the server [F5]", async () => {
  const offered = async (profile: string) => {
    const env = { ...natsEnv, SWITCHYARD_TOOL_PROFILE: profile };
    const { client } = await connectV2({ env });
    return namesOf(client);
  };
  assert.deepEqual(await offered("minimal"), ["session_status"]);
  assert.ok((await offered("coding")).includes("sessions_spawn"));
  assert.ok(!(await offered("messaging")).includes("sessions_spawn"));
  const { code, errors } = await ended({ ...natsEnv, SWITCHYARD_TOOL_PROFILE: "ful" });
  assert.deepEqual([code, /minimal, coding, messaging, full/.test(errors)], [1, true]);
});

test("no schema has a union, and each tool describes what it does [F41] [F42]", async () => {
  const { tools } = await owner.listTools();
  for (const { name, description = "", inputSchema } of tools) {
    assert.ok(description.length > 10, name);
    assert.doesNotMatch(JSON.stringify(inputSchema), /"(?:anyOf|oneOf|allOf|not)"|"type":\[/, name);
    assert.doesNotMatch(JSON.stringify(inputSchema), /callerS|"refused"/, name);
  }
});

test(
  "the MCP Inspector finds nothing wrong with the 29 tools, its strict check on [F42]",
  { skip: "skip" in inspector ? inspector.skip : false },
  async () => {
    assert.ok("path" in inspector);
    const { command, args, env } = paramsOf({ env: ownerEnv });
    const { stdout } = await promisify(execFile)(process.execPath, [
      inspector.path,
      "--cli",
      command,
      ...args,
      ...Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
      "--method",
      "tools/list",
      "--strict",
    ]);
    const { tools } = JSON.parse(stdout) as { tools: unknown[] };
    assert.equal(tools.length, PLATFORM_TOOLS.length);
  },
);

test("sessions_send waits for the answer, and sessions_list and _history show it [F6] [F7] [F8]", async () => {
  const sent = await callOf(nats, "sessions_send", {
    sessionKey: "agent:helper:slack:channel:42",
    message: "hello",
  });
  const { status, reply, sessionKey } = sent.json;
  assert.deepEqual(
    [status, reply, sessionKey],
    ["ok", "You said hello", "agent:helper:slack:channel:42"],
  );
  const { json: list } = await callOf(nats, "sessions_list", { filter: "slack", messageLimit: 2 });
  const [row] = list["sessions"] as Json[];
  assert.equal(list["count"], 1);
  assert.deepEqual(row?.["deliveryContext"], { channel: "slack", to: "42" });
  assert.equal((row?.["messages"] as Json[] | undefined)?.length, 2);
  const { json: history, text } = await callOf(nats, "sessions_history", {
    sessionKey: String(row?.["sessionId"]),
  });
  assert.equal(history["sessionKey"], "agent:helper:slack:channel:42");
  // The session may since have begun to send something to its chat.
  assert.deepEqual(
    (history["messages"] as Json[]).slice(0, 2).map(({ role }) => role),
    ["user", "assistant"],
  );
  assert.equal(text, JSON.stringify(history, null, 2));
  const later = { sessionKey: "agent:helper:main", message: "later", timeout: 0 };
  const { json: accepted } = await callOf(nats, "sessions_send", later);
  assert.equal(accepted["status"], "accepted");
});

test("what sessions tools refuse, they say [F6] [F7] [F8] [F10]", async () => {
  const both = { sessionKey: "a", label: "b", message: "x" };
  assert.match(
    await errorOf(nats, "sessions_send", both),
    /Provide either sessionKey or label \(not both\)\./,
  );
  const nowhere = await errorOf(nats, "sessions_send", { message: "x" });
  assert.match(nowhere, /Either sessionKey or label is required/);
  assert.match(
    await errorOf(nats, "sessions_send", { label: "nobody", message: "x" }),
    /No session found with label: nobody/,
  );
  assert.match(
    await errorOf(nats, "sessions_history", { sessionKey: "none" }),
    /Unknown sessionKey: none/,
  );
  assert.match(await errorOf(nats, "sessions_list", { kind: "main" }), /invalid_arguments/);
  assert.match(
    await errorOf(nats, "session_status", { sessionKey: "main", model: "gpt" }),
    /Unrecognized model "gpt"\./,
  );
  const unconfigured = { sessionKey: "agent:helper:main", model: "nobody/gpt" };
  assert.match(await errorOf(nats, "session_status", unconfigured), /model "nobody\/gpt"\./);
  // Denied by the policy, whatever the registration showed.
  assert.match(
    await errorOf(nats, "sessions_history", { sessionKey: "secret" }),
    /denied: .*this one is closed/,
  );
});

test("session_status shows the caller's own session and changes its model [F10] [F11]", async () => {
  await callOf(nats, "sessions_send", { sessionKey: "desk", agentId: "helper", message: "hi" });
  const { json } = await callOf(nats, "session_status");
  assert.deepEqual([json["ok"], json["sessionKey"], json["changedModel"]], [true, "desk", false]);
  assert.match(String(json["statusText"]), /agent helper\nModel: the agent's own/);
  const { json: changed } = await callOf(nats, "session_status", { model: "scripted/plan" });
  assert.equal(changed["changedModel"], true);
  assert.match(String(changed["statusText"]), /Model: scripted\/plan/);
  const { json: back } = await callOf(nats, "session_status", { model: "default" });
  assert.match(String(back["statusText"]), /the agent's own/);
  const { json: agents } = await callOf(nats, "agents_list");
  assert.equal(agents["requester"], "helper");
  assert.equal((agents["agents"] as Json[])[0]?.["id"], "helper");
});

test("sessions_spawn starts, subagents lists, steers and kills [F9] [F12]", async () => {
  const { json } = await callOf(nats, "sessions_spawn", {
    prompt: "wait",
    agentId: "asker",
    label: "colours",
    runtime: "subagent",
  });
  const { status, childSessionKey, runId, mode } = json;
  assert.deepEqual([status, mode], ["accepted", "run"]);
  assert.match(String(childSessionKey), /^agent:asker:subagent:/);
  const entries = async (of: string) => (await callOf(nats, "subagents", {})).json[of] as Json[];
  const [child] = await entries("active");
  assert.deepEqual(
    [child?.["index"], child?.["label"], child?.["status"], child?.["runId"]],
    [1, "colours", "running", runId],
  );
  assert.deepEqual([child?.["task"], child?.["runtime"]], ["wait", "subagent"]);
  const steered = await callOf(nats, "subagents", {
    action: "steer",
    target: "colours",
    message: "blue",
  });
  assert.deepEqual([steered.json["status"], steered.json["mode"]], ["accepted", "restart"]);
  assert.notEqual(steered.json["runId"], runId);
  const soon = await callOf(nats, "subagents", { action: "steer", target: "1", message: "red" });
  assert.deepEqual([soon.json["status"], soon.json["label"]], ["rate_limited", "colours"]);
  await until(async () => (await entries("active"))[0]?.["runId"] === steered.json["runId"]);
  const { json: killed } = await callOf(nats, "subagents", { action: "kill", target: "colours" });
  assert.deepEqual([killed["status"], killed["labels"]], ["ok", ["colours"]]);
  await until(async () => (await entries("recent"))[0]?.["status"] === "killed");
  const again = await callOf(nats, "subagents", { action: "kill", target: "1" });
  assert.equal(again.json["text"], "already finished");
  assert.match(
    await errorOf(nats, "subagents", { action: "steer", target: "nobody", message: "x" }),
    /Unknown subagent target: nobody/,
  );
});

test("runTimeoutSeconds ends what sessions_spawn started [F9]", async () => {
  for (const [name, seconds] of [
    ["runTimeoutSeconds", 0.5],
    ["timeoutSeconds", 1],
  ] as const) {
    const label = `short ${name}`;
    const timed = { task: "x", agentId: "slow", label, [name]: seconds };
    const { json } = await callOf(nats, "sessions_spawn", timed);
    assert.equal(json["status"], "accepted");
  }
  const failed = await until(
    async () =>
      ((await callOf(nats, "subagents", {})).json["recent"] as Json[]).filter(
        ({ label, status }) => String(label).startsWith("short ") && status === "failed",
      ),
    ({ length }) => length === 2,
  );
  assert.ok(failed.every(({ runtimeMs }) => Number(runtimeMs) >= 1_000));
});

test("what sessions_spawn refuses, it says [F9] [X37]", async () => {
  assert.match(
    await errorOf(nats, "sessions_spawn", { task: "x", agentId: "helper", channel: "slack" }),
    /sessions_spawn does not support "channel"\. Use "message" or "sessions_send"/,
  );
  assert.match(
    await errorOf(nats, "sessions_spawn", { task: "x", agentId: "no agent" }),
    /Invalid agentId "no agent"\. Agent IDs must match/,
  );
  for (const [kind, problem] of [
    [{ mode: "session" }, /mode="session" requires thread=true/],
    [{ mode: "session", thread: true }, /thread=true is unavailable because/],
    [{ thinking: "loud" }, /thinking: must be one of off, none, minimal, .*, max/],
  ] as const)
    assert.match(
      await errorOf(nats, "sessions_spawn", { task: "x", agentId: "helper", ...kind }),
      problem,
    );
  const env = { ...natsEnv, SWITCHYARD_SESSION_KEY: "agent:helper:subagent:1" };
  const { client } = await connectV2({ env });
  const { json } = await callOf(client, "sessions_spawn", { task: "x", agentId: "helper" });
  assert.deepEqual(
    [json["status"], json["error"]],
    ["forbidden", "sessions_spawn is not allowed at this depth (current depth: 1, max: 1)"],
  );
});

test("a call that waits for a person is made once it is approved, and --tools all has everything", async () => {
  const { client } = await connectV2({ args: ["--tools", "all"] });
  const names = await namesOf(client);
  for (const name of ["agent__helper", "memory_read", "sessions_list"])
    assert.ok(names.includes(name), names.join(" "));
  assert.equal((await callOf(client, "agent__helper", { input: "hi" })).text, "You said hi");
  const read = callOf(client, "memory_read", { name: "x" });
  await approvePending();
  // The call was made: memory belongs to runs.
  assert.match((await read).text, /Memory belongs to an agent/);
});

const ways: readonly { readonly way: string; readonly server: OutsideServer }[] = [
  { way: "over stdio", server: started() },
  { way: "at /mcp with an API key", server: { url: `${dev.httpUrl}/mcp`, key: await apiKey() } },
];

for (const { tried, program } of await findCodingClis())
  for (const { way, server } of ways)
    test(
      `${tried.name} ${way} calls a tool, sees a denied call as denied, and continues after an approval`,
      { skip: "skip" in program ? program.skip : false },
      async () => {
        assert.ok("path" in program);
        const model = await startToolUser(tried, approvePending);
        const { code, stdout, stderr } = await runOutsideClient(tried.cli, program.path, {
          url: tried.baseURL(model.url),
          server,
          home: await testDirectory(),
        });
        assert.equal(code, 0, `${stderr}\n${stdout}`);
        assert.match(stdout, /All done\./);
      },
    );

function started(): OutsideServer {
  const outside = { ...natsEnv, SWITCHYARD_SESSION_KEY: "outside" };
  return paramsOf({ env: outside, args: ["--tools", "all"] });
}

/** Makes the key of a caller who runs tools and decides nothing. */
async function apiKey(): Promise<string> {
  const response = await fetch(`${dev.httpUrl}/api/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ caller: "team-a", roles: ["operator"] }),
  });
  const { key } = (await response.json()) as { key?: string };
  return key ?? assert.fail(`no key: ${response.status}`);
}

/** Polls over the bus, since each `yard` command is a process. */
async function approvePending(): Promise<void> {
  const cli = await connectAsCli(dev);
  try {
    const id = await until(async () => (await call(cli, listApprovals, {})).approvals[0]?.id);
    await yardCommand(stateDir, "approvals", "approve", id);
  } finally {
    await cli.close();
  }
}

async function ended(env: Record<string, string>, input = "") {
  const { command, args } = paramsOf({});
  const child = spawn(command, args, { env: { ...basics, ...env } });
  let errors = "";
  let out = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  await once(child, "close");
  return { code: child.exitCode, errors, out };
}

test("a missing variable is named, and the process ends with 1 [F5]", async () => {
  const { SWITCHYARD_SESSION_KEY: _, ...rest } = natsEnv;
  const { code, errors } = await ended(rest);
  assert.equal(code, 1);
  assert.match(
    errors,
    /^switchyard-mcp-server fatal: Missing required environment variable: SWITCHYARD_SESSION_KEY$/m,
  );
});

test("the end of its input ends it, before and after it connected, and nothing stays [F2]", async () => {
  assert.equal((await ended(natsEnv)).code, 0);
  const stranger = { ...natsEnv, SWITCHYARD_GATEWAY_URL: "nats://127.0.0.1:1" };
  assert.equal((await ended(stranger)).code, 0);
  const { client, transport } = await connectV2({ env: natsEnv });
  await client.listTools();
  const pid = Number(transport.pid);
  await client.close();
  await until(() => !isAlive(pid));
});

test("a server that cannot connect reports it and continues when it can", async () => {
  const env = bridge("http://127.0.0.1:1", "x");
  const { client } = await connectV2({ env });
  await assert.rejects(client.listTools(), /ECONNREFUSED|reach/i);
  const { client: stranger } = await connectV2({ env: bridge(dev.httpUrl, "yk_nobody") });
  await assert.rejects(stranger.listTools(), /key|credential/i);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
