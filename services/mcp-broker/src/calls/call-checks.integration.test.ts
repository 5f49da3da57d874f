import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { testDirectory } from "@switchyard/testing/test-servers";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const directory = await testDirectory();
const file = join(directory, "checked.json");

const number = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const result = (structuredContent: unknown, more: object = {}) => ({
  content: [{ type: "text", text: "the text of it" }],
  structuredContent,
  ...more,
});
await writeFile(
  file,
  JSON.stringify({
    pages: [
      {
        tools: [
          {
            name: "login",
            inputSchema: {
              type: "object",
              properties: { user: { type: "string" }, password: { type: "string", minLength: 12 } },
              required: ["user"],
              additionalProperties: false,
            },
          },
          { name: "echo", inputSchema: number },
          { name: "right", inputSchema: { type: "object" }, outputSchema: number },
          { name: "wrong", inputSchema: { type: "object" }, outputSchema: number },
          { name: "missing", inputSchema: { type: "object" }, outputSchema: number },
          { name: "failing", inputSchema: { type: "object" }, outputSchema: number },
          {
            name: "hostile",
            inputSchema: { type: "object" },
            outputSchema: { type: "object", properties: { a: { pattern: "^(a+)+$" } } },
          },
        ],
      },
    ],
    results: {
      right: result({ n: 1 }),
      wrong: result({ n: "one" }),
      missing: { content: [{ type: "text", text: "the text of it" }] },
      failing: result(undefined, { isError: true }),
      hostile: result({ a: `${"a".repeat(5_000)}!` }),
    },
  }),
);
const broker = await world.startBroker({
  servers: [
    fixtureServer("checked", ["listing-server.ts", file]),
    fixtureServer("coercing", ["listing-server.ts", file], { validateArguments: "coerce" }),
    fixtureServer("unchecked", ["listing-server.ts", file], { validateArguments: "off" }),
  ],
});
const ask = (tool: string, args: Record<string, unknown> = {}, callId?: string) =>
  broker.call("checked", { tool, args, ...(callId === undefined ? {} : { callId }) });

test("does not send arguments that do not fit the schema, and repeats no value", async () => {
  const canary = "hunter2";
  for (const [args, pointer] of [
    [{ user: "ann", password: canary }, "/password"],
    [{ password: canary.repeat(3) }, "/user"],
    [{ user: "ann", extra: canary }, "/extra"],
  ] as const)
    await assert.rejects(ask("login", args), (error) => {
      assert.ok(isError(error, callTool, "invalid_arguments"));
      assert.equal(error.data.problems[0]?.pointer, pointer);
      assert.ok(!JSON.stringify([error.message, error.data]).includes(canary));
      return true;
    });
  assert.ok(!broker.logText().includes(canary));
  await assert.rejects(readFile(`${file}.calls`), /ENOENT/);
});

test("a server's entry decides whether arguments of a wrong type are refused, converted or sent as they are", async () => {
  const echo = (server: string, n: unknown) => broker.call(server, { tool: "echo", args: { n } });
  const isRefused = (error: unknown) => isError(error, callTool, "invalid_arguments");
  await assert.rejects(echo("checked", "3"), isRefused);
  assert.equal((await echo("coercing", "3")).text, '{"n":3}');
  await assert.rejects(echo("coercing", "three"), isRefused);
  assert.equal((await echo("unchecked", "three")).text, '{"n":"three"}');
});

test("frees the callId of a call whose arguments do not fit", async () => {
  await assert.rejects(ask("login", {}, "freed"), (error) =>
    isError(error, callTool, "invalid_arguments"),
  );
  assert.equal((await ask("login", { user: "ann" }, "freed")).text, "fine");
});

test("passes a result on that fits the tool's own schema, and errors of the tool as they are", async () => {
  assert.deepEqual((await ask("right")).structuredContent, { n: 1 });
  assert.equal((await ask("failing")).isError, true);
});

test("reports when a structured result does not fit, and loses neither its text nor its outcome", async () => {
  for (const [tool, pointer] of [
    ["wrong", "/n"],
    ["missing", ""],
  ] as const) {
    const check = (error: unknown): true => {
      assert.ok(isError(error, callTool, "invalid_result"));
      assert.equal(error.data.problems[0]?.pointer, pointer);
      assert.equal(error.data.text, "the text of it");
      assert.deepEqual(error.data.content, [{ type: "text", text: "the text of it" }]);
      return true;
    };
    await assert.rejects(ask(tool, {}, `kept-${tool}`), check);
    await assert.rejects(ask(tool, {}, `kept-${tool}`), check);
    const calls = (await readFile(`${file}.calls`, "utf8")).split("\n");
    assert.equal(calls.filter((name) => name === tool).length, 1);
  }
});

test("is not stopped by an output schema whose pattern stops other engines", async () => {
  await assert.rejects(ask("hostile"), (error) => isError(error, callTool, "invalid_result"));
});
