import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENT_FORMATS, MCP_CLIENTS, type McpClient } from "./client-formats.ts";
import { declaredServers } from "./declared-servers.ts";

const one = (client: McpClient, entry: unknown) => declaredServers(client, { notes: entry })[0];

test("a server in the format of each client is the same declaration", () => {
  const stdio = { command: "npx", args: ["-y", "notes"], env: { KEY: "${NOTES_KEY}" } };
  const plain = { ...stdio, env: { KEY: "${NOTES_KEY}" } };
  assert.deepEqual(one("claude", { type: "stdio", ...plain })?.declaration, stdio);
  assert.deepEqual(one("codex", plain)?.declaration, stdio);
  const gemini = { ...plain, env: { KEY: "$NOTES_KEY" }, trust: true };
  assert.deepEqual(one("gemini", gemini)?.declaration, stdio);
  const list = ["npx", "-y", "notes"];
  const opencode = { type: "local", command: list, environment: { KEY: "{env:NOTES_KEY}" } };
  assert.deepEqual(one("opencode", opencode)?.declaration, stdio);
  assert.deepEqual(declaredServers("opencode", { servers: { notes: opencode } }).length, 1);
  const cursor = { ...plain, env: { KEY: "${env:NOTES_KEY}" } };
  assert.deepEqual(one("cursor", cursor)?.declaration, stdio);
  assert.deepEqual(one("vscode", { type: "stdio", ...cursor })?.declaration, stdio);
});

test("addresses, headers and what is switched off are taken over", () => {
  const url = "https://example.com/mcp";
  assert.deepEqual(one("codex", { url, bearer_token_env_var: "T" })?.declaration, {
    url,
    headers: { Authorization: "Bearer ${T}" },
  });
  assert.deepEqual(one("gemini", { httpUrl: url })?.declaration, { url });
  assert.deepEqual(one("gemini", { url })?.declaration, { url, transport: "sse" });
  assert.deepEqual(one("opencode", { type: "remote", url, enabled: false })?.declaration, {
    url,
    enabled: false,
  });
});

test("what only the client could resolve, and this installation itself, is left out with the reason", () => {
  const inputs = one("vscode", { url: "https://x", headers: { A: "Bearer ${input:key}" } });
  assert.deepEqual(
    [inputs?.declaration, inputs?.reason],
    [null, "only the client knows ${input:key}"],
  );
  assert.match(one("claude", { type: "http" })?.reason ?? "", /neither a command nor an address/);
  assert.match(one("claude", "canary")?.reason ?? "", /neither/);
  for (const client of MCP_CLIENTS) {
    const own = { switchyard: CLIENT_FORMATS[client].entry("http://127.0.0.1:1/mcp") };
    assert.equal(declaredServers(client, own)[0]?.reason, "it is this installation");
    assert.deepEqual(declaredServers(client, undefined), []);
  }
});
