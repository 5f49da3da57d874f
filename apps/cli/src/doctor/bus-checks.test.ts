import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerInfo } from "@switchyard/contracts/mcp-servers";
import { mcpCheck } from "./bus-checks.ts";

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
