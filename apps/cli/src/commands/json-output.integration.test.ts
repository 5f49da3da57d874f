import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { commandOf, jsonProblem, OUTPUTS } from "../../test-fixtures/json-output/json-output.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import {
  yard,
  yardDev,
  yardEnvironment,
  yardStarted,
  type YardStarted,
} from "../../test-fixtures/yard-process.ts";
import type { YardResult } from "../../test-fixtures/yard-result.ts";
import { HOME } from "../locations.ts";

// Every command once with --json, on one instance. `yard` holds what each prints against its schema.

/** Commands for which this instance has no objects. */
const TRIED_ELSEWHERE: Readonly<Record<string, string>> = {
  "runs redrive": "runs-control.integration.test.ts",
  "mcp login": "mcp-servers.integration.test.ts",
  "mcp resources subscribe": "mcp-features.integration.test.ts",
};

const base = tempDirectory();
const project = join(base, "project");
const env = {
  ...yardEnvironment(join(base, "state")),
  HOME: base,
  XDG_CONFIG_HOME: join(base, "config"),
};
for (const part of ["agents", "skills", "mcp-servers.json"])
  cpSync(join(HOME, "examples", part), join(project, part), { recursive: true });

const plan = (name: string, text: string): string =>
  `---\nname: ${name}\ndescription: Follows a plan.\nmodel: scripted/plan\nplan:\n${text}\n---\n`;
write("project/agents/quick.md", plan("quick", "  answer: Done."));
write(
  "project/agents/sleeper.md",
  plan(
    "sleeper",
    "  steps:\n    - calls: [{ tool: wait, with: { seconds: 600 }, as: w }]\n  answer: Done.",
  ),
);
write(
  "project/agents/asker.md",
  plan(
    "asker",
    "  steps:\n    - calls: [{ tool: ask_user, with: { question: Which? }, as: said }]\n  answer: Done.",
  ),
);
// Its rules are at the end of the list.
const rules = readFileSync(join(HOME, "examples/policies/demo.yaml"), "utf8");
const policy = write(
  "project/policy.yaml",
  `${rules}
  - id: cli-looks-and-is-asked
    effect: allow
    approval: auto
    who: { users: [cli] }
    what:
      tools: [mcp__everything__trigger-elicitation-request]
      resources: ["everything.*"]
      prompts: ["everything.*"]
      elicitation: [everything]
      logging: [everything]
`,
);

const config = { token: "${BOT_TOKEN}", apiRoot: "http://127.0.0.1:9" };
const telegram = { away: { caller: "cli", agent: "quick", config } };
const loopback = { default: { caller: "cli", callers: ["*"] } };
write("project/channels.json", JSON.stringify({ accounts: { telegram, loopback } }));

const dev = yardDev(["--json", "--project", project, "--workspace", HOME], env);
before(() => dev.printed("switchyard ready"));

const tried = new Set<string>();

async function printed(...words: string[]): Promise<YardResult> {
  const ended = await yard([...words, "--json"], env, base);
  if (ended.stdout !== "") tried.add(commandOf(words) ?? "");
  return ended;
}

/** Runs a command that reads a secret from standard input, and prints nothing of it. */
async function stored(...words: string[]): Promise<void> {
  const { code, stdout, stderr } = await yard([...words, "--json"], env, base, "canary-5150");
  assert.equal(code, 0, stderr);
  assert.ok(!`${stdout}${stderr}`.includes("canary-5150"));
  tried.add(commandOf(words) ?? "");
}

async function ok(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await printed(...words);
  assert.equal(code, 0, `yard ${words.join(" ")}: ${stderr}`);
  assert.notEqual(stdout, "", `yard ${words.join(" ")} printed nothing`);
  return stdout;
}

async function data<Data>(...words: string[]): Promise<Data> {
  return JSON.parse(await ok(...words)).data as Data; // the schema of the command
}

/** Checks all whole lines of a command that runs until it is stopped. */
function checkStarted(words: readonly string[], started: YardStarted): void {
  const printedYet = started.stdout();
  const lines = printedYet.slice(0, printedYet.lastIndexOf("\n") + 1);
  assert.notEqual(lines, "");
  assert.equal(jsonProblem(words, { code: 0, stdout: lines, stderr: "" }), null, words.join(" "));
  tried.add(commandOf(words) ?? "");
}

function write(path: string, text: string): string {
  const file = join(base, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

test("runs: started, followed, steered, resumed, retried, replayed and asked", async () => {
  const recording = join(base, "recording.json");
  await ok("run", "quick", "hi", "--record", recording);
  await ok("runs", "replay", recording);
  const { runId } = await data<{ runId: string }>("run", "quick", "hi", "--no-wait");
  await ok("runs", "tail", runId, "--wait", "60");
  await ok("runs", "events", runId);
  await ok("runs", "show", runId);
  await ok("runs", "list");
  await ok("runs", "totals");
  await ok("runs", "dead");
  await ok("runs", "fork", runId, "--step", "1");
  await ok("skills", "run", "summarise-files", "--agent", "quick");

  const limited = await data<{ runId: string }>(
    "run",
    "demo",
    "hi",
    "--max-steps",
    "1",
    "--on-limit",
    "pause",
    "--no-wait",
  );
  await isWaiting(limited.runId);
  await ok("runs", "resume", limited.runId, "--max-steps", "2");
  await isWaiting(limited.runId);
  await ok("runs", "cancel", limited.runId);
  assert.equal((await printed("runs", "tail", limited.runId)).code, 1);
  await ok("runs", "retry", limited.runId, "--max-steps", "50", "--timeout", "60");
  const { runId: forgotten } = await data<{ runId: string }>("run", "sleeper", "x", "--no-wait");
  await isWaiting(forgotten);
  await ok("runs", "cancel", forgotten);
  assert.equal((await printed("runs", "tail", forgotten)).code, 1);
  await ok("runs", "delete", forgotten, "--yes");

  const sleeping = await data<{ runId: string }>("run", "sleeper", "hi", "--no-wait");
  await isWaiting(sleeping.runId);
  await ok("runs", "steer", sleeping.runId, "hurry");
  await data("run", "asker", "hi", "--no-wait");
  const { questions } = await until(
    () => data<{ questions: { callId: string }[] }>("runs", "questions"),
    (listed) => listed.questions.length > 0,
  );
  await ok("runs", "answer", questions[0]?.callId ?? "", "this one");
  await ok("demo");
});

async function isWaiting(runId: string): Promise<void> {
  await until(async () => {
    const { code, stdout } = await printed("runs", "show", runId);
    // No runner may have claimed it yet.
    return code === 0 && JSON.parse(stdout).data.run.status === "waiting";
  });
}

test("conversations: the chat, sessions, schedules and channels", async () => {
  await ok("chat", "--agent", "quick", "-m", "hello");
  await ok("sessions", "send", "talk", "hello", "--agent", "quick");
  await data("sessions", "send", "talk", "and now?", "--no-wait");
  for (const line of ["/help", "/agents", "/skills", "/skills summarise-files", "/agent demo"])
    await data("sessions", "send", "talk", line);
  await data("sessions", "list");
  await data("sessions", "show", "talk", "--tools");
  // A session whose run is at work is not reset.
  await until(
    () =>
      data<{ session: { messages: number; activeRun: string | null } }>("sessions", "show", "talk"),
    ({ session }) => session.messages >= 4 && session.activeRun === null,
  );
  await data("sessions", "set", "talk", "--label", "Talk");
  await data("sessions", "reset", "talk", "--yes");
  await data("sessions", "delete", "talk", "--yes");

  const message = ["--agent", "quick", "--message", "What is new?"];
  await data("schedules", "add", "report", "--cron", "0 7 * * 1-5", ...message);
  await data(
    "schedules",
    "add",
    "plants",
    "--every",
    "1d",
    "--agent",
    "quick",
    "--text",
    "Water the plants.",
  );
  await data("schedules", "list");
  await data("schedules", "edit", "report", "--cron", "30 6 * * 1-5");
  await data("schedules", "run", "report");
  await data("schedules", "pause", "report");
  await data("schedules", "resume", "report");
  await data("schedules", "show", "report");
  await until(
    () => data<{ entries: unknown[] }>("schedules", "history", "report"),
    ({ entries }) => entries.length > 0,
  );
  await data("schedules", "remove", "report");

  await data("channels", "add", "telegram/main", "--project", project, "--agent", "quick");
  const login = ["channels", "login", "telegram/away", "--json"];
  const refused = await yard(login, env, base, "123456:not-a-token");
  assert.match(refused.stdout, /"isStored": false/);
  tried.add("channels login");
  await data("channels", "link");
  await data("channels", "links");
  const unlinked = await yard(["channels", "unlink", "lnk-0123456789abcdef", "--json"], env, base);
  assert.equal(unlinked.code, 3, unlinked.stderr);
  tried.add("channels unlink");
  await data("channels", "list");
  await data("channels", "check", "loopback/default");
  const tail = yardStarted(["channels", "tail", "--json"], env);
  await tail.printed("waiting for messages");
  await data("channels", "send", "loopback", "user:ann", "Dinner is ready.");
  await tail.printed("Dinner is ready.");
  tail.kill("SIGINT");
  assert.equal(await tail.exited, 130);
  checkStarted(["channels", "tail"], tail);
});

test("webhooks: made, shown, sent again and removed, and the hooks of hooks.json", async () => {
  const { webhook } = await data<{ webhook: { id: string } }>(
    "webhooks",
    "add",
    "http://127.0.0.1:9/",
    "--event",
    "run.finished",
  );
  await data("webhooks", "list");
  await data("webhooks", "edit", webhook.id, "--event", "run.*");
  await data("webhooks", "deliveries", webhook.id);
  await data("webhooks", "redeliver", webhook.id);
  await data("webhooks", "remove", webhook.id, "--yes");
  assert.equal((await printed("webhooks", "deliveries", webhook.id)).code, 3);
  await data("webhooks", "hooks");
});

test("MCP servers: their life, what they offer and what they ask", async () => {
  await data("mcp", "add", "walk", "--url", "http://127.0.0.1:9/mcp");
  await data("mcp", "add-json", "walk-2", '{"url":"http://127.0.0.1:9/mcp","autoConnect":false}');
  await data("mcp", "update", "walk", '{"name":"Nobody"}');
  await data("mcp", "disable", "walk");
  await data("mcp", "enable", "walk");
  assert.equal((await printed("mcp", "connect", "walk")).code, 1);
  await printed("mcp", "check");
  await data("mcp", "disconnect", "walk");
  await data("mcp", "get", "walk");
  await data("mcp", "logout", "walk");
  await data("mcp", "remove", "walk");
  await stored("mcp", "secret", "set", "walk-token");
  await data("mcp", "secret", "list");
  await data("mcp", "secret", "delete", "walk-token");
  await data("mcp", "list");
  await data("mcp", "logs", "files");
  await data("mcp", "reset", "files");
  await data("mcp", "refresh", "everything");

  const file = write("cursor.json", '{"mcpServers":{"there":{"url":"http://127.0.0.1:9/mcp"}}}');
  await data("mcp", "import", "--client", "cursor", "--file", file);
  await data("mcp", "export", "--client", "cursor", "--file", file, "--print");
  await data("mcp", "export", "--client", "cursor", "--file", file);

  await data("mcp", "tools", "everything", "--findings");
  await data("mcp", "tools", "--all");
  await data("mcp", "call", "everything", "echo", '{"message":"hi"}');
  assert.equal((await printed("mcp", "cancel", "everything", "none")).code, 1);
  await data("mcp", "pins", "list", "everything");
  await data("mcp", "pins", "block", "everything", "echo");
  await data("mcp", "pins", "diff", "everything", "echo");
  await data("mcp", "pins", "approve", "everything", "echo");
  await data("mcp", "resources", "list", "everything");
  await data("mcp", "resources", "templates", "everything");
  const uri = "demo://resource/static/document/features.md";
  await data("mcp", "resources", "read", "everything", uri);
  await data("mcp", "prompts", "list", "everything");
  await data("mcp", "prompts", "get", "everything", "args-prompt", "--arg", "city=Bern");
  await data(
    "mcp",
    "prompts",
    "complete",
    "everything",
    "completable-prompt",
    "department",
    "--value",
    "En",
  );
  await data("mcp", "messages", "everything", "--level", "warning");

  const asking = printed(
    "mcp",
    "call",
    "everything",
    "trigger-elicitation-request",
    "--timeout",
    "60",
  );
  const { questions } = await until(
    () => data<{ questions: { id: string }[] }>("mcp", "questions", "list"),
    (listed) => listed.questions.length > 0,
  );
  await data("mcp", "questions", "answer", questions[0]?.id ?? "", "--decline");
  await asking;
  await data("tools", "list");
  await data("tools", "list", "--all");
  await data("tools", "call", "read_file", '{"path":"README.md"}');
  assert.equal((await printed("tools", "cancel", "none")).code, 1);
});

test("the policy, approvals and the audit", async () => {
  const tool = "files.read_text_file";
  await data("policy", "explain", tool, '{"path":"README.md"}');
  await data("policy", "check", tool, '{"path":"README.md"}');
  await data("policy", "rules");
  await data("policy", "who-can", tool);
  await data("policy", "test", policy);
  await data("policy", "test");
  await printed("policy", "lint", policy);
  await data("policy", "export", "cedar", policy);
  const permit = 'permit (principal, action == Action::"files.read", resource);';
  const cedar = write("policies.cedar", permit);
  await data("policy", "import", "cedar", cedar);
  const changed = write(
    "changed.yaml",
    `${readFileSync(policy, "utf8")}
  - { id: nobody, effect: deny, who: { users: [nobody] }, what: { tools: ["*"] } }
`,
  );
  await data("policy", "activate", changed, "--note", "one rule more");
  await data("policy", "rollback");
  await data("policy", "versions");
  await data("policy", "keys");
  await printed("policy", "replay", "--since", "1h");
  await data("policy", "stop", "--agent", "nobody", "--reason", "a test");
  await data("policy", "stops");
  await data("policy", "resume", "--agent", "nobody");
  await data("revoke", "agent", "nobody", "--reason", "a test");
  await data("revoke", "agent", "nobody", "--lift");
  // One key id of 64 begins with a hyphen.
  await data("revoke", "key", "-k2", "--reason", "a test");
  await data("revoke", "key", "-k2", "--lift");
  const { code, stderr } = await printed("revoke", "key", "--liftt");
  assert.deepEqual([code, /unknown option --liftt/.test(stderr)], [2, true], stderr);

  const first = await waitingCall();
  await ok("approvals", "watch", "--once");
  await data("approvals", "show", first);
  await data("approvals", "approve", first, "--session");
  const { grants } = await data<{ grants: { id: string }[] }>("grants", "list");
  await data("grants", "revoke", grants[0]?.id ?? "");
  await data("approvals", "deny", await waitingCall(), "--reason", "not now");
  await data("approvals", "cancel", await waitingCall());

  await ok("audit", "tail", "--once");
  await ok("audit", "export", "--since", "1h");
  await data("audit", "verify");
  await data("audit", "keys");
});

/** The approval that a call waits for. */
async function waitingCall(): Promise<string> {
  const args = '{"name":"a","content":"x"}';
  assert.equal((await printed("tools", "call", "memory_write", args)).code, 5);
  const { approvals } = await data<{ approvals: { id: string }[] }>("approvals", "list");
  return approvals[0]?.id ?? "";
}

test("agents and skills, and their versions", async () => {
  const agent = write("else/agents/walker.md", plan("walker", "  answer: One."));
  await ok("agents", "scan", agent);
  await ok("agents", "import", agent);
  write("else/agents/walker.md", plan("walker", "  answer: Two."));
  await ok("agents", "import", agent);
  await data("agents", "tools", "demo");
  await data("agents", "versions", "walker");
  await data("agents", "diff", "walker");
  await data("agents", "rollback", "walker");
  await data("agents", "list");
  await data("agents", "show", "walker");
  await data("agents", "validate", agent);
  await data("agents", "use", "walker");
  await data("agents", "remove", "walker");

  const skill = (body: string): string =>
    `---\nname: walk\ndescription: Walks through a folder. Use when somebody wants to walk.\n---\n${body}\n`;
  const folder = dirname(write("else/skills/walk/SKILL.md", skill("Walk.")));
  await ok("skills", "scan", folder);
  await ok("skills", "validate", folder);
  await ok("skills", "import", folder);
  write("else/skills/walk/SKILL.md", skill("Walk on."));
  await ok("skills", "import", folder);
  await data("skills", "versions", "walk");
  await data("skills", "diff", "walk");
  await data("skills", "rollback", "walk");
  await data("skills", "show", "walk");
  await data("skills", "show", "walk", "--file", "SKILL.md");
  await data("skills", "render", "walk", "here");
  await data("skills", "match", "walk", "a", "folder");
  await data("skills", "manifest");
  await data("skills", "list");
  await data("skills", "list", "--budget");
  await data("skills", "check", join(project, "skills"));
  await data("skills", "remove", "walk");
  const hidden = String.fromCodePoint(0xe0041, 0xe0042, 0xe0043);
  const odd = skill(`Walk.${hidden}`).replace("name: walk", "name: odd");
  await printed("skills", "import", dirname(write("else/skills/odd/SKILL.md", odd)));
  await data("skills", "withheld");
  await data("skills", "trust", "odd", "--reason", "looked at");
});

test("the installation, its keys and the command line itself", async () => {
  await data("init", join(base, "made"), "--template", "team");
  await printed("doctor");
  await data("status");
  await data("services");
  await ok("logs", "--tail", "50");
  await data("streams", "list");
  await data("streams", "ensure");
  const keys = join(base, "keys");
  await data("keys", "init", "--dir", keys);
  await data("keys", "rotate", "--dir", keys);

  const made = await data<{ key: string; info: { id: string } }>("keys", "api", "create", "walker");
  await data("keys", "api", "list");
  const { info } = await data<{ info: { id: string } }>("keys", "api", "rotate", made.info.id);
  const [, gateway = ""] = /"httpUrl":"([^"]+)"/.exec(dev.stdout()) ?? [];
  const file = write("walker.key", made.key);
  await data("login", gateway, "--name", "office", "--key-file", file);
  await data("logout", "office");
  await data("keys", "api", "revoke", info.id);

  await data("context", "add", "work", "--nats", "nats://nats.example.com:4222");
  await data("context", "add", "far", "--http", "https://example.com", "--key-file", file);
  await data("context", "list");
  await data("context", "use", "local");
  await data("context", "remove", "work");
  await data("config", "set", "color", "never");
  await data("config", "get", "color");
  await data("config", "list");
  await data("completion", "bash");
  await data("help", "policy");
  await data("version");
  checkStarted(["dev"], dev);
});

test("a failure is one JSON document at the end of stderr, whatever failed", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  after(() => silent.close());
  const { port } = silent.address() as AddressInfo; // it listens on TCP
  await data("mcp", "add", "silent", "--url", `http://127.0.0.1:${port}/mcp`);
  for (const [code, ...words] of [
    [2, "runs", "list", "--bogus"],
    [2, "runs"],
    [2, "nonsense"],
    [2, "sessions", "delete", "talk"],
    [2, "chat"],
    [3, "runs", "show", "01M82K2WQ5AF7SG9E33ST6442Z"],
    [3, "acp", "--agent", "nobody"],
    [4, "mcp", "call", "files", "write_file", '{"path":"x","content":"y"}'],
    [7, "mcp", "connect", "silent", "--timeout", "1"],
  ] as const) {
    const ended = await printed(...words);
    assert.deepEqual([ended.code, ended.stdout], [code, ""], `${words.join(" ")}: ${ended.stderr}`);
  }
  const elsewhere = { ...env, YARD_STATE_DIR: join(base, "nothing-runs-here") };
  assert.equal((await yard(["runs", "list", "--json"], elsewhere)).code, 6);
});

test("every command was tried with --json", () => {
  for (const path of Object.keys(TRIED_ELSEWHERE)) assert.ok(path in OUTPUTS, path);
  assert.deepEqual(
    Object.keys(OUTPUTS).filter((path) => !tried.has(path) && !(path in TRIED_ELSEWHERE)),
    [],
  );
});
