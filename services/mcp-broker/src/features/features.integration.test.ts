import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { publishEvent } from "@switchyard/bus/publish";
import type { Rpc } from "@switchyard/contracts/define";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import {
  completeArgument,
  getPrompt,
  listMessages,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
  resourceUpdated,
  setLogLevel,
  subscribeResource,
  unsubscribeResource,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { addServer, removeServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { callsStopped } from "@switchyard/contracts/policy/policy-budgets";
import { until } from "@switchyard/local-servers/until";
import type { z } from "zod";
import { fixtureServer, packageFile, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const everything = [packageFile("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"];
const broker = await world.startBroker({
  servers: [
    { id: "everything", command: process.execPath, args: everything },
    fixtureServer("features", ["features-server.ts"], {
      maxResultBytes: 20_000,
      env: { KEY: "${SECRET}" },
    }),
    fixtureServer("modern", ["features-server.ts", "modern"]),
    fixtureServer("plain", ["fixture-server.ts"]),
    fixtureServer("silent", ["features-server.ts"], { callTimeoutMs: 100 }),
  ],
  env: { SECRET: "hunter2hunter2" },
});
for (const id of ["everything", "features", "modern", "plain", "silent"])
  await broker.until(id, ({ status }) => status === "connected");

beforeEach(() => {
  world.policy.answer = () => "allow";
  delete world.policy.inspection;
});

function ask<R extends Rpc<`yard.rpc.{caller}.mcp.${string}.{server}`>>(
  contract: R,
  request: z.input<R["request"]>,
  server = "everything",
): Promise<z.output<R["reply"]>> {
  // Each of these subjects has the one token; its type is lost in the parameter.
  return call(world.cli, contract, request, { tokens: { server } as never });
}

async function codeOf(asked: Promise<unknown>): Promise<string> {
  const error = await asked.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error.code;
}

const DOCUMENT = "demo://resource/static/document/features.md";

test("resources are listed with their templates and read", async () => {
  const { resources, more } = await ask(listResources, {});
  assert.equal(more, false);
  assert.ok(resources.some(({ uri }) => uri === DOCUMENT));
  const { templates } = await ask(listResourceTemplates, {});
  assert.ok(templates.some(({ uriTemplate }) => uriTemplate.includes("{resourceId}")));
  const { contents, decision } = await ask(readResource, { uri: DOCUMENT });
  assert.match(contents[0]?.text ?? "", /Everything/);
  assert.equal(decision.effect, "allow");
});

test("a resource and a prompt are masked or withheld as the decision says, and the address of a resource stays", async () => {
  world.policy.inspection = {
    results: { host: { effect: "mask", rule: "hide" } },
    unmask: [],
  };
  const plain = await ask(getPrompt, { name: "args-prompt", args: { city: "https://a.example" } });
  assert.match(JSON.stringify(plain.messages), /⟦host⟧/);
  assert.ok(!JSON.stringify(plain.messages).includes("a.example"));
  const { contents } = await ask(readResource, { uri: DOCUMENT });
  assert.equal(contents[0]?.uri, DOCUMENT);
  world.policy.inspection = {
    results: { host: { effect: "deny", rule: "no-hosts" } },
    unmask: [],
  };
  const withheld: unknown = await ask(getPrompt, {
    name: "args-prompt",
    args: { city: "https://a.example" },
  }).catch((error: unknown) => error);
  assert.ok(isError(withheld, getPrompt, "denied"));
  assert.match(withheld.message, /The request was made, and its result is withheld: rule no-hosts/);
});

test("prompts are listed and got with their arguments, and arguments are completed", async () => {
  const { prompts } = await ask(listPrompts, {});
  assert.ok(prompts.some(({ name }) => name === "args-prompt"));
  const got = await ask(getPrompt, { name: "args-prompt", args: { city: "Graz" } });
  assert.match(JSON.stringify(got.messages), /Graz/);
  const ref = { type: "prompt", name: "completable-prompt" } as const;
  const first = await ask(completeArgument, { ref, argument: { name: "department", value: "S" } });
  assert.deepEqual(first.values, ["Sales", "Support"]);
  const second = await ask(completeArgument, {
    ref,
    argument: { name: "name", value: "" },
    args: { department: "Sales" },
  });
  assert.deepEqual(second.values, ["David", "Eve", "Frank"]);
});

test("a stop ends a read that is in work, and notifies the server", async () => {
  const uri = "test://endless";
  let error: unknown = null;
  const reading = ask(readResource, { uri }, "features").then(
    () => assert.fail("it has no end"),
    (reason: unknown) => void (error = reason),
  );
  const scope = { kind: "server", name: "features" } as const;
  const stop = { scope, reason: "a test", by: "cli", at: new Date().toISOString() };
  // The broker may receive a stop at any time; only one that comes while it reads ends the reading.
  await until(
    async () => {
      await publishEvent(world.cli, callsStopped, { scope: "server" }, stop);
      return error;
    },
    (found) => found !== null,
  );
  await reading;
  assert.ok(isError(error, readResource, "stopped"), String(error));
  assert.match(error.message, /server features .*: a test/);
  assert.equal(
    await codeOf(ask(readResource, { uri: "test://x" }, "features")),
    "result_too_large",
  );
});

test("what the policy denies is neither listed, read, got, completed, subscribed to nor set", async () => {
  world.policy.answer = (_tool, { kind, own }) =>
    kind === "logging" || own === DOCUMENT || own === "args-prompt" ? "deny" : "allow";
  const { resources } = await ask(listResources, {});
  assert.ok(resources.length > 0 && resources.every(({ uri }) => uri !== DOCUMENT));
  const { prompts } = await ask(listPrompts, {});
  assert.ok(prompts.length > 0 && prompts.every(({ name }) => name !== "args-prompt"));
  const ref = { type: "prompt", name: "args-prompt" } as const;
  const denied = [
    ask(readResource, { uri: DOCUMENT }),
    ask(subscribeResource, { uri: DOCUMENT }),
    ask(getPrompt, { name: "args-prompt", args: { city: "Graz" } }),
    ask(completeArgument, { ref, argument: { name: "city", value: "" } }),
    ask(setLogLevel, { level: "debug" }),
    ask(listMessages, {}),
  ];
  const codes = await Promise.all(denied.map((asked) => codeOf(asked)));
  assert.deepEqual(new Set(codes), new Set(["denied"]));
});

test("a policy that gives no answer lets nothing through, and a refused token is reported", async () => {
  for (const answer of ["fault", "invalid_token"] as const) {
    world.policy.answer = () => answer;
    const code = answer === "fault" ? "policy_unavailable" : "invalid_token";
    assert.equal(await codeOf(ask(readResource, { uri: DOCUMENT })), code);
    assert.equal(await codeOf(ask(getPrompt, { name: "simple-prompt" })), code);
  }
});

test("a feature that a server does not offer is an error, and its refusal is not mistaken for a result", async () => {
  assert.equal(await codeOf(ask(listResources, {}, "plain")), "not_supported");
  assert.equal(await codeOf(ask(getPrompt, { name: "x" }, "plain")), "not_supported");
  assert.equal(await codeOf(ask(readResource, { uri: "demo://nothing" })), "server_failed");
  assert.equal(await codeOf(ask(readResource, { uri: "x:y" }, "nobody")), "no_responders");
});

test("a subscription brings an event for each change, also after the server was connected anew", async () => {
  const { expiresAt } = await ask(subscribeResource, { uri: "demo://counter" }, "features");
  assert.ok(Date.parse(expiresAt) > Date.now());
  const update = (): Promise<unknown> => broker.call("features", { tool: "touch", args: {} });
  await update();
  await nextUpdate("demo://counter");
  await broker.call("features", { tool: "die", args: {} }).catch(() => undefined);
  await broker.until("features", ({ status }) => status !== "connected");
  await broker.until("features", ({ status }) => status === "connected");
  // The subscription comes a moment after the connection.
  const from = await eventCount();
  await until(
    async () => (await update(), eventCount()),
    (count) => count > from,
  );
  await ask(unsubscribeResource, { uri: "demo://counter" }, "features");
  assert.equal(await world.redis.hlen("yard:{mcp:features}:subscriptions"), 0);
});

test("log messages come at the level that was set, without secrets, and a flood is cut", async () => {
  await ask(setLogLevel, { level: "info" }, "features");
  await broker.call("features", {
    tool: "log",
    args: { text: "the key is hunter2hunter2", times: 100 },
  });
  const { messages, dropped } = await until(
    () => ask(listMessages, {}, "features"),
    (reply) => reply.messages.length + reply.dropped >= 100,
  );
  assert.ok(messages.length >= 20 && dropped > 0, `${messages.length} kept, ${dropped} dropped`);
  assert.equal(messages.at(-1)?.text, "the key is ${SECRET}");
});

test("a 2026-07-28 server receives the level with each request, and logs nothing without one", async () => {
  assert.equal(broker.info("modern").protocolVersion, "2026-07-28");
  const messages = async () => (await ask(listMessages, {}, "modern")).messages;
  const log = (word: string) =>
    broker.call("modern", { tool: "log", args: { text: word, times: 1 } });
  await log("nobody asked");
  assert.deepEqual(await ask(setLogLevel, { level: "error" }, "modern"), { level: "error" });
  await log("not that bad");
  await ask(setLogLevel, { level: "info" }, "modern");
  await log("wanted");
  const said = await until(messages, ({ length }) => length > 0);
  assert.deepEqual(
    said.map(({ text, level }) => [text, level]),
    [["wanted", "info"]],
  );
  // A new connection continues with the level that was set last.
  await broker.call("modern", { tool: "die", args: {} }).catch(() => undefined);
  await broker.until("modern", ({ status }) => status !== "connected");
  await broker.until("modern", ({ status }) => status === "connected");
  await log("wanted again");
  const all = await until(messages, ({ length }) => length > 1);
  assert.deepEqual(
    all.map(({ text }) => text),
    ["wanted", "wanted again"],
  );
});

test("a server that was removed leaves nothing to the one that is added under its name", async () => {
  const entry = { ...fixtureServer("again", ["features-server.ts", "modern"]) };
  const add = async () => {
    await call(world.cli, addServer, { server: entry });
    await broker.until("again", ({ status }) => status === "connected");
  };
  const log = (word: string) =>
    broker.call("again", { tool: "log", args: { text: word, times: 1 } });
  const texts = async () => (await ask(listMessages, {}, "again")).messages.map(({ text }) => text);
  await add();
  await ask(setLogLevel, { level: "info" }, "again");
  await log("of the first");
  await until(texts, ({ length }) => length > 0);
  await call(world.cli, removeServer, { server: "again" });
  await add();
  assert.deepEqual(await texts(), []);
  await log("at no level");
  await ask(setLogLevel, { level: "info" }, "again");
  await log("of the second");
  assert.deepEqual(await until(texts, ({ length }) => length > 0), ["of the second"]);
  await call(world.cli, removeServer, { server: "again" });
});

test("a resource that is too large, and a list without end, are refused or cut", async () => {
  assert.equal(
    await codeOf(ask(readResource, { uri: "demo://huge" }, "features")),
    "result_too_large",
  );
  const { prompts, more } = await ask(listPrompts, {}, "features");
  assert.equal(more, true);
  assert.ok(prompts.length < 1_000);
});

test("an empty cursor does not list anything twice", async () => {
  const { resources, more } = await ask(listResources, {}, "features");
  assert.deepEqual([resources.map(({ name }) => name), more], [["only"], false]);
});

async function eventCount(): Promise<number> {
  const filters = [`yard.evt.mcp.features.${resourceUpdated.name.split(".")[1]}`];
  let count = 0;
  for await (const _ of readEvents(world.cli, { filters, from: "beginning", stopAtEnd: true }))
    count += 1;
  return count;
}

async function nextUpdate(uri: string): Promise<void> {
  const filters = ["yard.evt.mcp.features.resource-updated"];
  for await (const { contract, payload } of readEvents(world.cli, { filters, from: "beginning" })) {
    assert.equal(contract, resourceUpdated);
    assert.equal(resourceUpdated.payload.parse(payload).uri, uri);
    return;
  }
}

test("a server that answers no reads gets no requests for a while, neither reads nor calls [A22]", async () => {
  const read = (uri: string) => ask(readResource, { uri }, "silent");
  for (let n = 0; n < 5; n += 1)
    assert.equal(await codeOf(read("test://endless")), "server_timeout");
  assert.equal(broker.info("silent").circuit, "open");
  await assert.rejects(read("test://other"), (error) => {
    assert.ok(isError(error, readResource, "server_down"), String(error));
    assert.ok(error.retryable);
    assert.match(error.message, /gets no calls until it recovers; this one was not sent/);
    return true;
  });
  await assert.rejects(broker.call("silent", { tool: "touch", args: {} }), {
    code: "circuit_open",
  });
});
