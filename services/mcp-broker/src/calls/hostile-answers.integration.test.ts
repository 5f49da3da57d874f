import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Rpc } from "@switchyard/contracts/define";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import {
  completeArgument,
  getPrompt,
  readResource,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import type { z } from "zod";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { MALFORMED_ANSWER } from "../normalise/message-reader.ts";

const world = await testWorld();
const broker = await world.startBroker({
  servers: [fixtureServer("parrot", ["parrot-server.ts"])],
});
await broker.until("parrot", ({ status }) => status === "connected");

const say = (...lines: string[]) => broker.call("parrot", { tool: "say", args: { lines } });
/** Returns the result of a call that is answered with these lines. */
const endOf = (...lines: string[]): Promise<unknown> =>
  say(...lines).then(
    () => "a result",
    (error: unknown) => error,
  );
const fine = `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"fine"}]}}`;
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

test("an answer that is none ends its call at once, as the server's failure", async () => {
  const malformed = [
    [`"result":{"content":[]},"error":{"code":1,"message":"both"}`, MALFORMED_ANSWER],
    [`"other":1`, MALFORMED_ANSWER],
    [`"error":"no object"`, "no object"],
    [`"error":{"code":"QUOTA","message":"used up"}`, "used up (QUOTA)"],
  ];
  for (const [members, reason] of malformed) {
    const error = await endOf(`{"jsonrpc":"2.0","id":$id,${members}}`);
    assert.ok(isError(error, callTool, "tool_failed"), members);
    assert.equal(error.data.reason, reason);
  }
  const plain = await say(`{"jsonrpc":"2.0","id":$id,"result":"no object"}`);
  assert.equal(plain.text, "no object");
  const { text } = await say(`{"jsonrpc":"2.0","id":$id,"error":null,"result":{"content":[]}}`);
  assert.equal(text, "");
});

test("a result that is nested too deeply to be written is an answer, and opens no circuit", async () => {
  const deep = `{"jsonrpc":"2.0","id":$id,"result":{"content":[],"structuredContent":{"a":${nested(20_000)}}}}`;
  for (let count = 0; count < 6; count += 1) {
    const error = await endOf(deep);
    assert.ok(isError(error, callTool, "tool_failed"));
    assert.match(error.message, /nested too deeply/);
  }
  assert.equal(broker.info("parrot").circuit, "closed");
});

test("however deeply a tool, a resource, a prompt or a completion is nested, its answer is a result or an error that names the nesting", async () => {
  const ask = <R extends Rpc>(contract: R, request: z.input<R["request"]>): Promise<unknown> =>
    call(world.cli, contract, request, { tokens: { server: "parrot" } as never }); // the one token of each
  const ref = (name: string) => ({ ref: { type: "prompt", name } as const });
  for (const depth of [
    100, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 10_000, 20_000,
  ]) {
    const name = `deep:${depth}`;
    const ends = await Promise.allSettled([
      say(
        `{"jsonrpc":"2.0","id":$id,"result":{"content":[],"structuredContent":{"a":${nested(depth)}}}}`,
      ),
      ask(readResource, { uri: name }),
      ask(getPrompt, { name, args: {} }),
      ask(completeArgument, { ...ref(name), argument: { name: "a", value: "" }, args: {} }),
    ]);
    for (const end of ends) {
      if (end.status === "fulfilled") continue;
      assert.ok(depth > 1_000, `${depth}: ${String(end.reason)}`);
      assert.match(String(end.reason), /nested too deeply/, String(depth));
    }
    if (depth === 20_000) assert.ok(ends.every(({ status }) => status === "rejected"));
  }
  assert.doesNotMatch(broker.logText(), /"level":"error"/);
});

test("a result in the form of 2024-10-07 reaches the caller", async () => {
  const { text, content } = await say(`{"jsonrpc":"2.0","id":$id,"result":{"toolResult":{"a":1}}}`);
  assert.equal(text, '{"a":1}');
  assert.deepEqual(content, [{ type: "text", text: '{"a":1}' }]);
});

test("two lines of a server that cannot be serialised do not end the broker", async () => {
  const note = `{"jsonrpc":"2.0","method":"notifications/note"}`;
  const stray = `{"jsonrpc":"2.0","id":4711,"result":{"a":${nested(10_000)}}}`;
  assert.equal((await say(note, stray, fine)).text, "fine");
});

test("a list of addresses to open that is not a list is the server's refusal and no fault", async () => {
  for (const elicitations of [`5`, `{}`, `"x"`, `[5]`]) {
    const error = await endOf(
      `{"jsonrpc":"2.0","id":$id,"error":{"code":-32042,"message":"open","data":{"elicitations":${elicitations}}}}`,
    );
    assert.ok(isError(error, callTool, "tool_failed"), elicitations);
  }
  assert.doesNotMatch(broker.logText(), /"level":"error"/);
});

test("an answer that is no JSON, or that names no request, ends its call at once", async () => {
  for (const [line, reason] of [
    [`{"jsonrpc":"2.0","id":$id,"result":{"content":[],"structuredContent":{"a":NaN}}}`, /NaN/],
    [`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`, /^no JSON$/],
  ] as const) {
    const error = await endOf(line);
    assert.ok(isError(error, callTool, "tool_failed"), String(error));
    assert.match(error.data.reason, reason);
  }
  const note = `{"jsonrpc":"2.0","method":"notifications/note","params":null}`;
  assert.equal((await say(`\uFEFF [${note},${fine}]`)).text, "fine");
});

test("an integer beyond 2^53 passes with its digits in both directions, or is refused", async () => {
  const echo = `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":$line}],"structuredContent":{"id":1915883588174806058}}}`;
  const args = { lines: [echo], id: "1915883588174806058" };
  const { text, structuredContent } = await broker.call("parrot", { tool: "say", args });
  assert.match(text, /"id":1915883588174806058\b/);
  assert.deepEqual(structuredContent, { id: "1915883588174806058" });
  const rounded = { lines: [], id: 1_915_883_588_174_806_000 };
  const error = await broker.call("parrot", { tool: "say", args: rounded }).catch((end) => end);
  assert.ok(isError(error, callTool, "invalid_arguments"), String(error));
  assert.deepEqual(
    error.data.problems.map(({ pointer }) => pointer),
    ["/id"],
  );
});

test("the answer of a server that ends without the end of its line reaches the caller", async () => {
  const { connectedAt } = broker.info("parrot");
  assert.equal((await say(`${fine}$exit`)).text, "fine");
  await broker.until("parrot", (info) => ![null, connectedAt].includes(info.connectedAt));
});

test("a call that ends with its connection reports why that ended", async () => {
  const error = await endOf("$long");
  assert.ok(isError(error, callTool, "outcome_unknown"), String(error));
  assert.match(error.message, /a message exceeds the limit of 10485760 bytes/);
});
