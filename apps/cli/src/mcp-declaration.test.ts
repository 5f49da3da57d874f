import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "./cli-error.ts";
import { notConnected } from "./commands/mcp-servers.ts";
import { jsonDeclaration, optionDeclaration } from "./mcp-declaration.ts";

test("makes a declaration of options, with nothing in it that was not given [A32]", () => {
  assert.deepEqual(
    optionDeclaration("files", { command: ["npx", "-y", "server"], env: { TOKEN: "${TOKEN}" } }),
    { id: "files", command: "npx", args: ["-y", "server"], env: { TOKEN: "${TOKEN}" } },
  );
  assert.deepEqual(
    optionDeclaration("web", { command: [], url: "https://a/mcp", header: { "X-A": "b" } }),
    { id: "web", url: "https://a/mcp", headers: { "X-A": "b" } },
  );
});

test("reads the format of MCP clients, one entry or a file with one server [E1]", () => {
  const entry = { command: "npx", args: ["x"] };
  for (const value of [
    entry,
    { mcpServers: { "Their Name": entry } },
    { inputs: [], servers: { theirs: entry } },
    { $schema: "x", mcp: { theirs: entry } },
    { id: "a", ...entry },
  ])
    assert.deepEqual(jsonDeclaration("a", JSON.stringify(value)), { id: "a", ...entry });
  assert.deepEqual(jsonDeclaration(null, '{"cwd":null}'), { cwd: null });
});

test("refuses JSON that names no server, several, or another one", () => {
  for (const text of [
    "{",
    "7",
    "[]",
    '{"mcpServers":{}}',
    '{"mcpServers":{"a":{},"b":{}}}',
    '{"id":"b"}',
  ])
    assert.throws(
      () => jsonDeclaration("a", text),
      (error) => error instanceof CliError && error.code === "usage",
    );
});

test("a disabled server is no failure of a check, any other that is not connected is", () => {
  const statuses = ["connected", "disabled", "connecting", "disconnected", "error"] as const;
  const servers = statuses.map((status) => ({
    id: status,
    name: status,
    origin: "file" as const,
    transport: "stdio" as const,
    status,
    toolCount: 0,
    serverVersion: null,
    protocolVersion: null,
    lastError: null,
    connectedAt: null,
  }));
  assert.deepEqual(
    notConnected(servers).map(({ id }) => id),
    ["connecting", "disconnected", "error"],
  );
});
