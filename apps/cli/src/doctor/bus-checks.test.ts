import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { mcpCheck, stopsCheck } from "./bus-checks.ts";

const server = (n: number, status: "connected" | "disabled"): ServerInfo =>
  ServerInfo.parse({
    id: `s${n}`,
    name: `s${n}`,
    transport: "stdio",
    status,
    toolCount: 1,
    serverVersion: null,
    protocolVersion: null,
    lastError: null,
    connectedAt: null,
  });

test("more than ten servers in use are a warning, and disabled ones do not count [A26]", () => {
  const ten = Array.from({ length: 10 }, (_, n) => server(n, "connected"));
  assert.equal(mcpCheck([...ten, server(10, "disabled")], "./yard").status, "ok");
  const { status, summary, fix } = mcpCheck([...ten, server(10, "connected")], "./yard");
  assert.equal(status, "warning");
  assert.match(summary, /^11 servers, more than the recommended 10: s0/);
  assert.match(fix ?? "", /\.\/yard mcp disable NAME/);
});

test("a global stop is reported with who, why and how it ends; another one with its scope", () => {
  const stop = { reason: "suspicious calls", by: "admin", at: "2026-11-24T10:00:00Z" };
  assert.equal(stopsCheck([], "./yard").status, "ok");
  const all = stopsCheck([{ ...stop, scope: { kind: "all" } }], "./yard");
  assert.equal(all.status, "warning");
  assert.match(all.summary, /every call is stopped, by admin at .*: suspicious calls/);
  assert.equal(all.fix, "end it with: ./yard policy resume --all");
  const one = stopsCheck([{ ...stop, scope: { kind: "agent", name: "demo" } }], "./yard");
  assert.match(one.summary, /of agent demo/);
});
