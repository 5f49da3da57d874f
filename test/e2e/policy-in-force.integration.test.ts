import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { anonymousUser } from "@switchyard/topology/topology";
import { until } from "@switchyard/local-servers/until";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { samplePng, sampleWav } from "../lib/sample-files.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const RULES = `version: 1
starters:
  - { id: of-all, agents: [looker, boss, waiter, sleeper, careful] }
  - { id: below, agents: [helper], parents: [boss] }
  - { id: secret, agents: [vault], users: [security] }
layers:
  - { id: scripted-models, for: { providers: [scripted] }, deny: [counting.big] }
  - { id: helpers, for: { subAgents: true }, deny: [counting.append] }
rules:
  - { id: careful, effect: allow, approval: always, who: { agents: [careful] }, what: { tools: [counting.append] } }
  - { id: small-pictures, effect: allow, who: { agents: [looker] }, what: { tools: [input_file] }, when: [{ arg: /mediaType, op: glob, value: image/* }, { arg: /sizeBytes, op: lte, value: 1000 }] }
  - { id: all, effect: allow, approval: auto, what: { tools: [agent, counting.append, counting.big, counting.hang, execute_command] } }
`;
const step = (tool: string, args: string): string =>
  `    - calls: [{ tool: ${tool}, with: ${args} }]`;
/** Steps of a plan, by agent. */
const PLANS: Readonly<Record<string, readonly string[]>> = {
  vault: [],
  looker: [
    step("mcp__counting__big", "{ bytes: 5 }"),
    step("mcp__counting__append", "{ line: looked }"),
    step("mcp__counting__secret", "{}"),
    step("mcp__counting__nothing", "{}"),
  ],
  boss: [
    step("agent", "{ agent: helper, task: go }"),
    step("mcp__counting__append", "{ line: by the boss }"),
    step("agent", "{ agent: vault, task: open }"),
  ],
  helper: [step("mcp__counting__append", "{ line: by the helper }")],
  careful: [step("mcp__counting__append", "{ line: approved at last }")],
  waiter: [step("mcp__counting__hang", "{}")],
  sleeper: [step("execute_command", '{ command: "sleep 31415.9265", timeout: 600000 }')],
};

const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
const callsFile = join(directory, "calls");
const stateDir = join(directory, "state");
for (const folder of ["agents", "policies", "skills"])
  await mkdir(join(project, folder), { recursive: true });
await writeFile(join(project, "policies/rules.yaml"), RULES);
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({
    mcpServers: {
      counting: {
        command: process.execPath,
        args: [join(root, "test/e2e/fixtures/counting-server.ts")],
        env: { CALLS_FILE: callsFile },
        callTimeoutMs: 600_000,
      },
    },
  }),
);
for (const [name, steps] of Object.entries(PLANS)) {
  const plan = steps.length === 0 ? "" : `  steps:\n${steps.join("\n")}\n`;
  await writeFile(
    join(project, `agents/${name}.yaml`),
    `name: ${name}\ndescription: a test\nmodel: scripted/plan\nsystemPrompt: You are a test.\nplan:\n${plan}  answer: done\n`,
  );
}
const dev = await startYardDev({ project: relative(root, project), stateDir });
const env = yardEnvironment(stateDir);
const bus = await connectBus({
  servers: dev.natsUrl,
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

const TERMINAL = new Set(["finished", "failed", "rejected", "dead", "cancelled"]);

interface Reported {
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The events of a run, until the one that fits, which is the last. */
async function reportedBy(runId: string, isLast = ({ name }: Reported) => TERMINAL.has(name)) {
  const reported: Reported[] = [];
  const filters = [`yard.evt.run.me.${runId.replace("me~", "")}.*`];
  for await (const { subject, payload } of readEvents(bus, { filters, from: "beginning" })) {
    const one = { name: subject.split(".").at(-1) ?? "", payload: payload as Reported["payload"] }; // an event's payload is an object
    reported.push(one);
    if (isLast(one)) return reported;
  }
  return reported;
}

async function start(agent: string, runId: string): Promise<void> {
  await publishCommand(bus, startRun, { agent }, { runId, input: "x" });
}

async function calls(): Promise<string> {
  return existsSync(callsFile) ? readFileSync(callsFile, "utf8") : "";
}

test("a run of an agent that its caller may not start is rejected, and the text says why", async () => {
  await start("vault", "no-1");
  const [rejected] = await reportedBy("no-1");
  assert.equal(rejected?.name, "rejected");
  assert.equal(rejected.payload["code"], "may_not_start");
  assert.match(String(rejected.payload["message"]), /user me may not start agent vault/);

  const { code, stderr } = await yard(["run", "vault", "open"], env);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /the command was refused: user cli may not start agent vault/);
});

test("a file is refused by the type and size that its bytes have, whatever its name says, and the audit has the decision", async () => {
  const png = join(directory, "dot.png");
  const fake = join(directory, "silence.png");
  await writeFile(png, samplePng);
  await writeFile(fake, sampleWav);
  const ran = await yard(["run", "looker", "x", "--file", png], env);
  assert.equal(ran.code, 0, ran.stderr);
  const refused = await yard(["run", "looker", "x", "--file", png, "--file", fake], env);
  assert.notEqual(refused.code, 0);
  assert.match(
    refused.stderr,
    /silence\.png \(audio\/wav, \d+ bytes\): .*rule small-pictures allows it with others/,
  );
  assert.doesNotMatch(refused.stderr, /dot\.png \(/);
  // Records are stored in batches.
  await until(
    async () => (await yard(["audit", "export"], env)).stdout,
    (text) => /input_file of audio\/wav with \d+ bytes/.test(text),
  );
  assert.equal((await yard(["audit", "verify"], env)).code, 0);
  const asked = ["policy", "explain", "input_file", '{"mediaType":"image/gif","sizeBytes":1001}'];
  const explained = await yard([...asked, "--agent", "looker"], env);
  assert.match(explained.stdout, /small-pictures/, explained.stderr);
  assert.match(explained.stdout, /\/sizeBytes lte 1000/);
});

test("the layer of the model's provider narrows a run, and a denied and an unknown tool look the same [F39][X16]", async () => {
  await start("looker", "look-1");
  const reported = await reportedBy("look-1");
  const reasonOf = (tool: string): string => {
    const denied = reported.find(
      ({ name, payload }) => name === "tool-denied" && payload["tool"] === tool,
    );
    const { reason } = (denied?.payload["decision"] ?? {}) as { reason?: string }; // as the contract says
    return reason ?? `not denied: ${JSON.stringify(reported)}`;
  };
  assert.match(reasonOf("mcp__counting__big"), /layer scripted-models denies it/);
  assert.match(await calls(), /^looked$/m);
  const unknown = reasonOf("mcp__counting__nothing");
  assert.match(unknown, /^no rule allows mcp__counting__nothing for agent looker$/);
  assert.equal(reasonOf("mcp__counting__secret"), unknown.replace("nothing", "secret"));
});

test("a sub-agent is kept to the layer of sub-agents, and starts only for whom starters names [D51][F39]", async () => {
  await start("boss", "boss-1");
  const reported = await reportedBy("boss-1");
  assert.equal(reported.at(-1)?.name, "finished", JSON.stringify(reported));
  const children = reported.filter(({ name }) => name === "child-started");
  assert.equal(children.length, 2);
  const [helper, vault] = children.map(({ payload }) => String(payload["childRunId"]));
  const ofHelper = await reportedBy(helper ?? "");
  assert.match(JSON.stringify(ofHelper), /layer helpers denies it/);
  const ofVault = await reportedBy(vault ?? "");
  assert.match(JSON.stringify(ofVault), /may not start agent vault through a run of agent boss/);
  const lines = await calls();
  assert.match(lines, /^by the boss$/m);
  assert.doesNotMatch(lines, /by the helper/);
});

test("a stop of a misspelt agent or server is in force, and a note has the name that is meant", async () => {
  for (const [scope, meant] of [
    [["--agent", "carefull"], /there is no agent carefull; did you mean careful\?/],
    [["--server", "countng"], /there is no server countng; did you mean counting\?/],
  ] as const) {
    const { code, stderr, stdout } = await yard(["policy", "stop", ...scope, "--reason", "x"], env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^stopped: /);
    assert.match(stderr, meant);
    assert.equal((await yard(["policy", "resume", ...scope], env)).code, 0);
  }
  const known = await yard(["policy", "stop", "--agent", "careful", "--reason", "x"], env);
  assert.doesNotMatch(known.stderr, /there is no/);
  assert.equal((await yard(["policy", "resume", "--agent", "careful"], env)).code, 0);
});

test("runs that wait for a person wait on while everything is stopped, and are decided about when that is lifted", async () => {
  const runs = ["stop-1", "stop-2"];
  for (const runId of runs) await start("careful", runId);
  for (const runId of runs) await reportedBy(runId, ({ name }) => name === "waiting");
  const stopped = await yard(["policy", "stop", "--all", "--reason", "maintenance"], env);
  assert.equal(stopped.code, 0, stopped.stderr);
  const isStopped = ({ name, payload }: Reported): boolean =>
    name === "waiting" && JSON.stringify(payload).includes('"reason":"stopped"');
  for (const runId of runs) {
    const reported = await reportedBy(runId, (one) => isStopped(one) || TERMINAL.has(one.name));
    assert.equal(reported.at(-1)?.name, "waiting", JSON.stringify(reported.at(-1)));
  }
  const status = await yard(["status"], env);
  assert.match(status.stdout, /^stopped +all calls, by cli: maintenance$/m);
  const listed = await yard(["runs", "list", "--status", "waiting"], env);
  assert.match(listed.stderr, /^stopped: all calls, by cli: maintenance$/m);
  assert.match(listed.stdout, /me~stop-1 +careful +waiting: stopped /);
  const shown = await yard(["runs", "show", "me~stop-1"], env);
  assert.match(shown.stdout, /^waits for +the end of a stop of all calls \(maintenance\)$/m);
  const refused = await yard(["run", "careful", "x"], env);
  assert.match(refused.stderr, /the command was refused: all calls are stopped .*: maintenance/);

  const resumed = await yard(["policy", "resume", "--all"], env);
  assert.equal(resumed.code, 0, resumed.stderr);
  for (const runId of runs) {
    // For a person, for the end of the stop, and for a person again.
    let waits = 0;
    const reported = await reportedBy(runId, ({ name }) => {
      if (name === "waiting") waits += 1;
      return waits === 3 || TERMINAL.has(name);
    });
    const [approvalId = ""] = /apr-[0-9a-f]{32}/.exec(JSON.stringify(reported.at(-1))) ?? [];
    const approved = await yard(["approvals", "approve", approvalId], env);
    assert.equal(approved.code, 0, `${approved.stderr} ${JSON.stringify(reported)}`);
    const ended = await reportedBy(runId);
    assert.equal(ended.at(-1)?.name, "finished", JSON.stringify(ended));
  }
  assert.equal((await calls()).match(/^approved at last$/gm)?.length, runs.length);
});

/** Until the call is in work at its provider. */
const isDispatched = ({ name }: Reported): boolean => name === "tool-requested";

for (const [kind, nameOf] of [
  ["run", (runId: string) => `me~${runId}`],
  ["agent", () => "waiter"],
  ["server", () => "counting"],
] as const)
  test(`yard revoke ${kind} cancels a call in flight at an MCP server, and --lift takes it back`, async () => {
    const runId = `hang-${kind}`;
    await start("waiter", runId);
    await reportedBy(runId, isDispatched);
    await inWork();
    const target = ["revoke", kind, nameOf(runId)];
    const revoked = await yard([...target, "--reason", "it misbehaves"], env);
    assert.equal(revoked.code, 0, revoked.stderr);
    assert.match(revoked.stderr, /is revoked: its calls are denied, those in flight are cancelled/);
    const reported = await reportedBy(
      runId,
      ({ name }) => name === "tool-failed" || TERMINAL.has(name),
    );
    const failed = reported.at(-1);
    assert.equal(failed?.name, "tool-failed", JSON.stringify(reported));
    assert.equal(failed.payload["code"], "stopped");
    assert.match(String(failed.payload["message"]), /while this one was in work: it misbehaves/);
    const lifted = await yard([...target, "--lift"], env);
    assert.equal(lifted.code, 0, lifted.stderr);
  });

const { skip } = await testSandbox();
test(
  "yard revoke run ends a command of the toolbox in flight, with its processes",
  { skip },
  async () => {
    await start("sleeper", "sleep-1");
    await until(() => sleepers() > 0);
    const { code, stderr } = await yard(["revoke", "run", "me~sleep-1"], env);
    assert.equal(code, 0, stderr);
    const reported = await reportedBy(
      "sleep-1",
      ({ name }) => name === "tool-failed" || TERMINAL.has(name),
    );
    assert.equal(reported.at(-1)?.payload["code"], "stopped", JSON.stringify(reported.at(-1)));
    await until(sleepers, (count) => count === 0);
  },
);

test("yard policy keys names the key that signs, and yard revoke key cancels calls with its tokens", async () => {
  await start("waiter", "hang-key");
  await reportedBy("hang-key", isDispatched);
  await inWork();
  const listed = await yard(["policy", "keys", "--json"], env);
  const { data } = JSON.parse(listed.stdout) as { data: { keys: { kid: string; use: string }[] } }; // as the contract says
  const [signing] = data.keys;
  assert.equal(signing?.use, "signs");
  assert.match((await yard(["policy", "keys"], env)).stdout, new RegExp(`${signing.kid} +signs`));

  const revoked = await yard(["revoke", "key", signing.kid], env);
  assert.equal(revoked.code, 0, revoked.stderr);
  const reported = await reportedBy(
    "hang-key",
    ({ name }) => name === "tool-failed" || TERMINAL.has(name),
  );
  assert.equal(reported.at(-1)?.payload["code"], "stopped", JSON.stringify(reported.at(-1)));
  assert.match((await yard(["policy", "keys"], env)).stdout, new RegExp(`${signing.kid} +revoked`));

  const rotated = await yard(["keys", "rotate", "--dir", join(stateDir, "keys")], env);
  assert.equal(rotated.code, 0, rotated.stderr);
  await until(
    async () => {
      const { stdout } = await yard(["policy", "keys", "--json"], env);
      return (JSON.parse(stdout) as { data: { keys: { kid: string }[] } }).data.keys[0]?.kid; // as the contract says
    },
    (newest) => newest !== undefined && newest !== signing.kid,
  );
  const ran = await yard(["run", "helper", "x"], env);
  assert.match(ran.stderr, /may not start agent helper/, "a token is minted again, for others");
  const works = await yard(["run", "looker", "x"], env);
  assert.equal(works.code, 0, works.stderr);
});

/** Until a server works on a call. */
async function inWork(): Promise<void> {
  await until(async () => {
    const metrics = await dev.metricsOf("broker");
    return /^yard_mcp_calls_in_flight\{[^}]*\} [1-9]/m.test(metrics);
  });
}

/** Counts the processes of the command on this machine. */
function sleepers(): number {
  return readdirSync("/proc").filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0").includes("31415.9265");
    } catch {
      return false; // it has just ended
    }
  }).length;
}
