import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import {
  getPrompt,
  listPrompts,
  listResources,
  readResource,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { mutationsOf } from "../../test-fixtures/mutations.ts";
import { oddServer } from "../../test-fixtures/odd-server.ts";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const rpc = (members: object) => ({ jsonrpc: "2.0", id: "$id", ...members });
const refusal = (message: string, more: object = {}) => ({
  jsonrpc: "2.0",
  id: "$id",
  error: { code: -32_602, message },
  ...more,
});
const text = (value: string) => [{ type: "text", text: value }];
const resultEvent = `id: 1\nevent: message\ndata: {"jsonrpc":"2.0","id":"$id","error":null,\ndata: "result":{"content":[{"type":"text","text":"streamed","_meta":null}]}}`;

/** Tools whose answers have odd members, and the text that a caller gets. */
const answered = {
  error_null: [rpc({ error: null, result: { content: text("a") }, took: 5 }), "a"],
  is_error_null: [rpc({ result: { content: text("b"), isError: null } }), "b"],
  annotations_null: [rpc({ result: { content: [{ ...text("c")[0], annotations: null }] } }), "c"],
  not_an_object: [rpc({ result: "d" }), "d"],
  long_integer: [
    `{"jsonrpc":"2.0","id":"$id","result":{"content":[{"type":"text","text":"e"}],"structuredContent":{"id":1915883588174806058}}}`,
    "e",
  ],
} as const;
/** Tools that the server refuses in its answer, and its message. */
const refused = {
  status_400: [{ status: 400, body: refusal("no such city") }, "no such city"],
  status_404: [{ status: 404, body: refusal("no such tool") }, "no such tool"],
  status_422: [{ status: 422, body: refusal("half a city") }, "half a city"],
  status_500: [{ status: 500, body: refusal("out of cities", { id: null }) }, "out of cities"],
  error_text: [{ body: rpc({ error: "quota is used up" }) }, "quota is used up"],
  not_a_number: [
    { body: `{"jsonrpc":"2.0","id":"$id","result":{"a":NaN}}` },
    /not JSON: it has NaN/,
  ],
  junk: [{ body: "Service temporarily unavailable" }, /not a JSON-RPC response/],
} as const;
/** Every tenth change of one member of a result, as the tools `mutated_0`, `mutated_1`, … of a server over HTTP and one over stdio. */
const mutated = [
  ...mutationsOf({
    content: [
      ...text("first"),
      { type: "image", data: "AA==", mimeType: "image/png", annotations: { priority: 1 } },
      ...text("last"),
    ],
    structuredContent: { a: [1] },
    isError: false,
    _meta: { own: 1 },
  }),
]
  .filter((_, index) => index % 10 === 1)
  .map(({ value }, index) => [`mutated_${index}`, value] as const);
const script = join(await testDirectory(), "mutated.json");
const page = { tools: mutated.map(([name]) => ({ name, inputSchema: {} })) };
await writeFile(script, JSON.stringify({ pages: [page], results: Object.fromEntries(mutated) }));
const tools = {
  ...Object.fromEntries(mutated.map(([name, result]) => [name, { body: rpc({ result }) }])),
  ...Object.fromEntries(Object.entries(answered).map(([name, [body]]) => [name, { body }])),
  ...Object.fromEntries(Object.entries(refused).map(([name, [answer]]) => [name, answer])),
  streamed: { type: "text/event-stream", body: resultEvent },
  forbidden: {
    status: 403,
    headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="write"' },
    body: "",
  },
};
const nulls = { title: null, description: null, mimeType: null, annotations: null };
const results = {
  "resources/list": { resources: [{ uri: "a:b", name: "b", ...nulls }, 5], nextCursor: null },
  "resources/read": { contents: [{ uri: "a:b", mimeType: null, text: "t", blob: null }] },
  "prompts/list": { prompts: [{ name: "p", arguments: null }, { name: null }], _meta: null },
  "prompts/get": { description: null, messages: [{ role: "user", content: { type: "hologram" } }] },
};
const server = await oddServer({ tools, results });
const mortal = await oddServer();
const polite = await oddServer({
  unknownSession: { body: refusal("Invalid or expired session") },
});
const broker = await world.startBroker({
  servers: [
    { id: "odd", url: server.url },
    { id: "mortal", url: mortal.url },
    { id: "polite", url: polite.url },
    fixtureServer("stdio", ["listing-server.ts", script]),
  ],
});
for (const id of ["odd", "mortal", "polite", "stdio"])
  await broker.until(id, ({ status }) => status === "connected");
const callOf = (tool: string, id = "odd") => broker.call(id, { tool, args: {} });
const failureOf = (tool: string, id = "odd"): Promise<unknown> =>
  callOf(tool, id).then(
    () => "a result",
    (error: unknown) => error,
  );

test("over HTTP an answer with odd members reaches the caller", async () => {
  for (const [tool, [, said]] of Object.entries(answered))
    assert.equal((await callOf(tool)).text, said, tool);
  assert.equal((await callOf("streamed")).text, "streamed");
  const { structuredContent } = await callOf("long_integer");
  assert.deepEqual(structuredContent, { id: "1915883588174806058" });
  assert.match(broker.logText(), /integers beyond 2\^53/);
});

test("a result with one changed member reaches the caller over HTTP and stdio, and the tool ran once", async () => {
  for (const [tool] of mutated)
    for (const id of ["odd", "stdio"]) {
      const reply = await callOf(tool, id);
      assert.ok(Array.isArray(reply.content), `${tool} of ${id}`);
      assert.doesNotMatch(reply.text, /invalid_type|"path":/);
    }
  const names = mutated.map(([name]) => name);
  assert.ok(names.length >= 15);
  assert.deepEqual(
    names.map((name) => server.calls[name]),
    names.map(() => 1),
  );
  assert.deepEqual((await readFile(`${script}.calls`, "utf8")).trim().split("\n"), names);
});

test("a JSON-RPC error is the server's answer, whatever the HTTP status, and opens no circuit", async () => {
  for (const [tool, [, said]] of Object.entries(refused)) {
    const error = await failureOf(tool);
    assert.ok(isError(error, callTool, "tool_failed"), `${tool}: ${String(error)}`);
    if (typeof said === "string") assert.equal(error.data.reason, said);
    else assert.match(error.data.reason, said);
    assert.equal(server.calls[tool], 1, tool);
  }
  assert.equal((await callOf("fine")).text, "fine");
});

test("a refusal for too few scopes is a call that was not made, and opens no circuit", async () => {
  for (let count = 0; count < 6; count += 1) {
    const error = await failureOf("forbidden");
    assert.ok(isError(error, callTool, "server_down"), String(error));
  }
  assert.equal(broker.info("odd").circuit, "closed");
});

test("null members and bad neighbours cost no resource and no prompt", async () => {
  const to = { tokens: { server: "odd" } };
  const { resources } = await call(world.cli, listResources, {}, to);
  assert.deepEqual(resources, [{ uri: "a:b", name: "b" }]);
  const { contents } = await call(world.cli, readResource, { uri: "a:b" }, to);
  assert.deepEqual(contents, [{ uri: "a:b", text: "t" }]);
  const { prompts } = await call(world.cli, listPrompts, {}, to);
  assert.deepEqual(prompts, [{ name: "p" }]);
  const { description, messages } = await call(world.cli, getPrompt, { name: "p", args: {} }, to);
  assert.deepEqual([description, messages[0]?.content], [null, { type: "hologram" }]);
});

test("a call in a session that the server has forgotten is made once, in a new one", async () => {
  assert.equal((await callOf("fine", "mortal")).text, "fine");
  for (const round of [1, 2]) {
    mortal.forget();
    const ends = await Promise.all([callOf("fine", "mortal"), callOf("fine", "mortal")]);
    assert.deepEqual(
      ends.map((end) => end.text),
      ["fine", "fine"],
    );
    assert.equal(mortal.begun(), 1 + round);
    assert.equal(mortal.calls["fine"], 1 + 2 * round);
  }
});

test("a server that answers for a lost session with HTTP 200 gets a new session, and no call twice", async () => {
  polite.forget();
  const error = await failureOf("fine", "polite");
  assert.ok(isError(error, callTool, "tool_failed"), String(error));
  await until(async () => (await failureOf("fine", "polite")) === "a result");
  assert.equal(polite.begun(), 2);
  assert.equal(polite.calls["fine"], 1);
});

test("a call to a server that is gone is not made, and its error states that the broker reconnects", async () => {
  const listener = createServer((request, response) => server.answer(request, response));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" ? address?.port : 0;
  const url = `http://127.0.0.1:${port}/mcp`;
  const other = await world.startBroker({ servers: [{ id: "leaving", url }] });
  await other.until("leaving", ({ status }) => status === "connected");
  listener.closeAllConnections();
  listener.close();
  const error = await other.call("leaving", { tool: "fine", args: {} }).catch((reason) => reason);
  assert.ok(isError(error, callTool, "server_down"), String(error));
  assert.equal(error.data.isReturning, true);
  await other.stop();
});

test("a refused connection renews the session, and a call that is under way in the old one keeps its result", async () => {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isHeld = false;
  const listener = createServer((request, response) => {
    if (isHeld) arrived.resolve();
    void (isHeld ? released.promise : Promise.resolve()).then(() =>
      server.answer(request, response),
    );
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" ? address?.port : 0;
  const url = `http://127.0.0.1:${port}/mcp`;
  const other = await world.startBroker({ servers: [{ id: "full", url }] });
  await other.until("full", ({ status }) => status === "connected");
  isHeld = true;
  const underWay = other.call("full", { tool: "fine", args: {} });
  await arrived.promise;
  listener.close(); // no new connection, while the one of the call stays
  const error = await other.call("full", { tool: "fine", args: {} }).catch((reason) => reason);
  assert.ok(isError(error, callTool, "server_down"), String(error));
  released.resolve();
  assert.equal((await underWay).text, "fine");
  await other.stop();
});
