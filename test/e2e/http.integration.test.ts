import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
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
const [rest = ""] = document.split("\n## Protocols\n");
const examples = [...rest.matchAll(/```sh\n(.*?)```/gs)].map(([, text = ""]) => text);

test("every example for REST of docs/http.md works as it is written, and its run is the same one over NATS", async () => {
  const answers: string[] = [];
  for (const example of examples) {
    const { stdout } = await run("sh", ["-ec", example], { env, timeout: 120_000 });
    answers.push(stdout);
  }
  const [me, key, started, events, shown] = answers;
  const { may, ...user } = JSON.parse(me ?? "") as { may: string[] };
  assert.deepEqual(user, { caller: "cli", roles: ["admin"], credential: "laptop" });
  assert.ok(may.includes("POST /runs"));
  assert.match(key ?? "", /"key":"yk_/);
  assert.deepEqual(JSON.parse(started ?? ""), { runId: "cli~order-4711", sequence: 1 });
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

test("an admin over HTTP changes what admins change, whatever the name, and an operator does not", async () => {
  const { key: boss } = (await send("/keys", { body: { caller: "boss", roles: ["admin"] } })) as {
    key: string;
  };
  const { key: worker } = (await send("/keys", {
    body: { caller: "worker", roles: ["operator"] },
  })) as { key: string };
  const server = { id: "extra", command: "true", autoConnect: false };
  const skill = "---\nname: of-the-boss\ndescription: Says hello.\n---\n\nSay hello.\n";
  const skills = [{ directory: "of-the-boss", files: [{ path: "SKILL.md", text: skill }] }];
  const changes = [
    { path: "/mcp/servers", body: server },
    { path: "/mcp/servers/files/refresh", body: {} },
    { path: "/skills", body: { label: "a test", skills } },
  ];
  for (const { path, body } of changes) {
    const refused = (await send(path, { key: worker, body })) as { code: string };
    assert.match(refused.code, /^forbidden/, path);
    const done = (await send(path, { key: boss, body })) as { code?: string };
    assert.equal(done.code, undefined, `${path}: ${JSON.stringify(done)}`);
  }
});

/** A request as a client of the older systems sends it, with the status and the body of the answer. */
async function asked(method: string, path: string, body?: unknown) {
  const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

test("a server is added, changed, disconnected, connected and removed, and its tools are listed, under both paths [A48-A54] [C11-C17] [X10]", async () => {
  const program = "${YARD_HOME}/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
  for (const { top, own, tools } of [
    { top: "/mcp/servers", own: "/mcp/servers/added", tools: "/mcp/tools/everything" },
    { top: "/mcp", own: "/mcp/added", tools: "/mcp/everything/tools" },
  ]) {
    const server = { id: "added", name: "Added", transport: "stdio", command: process.execPath };
    assert.equal((await asked("POST", top, { ...server, args: [program] })).status, 201);
    const shown = (answer: Awaited<ReturnType<typeof asked>>) => {
      const { name, status } = answer.json["server"] as { name: string; status: string };
      return [answer.status, name, status];
    };
    const connected = await asked("POST", `${own}/connect`);
    assert.deepEqual(shown(connected), [200, "Added", "connected"]);
    const changed = await asked("PUT", own, { name: "Renamed" });
    assert.deepEqual(shown(changed), [200, "Renamed", "connected"]);
    // A list has the tools that the policy allows the caller.
    for (const path of [tools, "/mcp/tools"]) {
      const listed = (await asked("GET", path)).json["tools"] as { name: string }[];
      const others = listed.filter(({ name }) => !name.startsWith("mcp__everything__"));
      assert.ok(listed.length > others.length, path);
      assert.equal(others.length > 0, path === "/mcp/tools", path);
    }
    const { servers } = (await asked("GET", top)).json as { servers: { id: string }[] };
    assert.ok(servers.some(({ id }) => id === "added"));
    const away = await asked("POST", `${own}/disconnect`);
    assert.deepEqual(shown(away), [200, "Renamed", "disconnected"]);
    assert.equal((await asked("PATCH", "/mcp/servers/added", { name: "Again" })).status, 200);
    assert.deepEqual((await asked("DELETE", own)).json, { removed: true, server: "added" });
    assert.equal((await asked("DELETE", own)).json["code"], "NOT_FOUND");
  }
});

test("a client of OpenClaw's importer lists skills, reads instructions and imports, with its codes [B28]", async () => {
  const { skills } = (await asked("GET", "/openclaw/skills")).json as {
    skills: { name: string }[];
  };
  assert.ok(skills.some(({ name }) => name === "summarise-files"));
  const read = await asked("GET", "/openclaw/skills/openclaw-skill-summarise-files/instructions");
  const { body } = (await asked("GET", "/skills/summarise-files")).json["skill"] as {
    body: string;
  };
  assert.deepEqual([read.status, read.json["text"]], [200, body]);
  const counts = async (path: string, given: object) => {
    const { status, json } = await asked("POST", path, given);
    return [status, (json["skills"] as { loaded: number } | undefined)?.loaded ?? json["code"]];
  };
  const path = "skills/summarise-files/SKILL.md";
  assert.deepEqual(await counts("/openclaw/import", { path }), [201, 1]);
  const many = { dirPath: "skills" };
  assert.deepEqual(await counts("/openclaw/import-directory", many), [201, 1]);
  const none = { dirPath: "nowhere" };
  assert.deepEqual(await counts("/openclaw/import-directory", none), [400, "IMPORT_ERROR"]);
  const upload = await send("/skills", {
    body: {
      label: "to be removed",
      skills: [
        {
          directory: "gone-soon",
          files: [{ path: "SKILL.md", text: "---\nname: gone-soon\ndescription: x\n---\nx" }],
        },
      ],
    },
  });
  assert.ok(upload);
  const own = "/openclaw/skills/openclaw-skill-gone-soon";
  assert.equal((await asked("DELETE", own)).status, 200);
  assert.equal((await asked("DELETE", own)).json["code"], "NOT_FOUND");
});

test("the command line makes, shows, exchanges and ends API keys", async () => {
  const yard = async (...args: string[]) => {
    const cli = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));
    const environment = { ...process.env, YARD_STATE_DIR: dev.stateDir };
    const { stdout } = await run(process.execPath, [cli, "keys", "api", ...args], {
      env: environment,
    });
    return stdout;
  };
  const made = await yard("create", "ada", "--role", "viewer", "--note", "of a test");
  assert.match(made, /^yk_[\w-]{43}\n$/);
  const key = made.trim();
  assert.equal(((await send("/me", { key })) as { caller: string }).caller, "ada");
  const { data } = JSON.parse(await yard("list", "--json")) as {
    data: { keys: { id: string; caller: string }[] };
  };
  const { id } = data.keys.find(({ caller }) => caller === "ada") ?? assert.fail("not listed");
  const table = await yard("list");
  assert.match(table, /ada +viewer +all/);
  assert.equal(table.includes(key), false);
  const next = (await yard("rotate", id, "--overlap", "600")).trim();
  for (const good of [key, next])
    assert.equal(((await send("/me", { key: good })) as { caller: string }).caller, "ada");
  await yard("revoke", id);
  assert.equal(((await send("/me", { key })) as { code: string }).code, "unauthenticated");
  await assert.rejects(yard("revoke", "nope"), { code: 2 });
  await assert.rejects(yard("create", "runner"), /the name of a service/);
});

test("only an admin reads, checks and exports the audit over HTTP", async () => {
  type Page = { records: { kind: string; seq: number; at: string }[]; cursor: string | null };
  const page = async (query: string) => (await send(`/audit?${query}`)) as Page;
  const newest = await page("kind=decision&limit=2&user=cli");
  assert.deepEqual(
    newest.records.map(({ kind }) => kind),
    ["decision", "decision"],
  );
  assert.ok((newest.records[0]?.at ?? "") >= (newest.records[1]?.at ?? ""));
  const allOf = async (query: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    let at = "";
    for (let pages = 0; pages < 1_000; pages += 1) {
      const { records, cursor } = await page(`${query}${at}`);
      found.push(...records);
      if (cursor === null) return found;
      at = `&cursor=${cursor}`;
    }
    return assert.fail("the pages have no end");
  };
  const all = await allOf("limit=7&order=oldest");
  const back = await allOf("limit=11");
  assert.deepEqual(back.toReversed().slice(0, all.length), all);
  const report = (await send("/audit/verify")) as { isIntact: boolean; proven: number };
  assert.deepEqual([report.isIntact, report.proven > 0], [true, true]);
  const authorization = `Bearer ${token}`;
  const exported = await fetch(`${dev.httpUrl}/api/v1/audit/export`, {
    headers: { authorization },
  });
  const lines = (await exported.text()).trimEnd().split("\n");
  assert.deepEqual(
    lines.slice(0, all.length).map((line) => JSON.parse(line) as unknown),
    all,
  );
  const made = await send("/keys", { body: { caller: "ops", roles: ["operator", "approver"] } });
  const { key } = made as { key: string };
  for (const path of ["/audit", "/audit/verify", "/audit/export"])
    assert.equal(((await send(path, { key })) as { code: string }).code, "forbidden", path);
});

test("any caller sees which services answer and how long the queues are", async () => {
  const made = await send("/keys", { body: { caller: "guest", roles: ["viewer"] } });
  const { services, streams } = (await send("/system", { key: (made as { key: string }).key })) as {
    services: { name: string }[];
    streams: { name: string; queues: { name: string; waiting: number }[] }[];
  };
  for (const name of ["policy", "broker", "runner", "importer", "toolbox", "gateway"])
    assert.ok(
      services.some((service) => service.name === name),
      name,
    );
  const commands = streams.find(({ name }) => name === "YARD_COMMANDS");
  assert.ok(commands?.queues.some(({ waiting }) => waiting === 0));
  assert.ok(streams.some(({ name }) => name === "YARD_AUDIT"));
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
