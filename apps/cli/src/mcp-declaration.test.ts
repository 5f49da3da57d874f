import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "./cli-error.ts";
import { notConnected } from "./commands/mcp-servers.ts";
import { adoptionNotes, jsonDeclaration, optionDeclaration } from "./mcp-declaration.ts";

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
    { "editor.a": 1, mcp: { inputs: [], servers: { theirs: entry } } },
    { context_servers: { theirs: entry } },
    { theirs: entry },
    { mcpServers: { other: { url: "https://a/mcp" }, a: entry } },
    {
      servers: [
        { id: "b", url: "https://a/mcp" },
        { id: "a", ...entry },
      ],
    },
    { id: "a", ...entry },
  ])
    assert.deepEqual(jsonDeclaration("a", JSON.stringify(value)), { id: "a", ...entry });
  assert.deepEqual(jsonDeclaration(null, '{"cwd":null}'), { cwd: null });
});

test("reads what README files show: comments, trailing commas and a piece of a file [E1]", () => {
  const entry = { id: "a", command: "npx", args: ["x"] };
  for (const text of [
    '{\n  // put your key here\n  "mcpServers": {"x": {"command": "npx", "args": ["x",],},},\n}',
    '"mcpServers": {"x": {"command": "npx", "args": ["x"]}}',
    '"x": {"command": "npx", "args": ["x"]},',
  ])
    assert.deepEqual(jsonDeclaration("a", text), entry, text);
});

test("makes an id of a name with spaces and capitals, keeps the name and reports it [CR2]", () => {
  const named = { id: "brave-search", name: "Brave Search" };
  const text = '{"mcpServers":{"Brave Search":{"command":"a"},"b":{"command":"b"}}}';
  assert.deepEqual(jsonDeclaration("Brave Search", text), { ...named, command: "a" });
  assert.deepEqual(jsonDeclaration("brave-search", text), { id: "brave-search", command: "a" });
  assert.deepEqual(optionDeclaration("Brave Search", { command: ["a"] }), {
    ...named,
    command: "a",
    args: [],
  });
  assert.deepEqual(adoptionNotes("Brave Search"), ['"Brave Search" has the id brave-search here']);
  assert.deepEqual(adoptionNotes("brave-search", { scope: "run" }), []);
  assert.throws(() => optionDeclaration("技能", { command: ["a"] }), /no id can be made/);
});

test("takes the flags of other clients, and an address in the place of a command", () => {
  const url = "https://mcp.example.com/mcp";
  assert.deepEqual(optionDeclaration("a", { command: [url], transport: "http", scope: "user" }), {
    id: "a",
    transport: "http",
    url,
  });
  assert.match(adoptionNotes("a", { scope: "user" }).join(), /--scope user has no meaning here/);
  assert.equal(optionDeclaration("a", { command: ["x"], scope: "run" })["scope"], "run");
  assert.throws(() => optionDeclaration("a", { command: [url, "x"] }), /takes no arguments/);
});

test("names the place where a text is not JSON", () => {
  assert.throws(
    () => jsonDeclaration("a", '{\n  "command": "npx"\n  "args": []\n}'),
    /this is not JSON: line 3, column 3: expected a comma/,
  );
});

test("refuses JSON that names no server, several, or another one", () => {
  for (const text of [
    "{",
    "7",
    "[]",
    '{"mcpServers":{}}',
    '{"mcpServers":{"c":{},"b":{}}}',
    '{"id":"b"}',
  ])
    assert.throws(
      () => jsonDeclaration("a", text),
      (error) => error instanceof CliError && error.code === "usage",
    );
});

test("a disabled server is not a failure of a check, any other that is not connected is", () => {
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
