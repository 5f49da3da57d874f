import assert from "node:assert/strict";
import { test } from "node:test";
import { Client as ClientV2, InMemoryTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as TransportV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { clientDefinition } from "./client-definition.ts";
import { readListedTool } from "./listed-tool.ts";

type Json = Record<string, unknown>;

const object = (members: Json): Json => ({ type: "object", ...members });
const property = (schema: unknown): Json => object({ properties: { p: schema } });

/** Schemas that an SDK refuses, or with which it cannot compile the schema of an output, and the equal one that clients get. */
const SCHEMAS: readonly (readonly [Json, Json])[] = [
  [property(true), property({})],
  [property(false), property({ not: {} })],
  [property("x"), property({})],
  [property(null), property({})],
  [object({ properties: null }), object({})],
  [object({ properties: [] }), object({})],
  [object({ required: null }), object({})],
  [object({ required: "p" }), object({})],
  [object({ required: ["p", 1] }), object({})],
  [object({ $schema: 1 }), object({})],
  [object({ title: 5, description: null }), object({})],
  [object({ additionalProperties: null }), object({})],
  [object({ additionalProperties: false }), object({ additionalProperties: false })],
  [object({ $defs: { a: true }, anyOf: null }), object({ $defs: { a: {} } })],
  [property({ type: "array", items: true }), property({ type: "array", items: {} })],
  [property({ type: "text" }), property({})],
  [property({ enum: [] }), property({})],
  [property({ required: true, type: "string" }), property({ type: "string" })],
  [property({ pattern: "(" }), property({})],
  [property({ minLength: "3" }), property({})],
  [property({ $ref: "#/definitions/none" }), property({})],
  [property({ $ref: "https://example.com/schema" }), property({})],
  [property({ nullable: true }), property({})],
  [
    property({ type: "number", minimum: 1, exclusiveMinimum: true }),
    property({ type: "number", exclusiveMinimum: 1 }),
  ],
  [
    property({ const: null, default: null, "x-own": null }),
    property({ const: null, default: null, "x-own": null }),
  ],
];

function shownOf(raw: Json) {
  const read = readListedTool(raw, 0);
  if ("problem" in read) throw new Error(read.problem);
  const { inputSchema, rest, notes } = clientDefinition(read.tool);
  return { tool: { name: read.tool.name, ...rest, inputSchema }, notes };
}

/** An MCP server that lists these tools, for the official client of each major version. */
function serve(
  transport: { onmessage?: unknown; send(message: never): Promise<void> },
  tools: unknown,
) {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is not an EventTarget
  transport.onmessage = ({ id, method }: { id?: number; method?: string }) => {
    if (id === undefined) return;
    const hello = { protocolVersion: "2025-11-25", serverInfo: { name: "s", version: "1" } };
    const result = method === "initialize" ? { ...hello, capabilities: { tools: {} } } : { tools };
    void transport.send({ jsonrpc: "2.0", id, result } as never); // a message as the protocol has it
  };
}

async function listWithBoth(tools: readonly unknown[]): Promise<string[][]> {
  const clientInfo = { name: "test", version: "1" };
  const [v1, ofServer1] = TransportV1.createLinkedPair();
  serve(ofServer1, tools);
  const client1 = new ClientV1(clientInfo);
  await client1.connect(v1);
  const [v2, ofServer2] = TransportV2.createLinkedPair();
  serve(ofServer2, tools);
  const client2 = new ClientV2(clientInfo);
  await client2.connect(v2);
  const lists = [await client1.listTools(), await client2.listTools()];
  await client1.close();
  await client2.close();
  return lists.map((list) => list.tools.map(({ name }) => name));
}

test("schemas that clients refuse get an equal form, and both official SDKs list every tool", async () => {
  const shown = SCHEMAS.flatMap(([sent, wanted], n) => {
    const asInput = shownOf({ name: `in${n}`, inputSchema: sent });
    const asOutput = shownOf({ name: `out${n}`, inputSchema: object({}), outputSchema: sent });
    assert.deepEqual(asInput.tool.inputSchema, wanted, JSON.stringify(sent));
    assert.deepEqual((asOutput.tool as Json)["outputSchema"], wanted, JSON.stringify(sent));
    const isChanged = JSON.stringify(sent) !== JSON.stringify(wanted);
    assert.equal(asInput.notes.length > 0, isChanged, JSON.stringify(sent));
    return [asInput.tool, asOutput.tool];
  });
  const names = shown.map(({ name }) => name);
  assert.deepEqual(await listWithBoth(shown), [names, names]);
});

test("members of a definition with a wrong type are left out with a note, and the others are kept", async () => {
  const { tool, notes } = shownOf({
    name: "odd",
    title: 5,
    inputSchema: { type: ["object", "null"] },
    annotations: { readOnlyHint: true, destructiveHint: "no", own: 1 },
    icons: [{ src: "https://example.com/i.png" }, { src: 1 }],
    execution: { taskSupport: "sometimes" },
    _meta: null,
    securitySchemes: [{ type: "noauth" }],
  });
  assert.deepEqual(tool, {
    name: "odd",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true, own: 1 },
    icons: [{ src: "https://example.com/i.png" }],
    execution: {},
    securitySchemes: [{ type: "noauth" }],
  });
  assert.deepEqual(
    notes.map(({ where }) => where),
    ["/title", "/annotations/destructiveHint", "/icons", "/execution/taskSupport", "/_meta"],
  );
  assert.deepEqual(await listWithBoth([tool]), [["odd"], ["odd"]]);
});
