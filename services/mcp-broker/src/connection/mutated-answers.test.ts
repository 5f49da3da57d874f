import assert from "node:assert/strict";
import { test } from "node:test";
import { isSpecType, type FetchLike } from "@modelcontextprotocol/client";
import { mutationsOf } from "../../test-fixtures/mutations.ts";
import { LoginDocumentError, readingLogin } from "../auth/login-documents.ts";
import { inspectTools } from "../catalogue/inspect-tools.ts";
import { readToolList } from "../catalogue/read-tool-list.ts";
import { noNeighbours } from "../findings/neighbour-findings.ts";
import { MessageReader } from "../normalise/message-reader.ts";

/** Signs of a validator's own report in a text for people. */
const DUMP = /ZodError|invalid_type|invalid_union|"code":|"path":|expected .* received|\[object /i;

const annotations = { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" };
const icons = [{ src: "https://a.example/i.png", mimeType: "image/png", sizes: ["48x48"] }];
const shown = { title: "T", description: "D", icons, _meta: { own: 1 } };
const neighbour = (name: string) => ({ name, ...shown, inputSchema: { type: "object" } });
const text = (value: string) => ({ type: "text", text: value, annotations, _meta: { own: 1 } });

/** A valid result of each method, whose second entry is mutated, and the list that its neighbours are in. */
const RESULTS: readonly [
  method: string,
  result: Record<string, unknown>,
  list: string | null,
  params?: Record<string, unknown>,
][] = [
  [
    "tools/list",
    {
      tools: [
        neighbour("first"),
        {
          ...neighbour("mutated"),
          inputSchema: {
            type: "object",
            properties: { a: { type: "string", enum: ["x"] }, b: { $ref: "#/$defs/c" } },
            required: ["a"],
            $defs: { c: { type: ["integer", "null"], minimum: 1 } },
          },
          outputSchema: { type: "object", properties: { n: { type: "number" } } },
          annotations: { title: "T", readOnlyHint: true, openWorldHint: false },
          execution: { taskSupport: "optional" },
        },
        neighbour("last"),
      ],
      nextCursor: "",
      ttlMs: 5_000,
      _meta: { own: 1 },
    },
    "tools",
  ],
  [
    "resources/list",
    {
      resources: [
        { uri: "a:1", name: "first" },
        { uri: "a:2", name: "mutated", ...shown, mimeType: "text/plain", size: 5, annotations },
        { uri: "a:3", name: "last" },
      ],
      nextCursor: "n",
    },
    "resources",
  ],
  [
    "resources/templates/list",
    {
      resourceTemplates: [
        { uriTemplate: "a:{x}", name: "first" },
        { uriTemplate: "b:{x}", name: "mutated", ...shown, mimeType: "text/plain", annotations },
        { uriTemplate: "c:{x}", name: "last" },
      ],
    },
    "resourceTemplates",
  ],
  [
    "prompts/list",
    {
      prompts: [
        { name: "first" },
        {
          name: "mutated",
          ...shown,
          arguments: [{ name: "a", title: "A", description: "d", required: true }],
        },
        { name: "last" },
      ],
    },
    "prompts",
  ],
  [
    "prompts/get",
    {
      description: "d",
      messages: [
        { role: "user", content: text("first") },
        { role: "assistant", content: { type: "image", data: "AA==", mimeType: "image/png" } },
        { role: "user", content: text("last") },
      ],
    },
    "messages",
    { name: "p" },
  ],
  [
    "resources/read",
    {
      contents: [
        { uri: "a:1", text: "first" },
        { uri: "a:2", blob: "AA==", mimeType: "image/png", _meta: { own: 1 } },
        { uri: "a:3", text: "last" },
      ],
    },
    "contents",
    { uri: "a:1" },
  ],
  [
    "tools/call",
    {
      content: [
        text("first"),
        { type: "resource_link", uri: "a:1", name: "n", ...shown, mimeType: "text/plain", size: 1 },
        { type: "resource", resource: { uri: "a:2", text: "t", mimeType: "text/plain" } },
        text("last"),
      ],
      structuredContent: { a: [1, null, { b: "c" }] },
      isError: false,
      _meta: { own: 1 },
    },
    "content",
    { name: "t" },
  ],
  ["completion/complete", { completion: { values: ["a"], total: 1, hasMore: false } }, null],
  [
    "initialize",
    {
      protocolVersion: "2025-11-25",
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: {},
        logging: {},
        completions: {},
        experimental: { own: {} },
      },
      serverInfo: { name: "n", version: "1", title: "t", icons },
      instructions: "i",
    },
    null,
  ],
];

for (const [method, valid, list, params = {}] of RESULTS)
  test(`a result of ${method} with one changed member costs that member, and not its neighbours`, async () => {
    let count = 0;
    for (const { path, kind, value } of mutationsOf(valid)) {
      count += 1;
      const where = `${path}: ${kind}`;
      const findings: string[] = [];
      const messages = new MessageReader((finding) => findings.push(finding));
      messages.sent({ jsonrpc: "2.0", id: 1, method, params });
      const sent = JSON.stringify({ jsonrpc: "2.0", id: 1, result: value });
      const message: any = messages.read(sent)?.[0]?.message; // oxlint-disable-line typescript/no-explicit-any -- a test reads any shape
      assert.equal(message?.id, 1, `${where}: the request gets an answer`);
      if (message.error !== undefined) {
        findings.push(message.error.message);
        assert.ok(isUnusable(method, path), `${where}: refused: ${message.error.message}`);
      } else await checkResult(method, message.result, { list, path, where, findings });
      for (const finding of findings)
        assert.ok(!DUMP.test(finding) && finding.length < 1_000, `${where}: ${finding}`);
    }
    assert.ok(count > 80, `${count} mutations`);
  });

/** The SDK's own checks. It has none for a tool's result that may have content of an unknown type, which is kept. */
const ACCEPTED: Readonly<Record<string, (result: unknown) => boolean>> = {
  initialize: isSpecType.InitializeResult,
  "resources/list": isSpecType.ListResourcesResult,
  "resources/templates/list": isSpecType.ListResourceTemplatesResult,
  "prompts/list": isSpecType.ListPromptsResult,
  "resources/read": isSpecType.ReadResourceResult,
  "completion/complete": isSpecType.CompleteResult,
};

/** Without the one member that the method is about there is no result; a tool has run, so its result is never refused. */
function isUnusable(method: string, path: string): boolean {
  if (method === "tools/call") return false;
  return /^(?:\/messages|\/contents|\/completion(?:\/values)?|)$/.test(path);
}

async function checkResult(
  method: string,
  result: Record<string, unknown>,
  about: { list: string | null; path: string; where: string; findings: string[] },
): Promise<void> {
  const { list, path, where, findings } = about;
  const isAccepted = ACCEPTED[method]?.(result) ?? true;
  assert.ok(isAccepted, `${where}: the SDK refuses ${JSON.stringify(result).slice(0, 500)}`);
  if (list === null || path === "" || path === `/${list}`) return;
  const entries = result[list];
  assert.ok(Array.isArray(entries), where);
  const kept = JSON.stringify(method === "tools/list" ? await namesOf(entries, findings) : entries);
  const [, ofList, index] = path.split("/");
  const last = method === "tools/call" ? "3" : "2";
  for (const [name, own] of [
    ["first", "0"],
    ["last", last],
  ] as const)
    if (ofList !== list || index !== own) assert.ok(kept.includes(`"${name}"`), where);
}

/** The names of the tools that the catalogue keeps. */
async function namesOf(tools: unknown[], findings: string[]): Promise<string[]> {
  const listing = await readToolList(() => Promise.resolve({ tools }));
  findings.push(...listing.problems);
  const context = { server: "s", identity: {}, neighbours: noNeighbours, approved: [] };
  const inspected = await inspectTools(listing, context);
  return inspected.tools.map(({ name }) => name);
}

const ISSUER = "https://login.example";
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  registration_endpoint: `${ISSUER}/register`,
  jwks_uri: `${ISSUER}/keys`,
  response_types_supported: ["code"],
  code_challenge_methods_supported: ["S256"],
  scopes_supported: ["a"],
};
const form = { "content-type": "application/x-www-form-urlencoded" };

/** The documents of a login, how each is requested, and the members without which there is no login. */
const DOCUMENTS: readonly [
  kind:
    | "OAuthMetadata"
    | "OAuthTokens"
    | "OAuthClientInformationFull"
    | "OAuthProtectedResourceMetadata",
  address: string,
  document: Record<string, unknown>,
  init: RequestInit,
  essential: RegExp,
][] = [
  [
    "OAuthMetadata",
    `${ISSUER}/.well-known/openid-configuration`,
    METADATA,
    {},
    /^(?:|\/issuer|\/authorization_endpoint|\/token_endpoint)$/,
  ],
  [
    "OAuthProtectedResourceMetadata",
    "https://mcp.example/.well-known/oauth-protected-resource",
    {
      resource: "https://mcp.example/mcp",
      authorization_servers: [ISSUER],
      scopes_supported: ["a"],
      bearer_methods_supported: ["header"],
      resource_name: "n",
    },
    {},
    /^$/,
  ],
  [
    "OAuthTokens",
    `${ISSUER}/token`,
    { access_token: "t", token_type: "Bearer", expires_in: 60, scope: "a", refresh_token: "r" },
    { method: "POST", headers: form },
    /^(?:|\/access_token)$/,
  ],
  [
    "OAuthClientInformationFull",
    `${ISSUER}/register`,
    {
      client_id: "c",
      client_secret: "s",
      client_secret_expires_at: 0,
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code"],
      contacts: ["a@b.example"],
    },
    { method: "POST", body: JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] }) },
    /^(?:|\/client_id)$/,
  ],
];

for (const [kind, address, document, init, essential] of DOCUMENTS)
  test(`a document ${kind} with one changed member is accepted, or refused by its name`, async () => {
    for (const { path, kind: change, value } of mutationsOf(document)) {
      const where = `${path}: ${change}`;
      const fetch: FetchLike = () => Promise.resolve(Response.json(value ?? null));
      try {
        const response = await readingLogin(fetch, "https://mcp.example/mcp")(address, init);
        if (!response.ok) continue;
        const read: unknown = await response.json();
        assert.ok(isSpecType[kind](read), `${where}: the SDK refuses ${JSON.stringify(read)}`);
      } catch (error) {
        assert.ok(error instanceof LoginDocumentError, `${where}: ${String(error)}`);
        assert.match(path, essential, `${where}: ${error.message}`);
        assert.ok(!DUMP.test(error.message), `${where}: ${error.message}`);
      }
    }
  });
