import assert from "node:assert/strict";
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { beginLogin, finishLogin } from "@switchyard/contracts/mcp-broker/mcp-auth";
import * as mcp from "@switchyard/contracts/mcp-broker/mcp-servers";
import { listPins, type PinState, type ToolPin } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { whoCanCall } from "@switchyard/contracts/policy/policy-bundles";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { jsonProblem } from "../../test-fixtures/json-output/json-output.ts";
import { yard, yardEnvironment, yardStarted } from "../../test-fixtures/yard-process.ts";
import { waitForMcpServers } from "../dev/wait-for-mcp-servers.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };

const info = (id: string, more: Partial<mcp.ServerInfo> = {}): mcp.ServerInfo => ({
  id,
  name: id,
  origin: "file",
  transport: "stdio",
  status: "connected",
  toolCount: 3,
  serverVersion: null,
  protocolVersion: null,
  lastError: null,
  connectedAt: null,
  ...more,
});
const down = info("down", { status: "error", toolCount: 0, lastError: "command not found: nope" });
const servers = [info("good"), info("off", { status: "disabled" })];
const asked: unknown[] = [];
const anyone = {
  users: null,
  agents: null,
  roles: null,
  channels: null,
  groups: null,
  conditional: false,
  except: [],
};

const service = serve(await testBus(nats, "broker"), {
  name: "broker",
  version: "0.0.0",
  description: "A registry that remembers what it was asked",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(mcp.listServers, () => ({ servers }));
service.handle(mcp.addServer, (request, { fail }) => {
  asked.push(request.server);
  if (request.server["id"] === "refused")
    throw fail.forbidden_admin("who may is in YARD_ADMINS", {
      caller: "cli",
      setting: "YARD_ADMINS",
    });
  return { server: info(String(request.server["id"]), { status: "connecting" }) };
});
service.handle(mcp.updateServer, (request) => {
  asked.push(request);
  if (request.server === "both") return { server: info("both", { overridesFile: true }) };
  return { server: info(request.server, { warnings: ['"alwaysAllow" grants\u001b nothing'] }) };
});
service.handle(mcp.enableServer, (request) => {
  asked.push(request);
  return { server: info(request.server) };
});
service.handle(mcp.resetServer, ({ server }) => {
  asked.push({ reset: server });
  return { server: info(server) };
});
service.handle(mcp.connectServer, () => ({ server: down }));
service.handle(beginLogin, ({ redirectUri }) => ({
  authorizationUrl: `${redirectUri}?state=s1&code=c1`,
  state: "s1",
  expiresAt: new Date(Date.now() + 60_000).toISOString(),
}));
service.handle(finishLogin, ({ server, code }) => {
  asked.push({ code });
  return { server: info(server) };
});
service.handle(mcp.disconnectServer, () => ({ server: null }));
service.handle(mcp.removeServer, ({ server }) => ({ removed: true as const, server }));
service.handle(mcp.getServer, ({ server }) => ({
  server: info(server, {
    origin: "api",
    ...(server === "both" ? { overridesFile: true } : {}),
    capabilities: { tools: true, resources: false, prompts: true },
  }),
  declaration: { id: server, command: "npx", env: { TOKEN: "${TOKEN}" } },
  updatedAt: "2026-01-01T00:00:00.000Z",
}));
service.handle(mcp.serverLogs, ({ server, tail }) =>
  server === "web"
    ? { lines: [], hasProcess: false }
    : { lines: ["one", "two\u001b[31m"].slice(-tail), hasProcess: true },
);

test("adds a server from a command line, from options and from a client's JSON [A32]", async () => {
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, stderr } = await yard(["mcp", ...args], env);
    assert.equal(code, 0, stderr);
    return asked.pop();
  };
  assert.deepEqual(
    await run("add", "a", "-e", "T=${T}", "--env", "U= x", "--", "npx", "-y", "--url"),
    { id: "a", command: "npx", args: ["-y", "--url"], env: { T: "${T}", U: " x" } },
  );
  assert.deepEqual(
    await run("add", "b", "--url", "http://a/mcp", "--header", "Authorization: Bearer ${T}"),
    { id: "b", url: "http://a/mcp", headers: { Authorization: "Bearer ${T}" } },
  );
  assert.deepEqual(await run("add-json", "c", '{"mcpServers":{"X":{"command":"npx"}}}'), {
    id: "c",
    command: "npx",
  });
  assert.deepEqual(await run("update", "c", '{"cwd":null}'), {
    server: "c",
    changes: { cwd: null },
  });
  assert.deepEqual(await run("disable", "c"), { server: "c", enabled: false });
  assert.deepEqual(await run("enable", "c"), { server: "c", enabled: true });
});

test("adds servers from command lines of other clients and reports what became of them", async () => {
  const added = await yard(
    ["mcp", "add", "-t", "http", "-s", "user", "My Tracker", "https://a/mcp", "-H", "X-Key: ${K}"],
    env,
  );
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(asked.pop(), {
    id: "my-tracker",
    name: "My Tracker",
    transport: "http",
    url: "https://a/mcp",
    headers: { "X-Key": "${K}" },
  });
  assert.match(added.stderr, /"My Tracker" has the id my-tracker here/);
  const bare = await yard(["mcp", "add", "notes", "npx", "-y", "some-server"], env);
  assert.equal(bare.code, 2);
  assert.match(bare.stderr, /write -- in front of the server's command/);
});

test("says after add which rule allows the tools, or that none does, with a rule to paste", async () => {
  const policy = serve(await testBus(nats, "policy"), {
    name: "policy",
    version: "0.0.0",
    description: "Allows the tools of one server",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  const rule = { ...anyone, rule: "people", users: ["cli"], tier: "session" as const };
  policy.handle(whoCanCall, ({ tool }) => ({
    tool,
    policyDigest: `sha256:${"0".repeat(64)}`,
    reach: tool.server === "known" ? [rule] : [],
    deniedBy: [],
    omitted: 0,
  }));
  const known = await yard(["mcp", "add", "known", "--", "npx"], env);
  assert.match(
    known.stderr,
    /rule people lets users cli call the tools of known, after an approval/,
  );
  const unknown = await yard(["mcp", "add", "other", "--", "npx"], env);
  assert.match(unknown.stderr, /no rule of the policy allows all tools of other/);
  assert.match(unknown.stderr, /users: \[cli\].*\n.*tools: \[mcp__other__\*\]/);
  asked.length = 0;
});

test("warns that a change overrides the file, and how to revert it", async () => {
  const changed = await yard(["mcp", "update", "both", "{}"], env);
  assert.match(changed.stderr, /ignored until: \.\/yard mcp reset both/);
  const shown = await yard(["mcp", "get", "both"], env);
  assert.match(
    shown.stdout,
    /its entry in the server file is ignored until: \.\/yard mcp reset both/,
  );
  const reset = await yard(["mcp", "reset", "both"], env);
  assert.equal(reset.code, 0, reset.stderr);
  assert.deepEqual(asked.splice(0).at(-1), { reset: "both" });
});

test("a refusal names the setting and exits 4", async () => {
  const { code, stderr } = await yard(["mcp", "add", "refused", "--", "sh"], env);
  assert.equal(code, 4);
  assert.match(stderr, /YARD_ADMINS/);
});

test("check exits 1 and prints why when an enabled server is not connected", async () => {
  assert.equal((await yard(["mcp", "check"], env)).code, 0);
  servers.push(down);
  const { code, stdout } = await yard(["mcp", "check"], env);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^good: connected, 3 tools\noff: disabled\ndown: error, command not found: nope$/m,
  );
  assert.equal((await yard(["mcp", "check", "good"], env)).code, 0);
  assert.equal((await yard(["mcp", "check", "nobody"], env)).code, 3);
  const json = await yard(["mcp", "check", "down", "--json"], env);
  assert.equal(json.code, 1);
  assert.deepEqual(JSON.parse(json.stdout).data, { ok: false, servers: [down] });
});

test("connects, disconnects and removes, and reports the result [A33, A35, A36]", async () => {
  const connect = await yard(["mcp", "connect", "down"], env);
  assert.equal(connect.code, 1);
  assert.match(connect.stderr, /down: error, command not found: nope/);
  const disconnect = await yard(["mcp", "disconnect", "nobody"], env);
  assert.equal(disconnect.code, 0);
  assert.match(disconnect.stderr, /nothing to disconnect/);
  const remove = await yard(["mcp", "remove", "down"], env);
  assert.equal(remove.code, 0);
  assert.match(remove.stderr, /down is removed/);
});

test("mcp login --json prints the address as a line of JSON, and the server as the next one", async () => {
  const words = ["mcp", "login", "web", "--json"];
  const login = yardStarted(words, env);
  await login.printed('"type":"address"');
  const [address = ""] = login.stdout().split("\n");
  // An authorization server would send the browser there when the person has agreed.
  const page = await fetch(JSON.parse(address).authorizationUrl);
  assert.equal(page.status, 200);
  const code = await login.exited;
  assert.equal(code, 0, login.output());
  assert.deepEqual(asked.pop(), { code: "c1" });
  assert.match(login.stdout(), /\n.*"type":"login".*\n$/);
  const ended = { code, stdout: login.stdout(), stderr: "" };
  assert.equal(jsonProblem(words, ended), null);
});

test("shows a declaration and the last lines of stderr, without control characters", async () => {
  const get = await yard(["mcp", "get", "a"], env);
  assert.equal(get.code, 0, get.stderr);
  assert.match(get.stdout, /^offers +tools, prompts$/m);
  assert.match(get.stdout, /^origin +changed by a command 2026/m);
  assert.match(get.stdout, /^env +\{"TOKEN":"\$\{TOKEN\}"\}$/m);
  const logs = await yard(["mcp", "logs", "a", "--tail", "1"], env);
  assert.equal(logs.code, 0, logs.stderr);
  assert.match(logs.stdout, /^two/);
  assert.ok(!logs.stdout.includes("\u001b"));
});

test("a server over HTTP has no stderr, which is said in place of silence", async () => {
  const { code, stdout, stderr } = await yard(["mcp", "logs", "web"], env);
  assert.deepEqual([code, stdout], [0, ""]);
  assert.match(
    stderr,
    /web is reached over HTTP: .* has no stderr here; .* \.\/yard mcp messages web/,
  );
});

test("what of a pasted entry counts for nothing is a warning", async () => {
  const { code, stderr } = await yard(["mcp", "update", "c", '{"alwaysAllow":["a"]}'], env);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^warning: "alwaysAllow" grants\\x1b nothing$/m);
  assert.match(stderr, /c is updated/);
});

test("a start does not wait for a server that only its first call connects", async () => {
  const lazy = info("lazy", { status: "disconnected", autoConnect: false });
  servers.push(lazy);
  const { signal } = new AbortController();
  const settled = await waitForMcpServers(await testBus(nats, "cli"), {
    timeoutMs: 600_000,
    signal,
  });
  assert.deepEqual(settled.at(-1), lazy);
  servers.pop();
});

test("mcp import adds the servers of another client, one by one, and lists what is left out", async () => {
  const file = join(directory, "mcp.json");
  writeFileSync(
    file,
    `{ // mine
  "servers": {
    "My Notes": { "type": "stdio", "command": "npx", "env": { "KEY": "\${env:NOTES}" } },
    "refused": { "type": "http", "url": "https://example.com/mcp" },
    "private": { "type": "http", "url": "https://x", "headers": { "A": "\${input:key}" } },
  } }`,
  );
  const words = ["mcp", "import", "--client", "vscode", "--file", file];
  const before = asked.length;
  const dry = await yard([...words, "--dry-run"], env);
  assert.deepEqual([dry.code, asked.length], [0, before], dry.stderr);
  assert.match(dry.stdout, /^My Notes: would be added\nrefused: would be added\nprivate: left out/);
  const { code, stdout } = await yard(words, env);
  assert.equal(code, 1);
  assert.match(stdout, /^My Notes: added, as my-notes\nrefused: failed, .*YARD_ADMINS/);
  assert.deepEqual(asked[before], {
    id: "my-notes",
    name: "My Notes",
    command: "npx",
    env: { KEY: "${NOTES}" },
  });
  const unknown = await yard(["mcp", "import", "nobody", ...words.slice(2)], env);
  assert.deepEqual([unknown.code, asked.length], [3, before + 2]);
  const absent = await yard([...words.slice(0, 4), "--file", `${file}.nope`], env);
  assert.equal(absent.code, 3);
  assert.match(absent.stderr, /VS Code has no file .*mcp\.json\.nope/);
});

test("mcp export keeps the file before byte for byte, its rights and a link to it, and changes nothing twice", async () => {
  const [file, link] = [join(directory, "config.toml"), join(directory, "link.toml")];
  const before = '# mine\nmodel = "x"\n';
  writeFileSync(file, before, { mode: 0o640 });
  symlinkSync(file, link);
  const words = ["mcp", "export", "--client", "codex", "--file", link, "--url", "http://h/mcp"];
  const printed = await yard([...words, "--print"], env);
  assert.equal(readFileSync(file, "utf8"), before);
  assert.equal((await yard(words, env)).code, 0);
  assert.equal(readFileSync(file, "utf8"), printed.stdout);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(lstatSync(file).mode & 0o777, 0o640);
  assert.equal(readFileSync(`${file}.before-yard`, "utf8"), before);
  const again = JSON.parse((await yard([...words, "--json"], env)).stdout).data;
  assert.deepEqual([again.isChanged, again.backup], [false, null]);
  const next = await yard([...words.slice(0, -1), "http://other/mcp"], env);
  assert.match(next.stderr, /as it was before: .*config\.toml\.before-yard-2/);
  const nowhere = await yard(words.slice(0, -2), yardEnvironment(directory));
  assert.equal(nowhere.code, 6);
  assert.match(nowhere.stderr, /name the address with --url/);
});

test("mcp tools --all has what the policy says of each tool", async () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const at = "2026-01-02T03:04:05.000Z";
  const pin = (tool: string, state: PinState): ToolPin => ({
    server: "good",
    tool,
    name: `mcp__good__${tool}`,
    state,
    digest,
    approvedDigest: null,
    findings: [],
    firstSeenAt: at,
    seenAt: at,
    approvedBy: null,
    approvedAt: null,
    blockedBy: null,
  });
  service.handle(listPins, ({ after }) =>
    after === undefined
      ? { pins: [pin("read", "approved")], more: true }
      : { pins: [pin("write", "pending")], more: false },
  );
  const judge = serve(await testBus(nats, "policy"), {
    name: "policy",
    version: "0.0.0",
    description: "Allows what reads",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  const allowed = { effect: "allow", rule: "reads", reason: "rule reads allows it" } as const;
  const denied = { effect: "deny", rule: null, reason: "no rule allows it" } as const;
  judge.handle(explainPolicy, ({ user, tool }) => ({
    decision: { ...(tool.tool === "read" ? allowed : denied), policyDigest: digest },
    principal: { user, agent: null, runId: null },
    tool,
    considered: [],
    omitted: 0,
    nearest: null,
  }));
  const { code, stdout } = await yard(["mcp", "tools", "good", "--all"], env);
  assert.equal(code, 0);
  assert.match(stdout, /^TOOL +DEFINITION +POLICY +RULE +WHY\n/);
  assert.match(stdout, /\nmcp__good__read +approved +allow +reads +rule reads allows it\n/);
  assert.match(stdout, /\nmcp__good__write +pending +deny +– +no rule allows it\n/);
});
