import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import * as features from "@switchyard/contracts/mcp-broker/mcp-features";
import { answerQuestion, listQuestions } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { until } from "@switchyard/local-servers/until";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
// In this file a token is a run and its session: `run-1@chat`.
world.policy.runOf = (token) => token?.split("@")[0] ?? null;
world.policy.sessionOf = (token) => token?.split("@")[1] ?? null;
const broker = await world.startBroker({
  servers: [
    fixtureServer("by-run", ["scoped-server.ts"], { scope: "run", maxInstances: 3 }),
    fixtureServer("by-session", ["scoped-server.ts"], { scope: "session", maxInstances: 1 }),
  ],
});
for (const id of ["by-run", "by-session"])
  await broker.until(id, ({ status }) => status === "connected");

const tool = async (server: string, name: string, token?: string): Promise<string> =>
  (await broker.call(server, { tool: name, args: {}, ...(token && { token }) })).text;

/** The process that answers each kind of request. */
async function processes(server: string, token: string): Promise<string[]> {
  const tokens = { tokens: { server } };
  const { cli } = world;
  const uri = "process:///any";
  const ref = { type: "prompt", name: "any" } as const;
  const argument = { name: "a", value: "" };
  const [resources, templates, read, prompts, prompt, completion] = await Promise.all([
    call(cli, features.listResources, { token }, tokens),
    call(cli, features.listResourceTemplates, { token }, tokens),
    call(cli, features.readResource, { token, uri }, tokens),
    call(cli, features.listPrompts, { token }, tokens),
    call(cli, features.getPrompt, { token, name: "any", args: {} }, tokens),
    call(cli, features.completeArgument, { token, ref, argument, args: {} }, tokens),
  ]);
  return [
    resources.resources[0]?.name,
    templates.templates[0]?.name,
    read.contents[0]?.text,
    prompts.prompts[0]?.name,
    prompt.messages[0]?.content["text"],
    completion.values[0],
  ].map(String);
}

test("resources, templates, prompts and completion of a run come from the run's own instance", async () => {
  const [one, two] = await Promise.all([
    tool("by-run", "pid", "run-1"),
    tool("by-run", "pid", "run-2"),
  ]);
  assert.notEqual(one, two);
  assert.deepEqual(
    await processes("by-run", "run-1"),
    Array.from({ length: 6 }, () => one),
  );
  assert.deepEqual(
    await processes("by-run", "run-2"),
    Array.from({ length: 6 }, () => two),
  );
  assert.equal(broker.broker.pool.instances.count("by-run"), 2);
});

test("runs of one session share its instance, and a run without a session is refused and not taken for one", async () => {
  const first = await tool("by-session", "pid", "run-1@chat");
  assert.equal(await tool("by-session", "pid", "run-2@chat"), first);
  assert.deepEqual(
    await processes("by-session", "run-3@chat"),
    Array.from({ length: 6 }, () => first),
  );
  const refused = async (
    asking: Promise<unknown>,
    code: "scope_required" | "instances_exhausted",
  ) => {
    const error: unknown = await asking.catch((caught: unknown) => caught);
    assert.ok(isError(error, features.readResource, code), String(error));
    assert.deepEqual([error.data.server, error.data.scope], ["by-session", "session"]);
  };
  const read = (token?: string) =>
    call(
      world.cli,
      features.readResource,
      { uri: "process:///any", ...(token && { token }) },
      { tokens: { server: "by-session" } },
    );
  await refused(tool("by-session", "pid", "run-1"), "scope_required");
  await refused(read("run-1"), "scope_required");
  await refused(read(), "scope_required");
  await refused(read("run-9@another"), "instances_exhausted");
});

test("a question of one run's instance is for that run alone", async () => {
  const asking = ["run-1", "run-2"].map((token) => tool("by-run", "ask", token));
  const { questions } = await until(
    () => call(world.cli, listQuestions, {}),
    (reply) => reply.questions.length === 2,
  );
  const runs = questions.map(({ askedFor }) => askedFor.map(({ runId }) => runId));
  assert.deepEqual(new Set(runs.map(String)), new Set(["run-1", "run-2"]));
  for (const { id } of questions) await call(world.cli, answerQuestion, { id, action: "decline" });
  assert.deepEqual(await Promise.all(asking), ["decline", "decline"]);
});

test("a log level reaches the instances that there are and those that come", async () => {
  const tokens = { tokens: { server: "by-run" } };
  await call(world.cli, features.setLogLevel, { level: "warning" }, tokens);
  assert.equal(await tool("by-run", "level", "run-1"), "warning");
  await until(
    () => tool("by-run", "level", "run-3"),
    (level) => level === "warning",
  );
});

test("a subscription to a resource of an instance is refused, since an event could not name its owner", async () => {
  const subscribing = call(
    world.cli,
    features.subscribeResource,
    { uri: "process:///any", token: "run-1" },
    { tokens: { server: "by-run" } },
  );
  await assert.rejects(subscribing, (error) =>
    isError(error, features.subscribeResource, "not_supported"),
  );
});

test("instances are counted by server", async () => {
  const text = await broker.metrics.metrics();
  assert.match(text, /^yard_mcp_instances\{server="by-run"\} 3$/m);
  assert.match(text, /^yard_mcp_instances\{server="by-session"\} 1$/m);
});
