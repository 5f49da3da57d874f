import assert from "node:assert/strict";
import { test } from "node:test";
import { DEMO_PROJECT, HOME } from "../locations.ts";
import { agentToTry, natsCommand, readyBlock, serverText } from "./ready-block.ts";

const server = {
  id: "files",
  name: "Files",
  transport: "stdio" as const,
  status: "connected" as const,
  toolCount: 14,
  serverVersion: null,
  protocolVersion: null,
  lastError: null,
  connectedAt: null,
  origin: "file" as const,
};

const facts = {
  record: {
    owner: { name: "yard", pid: 1, identity: "x" },
    phase: "ready" as const,
    project: DEMO_PROJECT,
    workspace: "/w",
    natsUrl: "nats://127.0.0.1:4222",
    natsMonitorUrl: "http://127.0.0.1:8222",
    redisUrl: "redis://127.0.0.1:6379",
    processes: [{ name: "policy", pid: 2, identity: "y", healthUrl: "http://127.0.0.1:9000" }],
  },
  servers: [server],
  defaultModel: "scripted/plan",
  http: { url: "http://127.0.0.1:8321", token: "yd_secret", tokenFile: "/s/laptop.token" },
  cwd: HOME,
};

test("says where everything is, which model answers, and what to type next", () => {
  const text = readyBlock({ ...facts, agent: "reviewer" }).join("\n");
  for (const part of [
    DEMO_PROJECT,
    "/w",
    "nats://127.0.0.1:4222  (monitoring http://127.0.0.1:8222)",
    "redis://127.0.0.1:6379",
    "http://127.0.0.1:9000/readyz",
    "files connected (14 tools)",
    "curl -H 'Authorization: Bearer yd_secret' http://127.0.0.1:8321/api/v1/agents",
    "scripted/plan — rule-based, no AI",
    "./yard run reviewer ",
    "yard.cmd.me.run.start.reviewer ",
    "./yard mcp tools",
  ]) {
    assert.ok(text.includes(part), part);
  }
  assert.ok(!text.includes("demo"), text);
});

test("recommends an agent of the project, and none where there is none", () => {
  const [project, user, builtIn] = [
    { name: "reviewer", source: "project" as const },
    { name: "mine", source: "user" as const },
    { name: "general", source: "built-in" as const },
  ];
  assert.equal(agentToTry([builtIn, user, project]), "reviewer");
  assert.equal(agentToTry([builtIn, user]), "mine");
  assert.equal(agentToTry([project, { name: "demo", source: "project" }]), "demo");
  assert.equal(agentToTry([builtIn]), null);
  const text = readyBlock({ ...facts, agent: null }).join("\n");
  assert.ok(!text.includes("yard run ") && text.includes("./yard agents list"), text);
});

test("commands are shown with the path to yard from the project, and where to go first", () => {
  const record = { ...facts.record, project: "/srv/their project" };
  const text = readyBlock({ ...facts, record, agent: "reviewer", cwd: "/" }).join("\n");
  assert.match(text, /^ {2}cd '\/srv\/their project'$/m);
  assert.match(text, /^ {2}(?:\S*yard|'.*yard') run reviewer /m);
});

test("a server that is not connected says why", () => {
  const down = { ...server, status: "error" as const, lastError: "command not found: x" };
  assert.equal(serverText(down), "files error: command not found: x");
});

test("what still connects is counted, with the command that shows it [A56]", () => {
  const slow = { ...server, status: "connecting" as const };
  const text = readyBlock({ ...facts, servers: [server, slow, slow], agent: null }).join("\n");
  assert.match(text, /\.\/yard mcp list +# 2 MCP servers still connecting/);
  assert.doesNotMatch(readyBlock({ ...facts, agent: null }).join("\n"), /mcp list/);
});

test("a server that only its first call connects is not called disconnected", () => {
  const lazy = { ...server, status: "disconnected" as const, autoConnect: false };
  assert.equal(serverText(lazy), "files connects at its first call");
  assert.equal(serverText({ ...lazy, lastError: "it ended" }), "files disconnected: it ended");
});

test("the NATS command publishes under the anonymous user, as plain JSON", () => {
  assert.equal(
    natsCommand("nats://127.0.0.1:4222", { agent: "reviewer", question: "hi" }),
    `nats pub -s nats://127.0.0.1:4222 yard.cmd.me.run.start.reviewer '{"input":"hi"}'`,
  );
});
