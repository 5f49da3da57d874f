import assert from "node:assert/strict";
import { test } from "node:test";
import { adoptClientKeys } from "./client-keys.ts";
import { readDeclaration } from "./read-declaration.ts";

const http = { url: "https://a.example/mcp" };
const adopted = (entry: object) => adoptClientKeys({ ...entry });

const reworded: [string, object, object][] = [
  [
    "Cline",
    {
      command: "node",
      args: ["x"],
      disabled: true,
      timeout: 60,
      autoApprove: [],
      transportType: "stdio",
    },
    {
      command: "node",
      args: ["x"],
      enabled: false,
      callTimeoutMs: 60_000,
      transport: "stdio",
    },
  ],
  [
    "Roo Code",
    { type: "streamable-http", ...http, disabled: false, timeout: 3600, disabledTools: ["rm"] },
    {
      type: "streamable-http",
      ...http,
      enabled: true,
      callTimeoutMs: 3_600_000,
      disabledTools: ["rm"],
    },
  ],
  ["Windsurf", { serverUrl: http.url, disabled: false }, { ...http, enabled: true }],
  [
    "Gemini CLI",
    { httpUrl: http.url, timeout: 600_000, includeTools: ["a"], excludeTools: ["b"], trust: false },
    {
      ...http,
      transport: "http",
      callTimeoutMs: 600_000,
      enabledTools: ["a"],
      disabledTools: ["b"],
    },
  ],
  [
    "Copilot",
    { type: "local", command: "x", tools: ["a"] },
    { type: "local", command: "x", enabledTools: ["a"] },
  ],
  [
    "Copilot with all tools",
    { type: "local", command: "x", tools: ["*"] },
    { type: "local", command: "x" },
  ],
  [
    "opencode",
    { type: "local", command: ["npx", "-y", "s"], environment: { A: "b" }, timeout: 5_000 },
    {
      type: "local",
      command: "npx",
      args: ["-y", "s"],
      env: { A: "b" },
      connectTimeoutMs: 5_000,
    },
  ],
  [
    "Cursor",
    { ...http, auth: { CLIENT_ID: "i", CLIENT_SECRET: "${S}", scopes: ["a", "b"] } },
    { ...http, oauth: { clientId: "i", clientSecret: "${S}", scope: "a b" } },
  ],
  ["comments", { command: "x", "//": "why", _note: 1, $schema: "y" }, { command: "x" }],
  [
    "nothing foreign",
    { command: "x", trust: "review", sandbox: { type: "bubblewrap" } },
    { command: "x", trust: "review", sandbox: { type: "bubblewrap" } },
  ],
  [
    "a change that takes fields out",
    { disabled: null, timeout: null, serverUrl: null },
    { enabled: null, callTimeoutMs: null, url: null },
  ],
];
for (const [who, entry, declaration] of reworded) {
  test(`adopts an entry of ${who} with its meaning there [E1]`, () => {
    const read = adopted(entry);
    assert.deepEqual(read, { declaration, warnings: [], problems: [] });
    assert.deepEqual(adoptClientKeys(read.declaration), read, "it is in our words now");
  });
}

const leftOut: [string, object, RegExp][] = [
  ["alwaysAllow", { alwaysAllow: ["rm"] }, /^"alwaysAllow" grants nothing: only the policy/],
  ["autoApprove", { autoApprove: ["rm"] }, /^"autoApprove" grants nothing/],
  ["trust", { trust: true }, /^"trust" grants nothing/],
  ["envFile", { envFile: ".env" }, /^"envFile" is not read; set its variables/],
  ["headersHelper", { headersHelper: "x" }, /^"headersHelper" is not run/],
  ["watchPaths", { watchPaths: ["a"] }, /^"watchPaths" has no meaning here/],
  ["a time without a unit", { timeout: 500 }, /^"timeout" does not say in which unit/],
  ["a time that is none", { timeout: "1m" }, /^"timeout" does not say in which unit/],
  ["an address of a login", { oauth: { callbackPort: 1 } }, /^"oauth.callbackPort" has no effect/],
  ["a variable of a shell", { env: { T: "$TOKEN" } }, /^"env.T" names a variable in a way/],
  ["a variable of opencode", { headers: { A: "Bearer {env:T}" } }, /^"headers.A" names a variable/],
];
for (const [what, entry, warning] of leftOut) {
  test(`warns that ${what} has no effect`, () => {
    const { warnings, problems } = adopted({ command: "x", ...entry });
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", warning);
    assert.deepEqual(problems, []);
  });
}

test("a client's approval setting leaves no trace that could grant anything", () => {
  const entry = { id: "a", command: "x", alwaysAllow: ["*"], autoApprove: ["*"], trust: true };
  const plain = readDeclaration("a", { id: "a", command: "x" }, "file");
  const read = readDeclaration("a", entry, "file");
  assert.deepEqual(read.config, plain.config);
  assert.deepEqual(read.declaration, plain.declaration);
  assert.equal(read.warnings.length, 3);
});

const refused: [string, object, string][] = [
  ["a sandbox of VS Code", { command: "x", sandboxEnabled: true }, "the sandbox of another client"],
  [
    "rules of a sandbox of VS Code",
    { command: "x", sandbox: { network: { allowedDomains: [] } } },
    "the sandbox of another client",
  ],
  [
    "two words that disagree",
    { command: "x", disabled: true, enabled: true },
    '"disabled" and "enabled" disagree',
  ],
  ["two addresses", { ...http, httpUrl: "https://b/mcp" }, '"httpUrl" and "url" disagree'],
  ["a switch that is none", { command: "x", disabled: "no" }, '"disabled": must be true or false'],
  ["no tool at all", { command: "x", tools: [] }, '"enabledTools": is empty'],
  ["a slip of the pen", { command: "x", disabledTool: ["rm"] }, "disabledTool is unknown"],
];
for (const [what, entry, problem] of refused) {
  test(`refuses ${what}: ignoring it would let the server do more than intended`, () => {
    const written = { id: "a", ...entry };
    const read = readDeclaration("a", written, "file");
    assert.equal(read.config, null);
    assert.ok(read.problem?.includes(problem), read.problem ?? "");
    const again = readDeclaration("a", { ...read.declaration, description: "b" }, "api");
    assert.equal(again.config, null, "a change of another field does not take the problem away");
  });
}
