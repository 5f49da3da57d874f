import assert from "node:assert/strict";
import { test } from "node:test";
import { parseServerFile, ServerFileError } from "./server-file.ts";

const parseFile = (document: unknown) =>
  parseServerFile(JSON.stringify(document), "mcp-servers.json");
const parse = (document: unknown) => parseFile(document).entries;
const problemOf = (entry: object): string | null | undefined =>
  parse({ servers: [entry] })[0]?.problem;

const NO_ADDRESS = '"url" must be an http or https address';

test("reads a stdio server with the documented defaults [C4, A6, A22, A27, A29, X7]", () => {
  const [entry] = parse({
    servers: [{ id: "files", command: "node", args: ["a", "${HOME}"], env: { A: "${B}" } }],
  });
  assert.deepEqual(entry, {
    id: "files",
    name: "files",
    transport: "stdio",
    origin: "file",
    declaration: { id: "files", command: "node", args: ["a", "${HOME}"], env: { A: "${B}" } },
    problem: null,
    warnings: [],
    config: {
      id: "files",
      name: "files",
      transport: "stdio",
      enabled: true,
      autoConnect: true,
      connectTimeoutMs: 60_000,
      callTimeoutMs: 30_000,
      maxConcurrency: 16,
      protocolVersion: null,
      validateArguments: "strict",
      queueLimit: 64,
      maxReconnectAttempts: 3,
      maxResultBytes: 4 * 1024 * 1024,
      allowedAgentRoles: null,
      tags: [],
      enabledTools: null,
      disabledTools: [],
      trust: "pin-first-use",
      scope: "shared",
      maxInstances: 16,
      instanceIdleMs: 600_000,
      stateful: null,
      roots: null,
      sampling: { maxTokens: 1_024, perMinute: 20 },
      sandbox: null,
      trusted: false,
      command: "node",
      args: ["a", "${HOME}"],
      env: { A: "${B}" },
      cwd: null,
    },
  });
});

test("reads the format of other MCP clients, with the key as id and the transport inferred [E1, E6, CR4, E3, X4]", () => {
  const entries = parse({
    mcpServers: {
      files: { command: "node" },
      remote: { url: "https://mcp.example.com/mcp", headers: { Authorization: "Bearer ${T}" } },
      typed: { type: "streamable-http", url: "http://127.0.0.1/mcp" },
    },
  });
  assert.deepEqual(
    entries.map(({ id, transport, problem }) => [id, transport, problem]),
    [
      ["files", "stdio", null],
      ["remote", "http", null],
      ["typed", "http", null],
    ],
  );
});

const problems: [string, object, string][] = [
  [
    "a stdio server without command",
    { id: "x", transport: "stdio" },
    'MCP stdio server x missing "command" field',
  ],
  [
    "an http server without url",
    { id: "x", transport: "http" },
    'MCP http server x missing "url" field',
  ],
  [
    "an unknown transport",
    { id: "x", transport: "websocket" },
    "Unsupported MCP transport: websocket",
  ],
  [
    "an SSE server without url",
    { id: "x", transport: "sse", command: "a" },
    'MCP SSE server x missing "url" field',
  ],
  [
    "a login of a process",
    { id: "x", command: "a", oauth: { clientId: "c" } },
    '"oauth" has no meaning for transport stdio',
  ],
  [
    "neither command nor url",
    { id: "x" },
    "must specify at least 'command' (stdio) or 'url' (http)",
  ],
  [
    "a field of the other transport",
    { id: "x", command: "a", url: "http://a", headers: { A: "b" } },
    '"url", "headers" has no meaning for transport stdio',
  ],
  [
    "two names for the transport that disagree",
    { id: "x", command: "a", transport: "stdio", type: "http" },
    '"transport" and "type" disagree; keep one of them',
  ],
  [
    "a number out of its range",
    { id: "x", command: "a", maxConcurrency: 0 },
    '"maxConcurrency": must be at least 1',
  ],
  ["an unknown key", { id: "x", comand: "a" }, "comand is unknown; did you mean command?"],
  ["a url that is none", { id: "x", url: "example.com/mcp" }, NO_ADDRESS],
  ["a url of another kind", { id: "x", url: "ftp://example.com/mcp" }, NO_ADDRESS],
  [
    "a header that has no name",
    { id: "x", url: "https://example.com/mcp", headers: { "X Key": "a" } },
    '"headers": "X Key" is not a name of a header',
  ],
];
for (const [what, entry, problem] of problems) {
  test(`names file, server and problem for ${what} [AR13, C4]`, () => {
    assert.equal(problemOf(entry), `mcp-servers.json: server x: ${problem}`);
  });
}

test("leaves a url with references alone until they are resolved [A31]", () => {
  for (const url of ["${URL}", "https://${HOST}/mcp"])
    assert.equal(parse({ mcpServers: { x: { url } } })[0]?.problem, null);
});

test("accepts the version that other stores of servers write beside the list, and no other [CR5]", () => {
  const servers = [{ id: "a", command: "x" }];
  assert.deepEqual(parse({ version: 1, servers }), parse({ servers }));
  assert.equal(parse({ version: 1, mcpServers: { a: { command: "x" } } })[0]?.problem, null);
  assert.throws(() => parse({ version: 2, servers }), /no other key at the top than "version": 1/);
});

test("suggests an id in place of an unusable one [CR2, X5]", () => {
  assert.equal(
    problemOf({ id: "Brave_Search", command: "a" }),
    'mcp-servers.json: server Brave_Search: id "Brave_Search" must be 1-24 characters of a-z 0-9 -, starting with a letter or digit; rename it, for example to "brave-search"',
  );
});

test("shows every entry under an id of its own and keeps the good ones beside the bad ones [A4]", () => {
  const entries = parse({
    servers: [
      { id: "a", command: "x" },
      { id: "a", command: "y" },
      { id: "Ä Ö" },
      7,
      { command: "z" },
    ],
  });
  assert.deepEqual(
    entries.map(({ id, config, problem }) => [id, config !== null, problem !== null]),
    [
      ["a", true, false],
      ["a-2", false, true],
      ["unnamed", false, true],
      ["4", false, true],
      ["5", false, true],
    ],
  );
});

for (const text of ['{"servers": []}', '{"mcpServers": {}}', '{"servers": {}}']) {
  test(`reads ${text} as a file without servers [E4]`, () => {
    assert.deepEqual(parseServerFile(text, "f.json"), { entries: [], warnings: [] });
  });
}

for (const [what, document] of [
  ["VS Code's mcp.json", { inputs: [], servers: { a: { type: "http", url: "https://a/mcp" } } }],
  ["VS Code's settings", { "a.b": 1, mcp: { servers: { a: { command: "x" } } } }],
  ["opencode's file", { $schema: "x", mcp: { a: { type: "local", command: ["x", "y"] } } }],
] as const) {
  test(`reads ${what}, and warns of the parts that are not read [E1]`, () => {
    const { entries, warnings } = parseFile(document);
    assert.deepEqual(
      entries.map(({ id, problem }) => [id, problem]),
      [["a", null]],
    );
    assert.deepEqual(
      warnings,
      Object.keys(document)
        .filter((key) => ["inputs", "a.b"].includes(key))
        .map((key) => `"${key}" at the top of the file is not read`),
    );
  });
}

test("an agent in the servers' file is not read: agents are files of their own [D20]", () => {
  const { entries, warnings } = parseFile({
    mcpServers: { a: { command: "x" } },
    agents: { helper: { description: "Helps." } },
  });
  assert.deepEqual(
    entries.map(({ id, problem }) => [id, problem]),
    [["a", null]],
  );
  assert.deepEqual(warnings, ['"agents" at the top of the file is not read']);
});

test("derives ids from the names that a client gave its servers, and reports it [CR2, E1]", () => {
  const { entries } = parseFile({
    mcpServers: {
      "Brave Search": { command: "x" },
      brave_search: { command: "y" },
      ok: { command: "z" },
    },
  });
  assert.deepEqual(
    entries.map(({ id, name, warnings, problem }) => [id, name, warnings, problem !== null]),
    [
      ["brave-search", "Brave Search", ['"Brave Search" has the id brave-search here'], false],
      ["brave-search-2", "brave_search", ['"brave_search" has the id brave-search here'], true],
      ["ok", "ok", [], false],
    ],
  );
});

test("reads comments and trailing commas, and names line and column of a syntax error", () => {
  const text = '{ // mine\n  "mcpServers": { "a": { "command": "x", }, },\n}';
  assert.equal(parseServerFile(text, "f.json").entries[0]?.problem, null);
  assert.throws(() => parseServerFile('{\n  "mcpServers": {\n    "a": secret\n  }\n}', "f.json"), {
    message: /^f\.json: not valid JSON: line 3, column 10: expected a value/,
  });
});

for (const text of [
  "{",
  "[]",
  "{}",
  '{"servers": [], "more": 1}',
  '{"servers": {}, "mcpServers": {}}',
  '{"servers": [], "mcpServers": {}}',
  '{"version": 2, "mcpServers": {}}',
]) {
  test(`refuses ${text} as a whole`, () => {
    assert.throws(
      () => parseServerFile(text, "f.json"),
      (error) => error instanceof ServerFileError && error.message.startsWith("f.json: "),
    );
  });
}
