import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startModelServer } from "../../test-fixtures/model-server.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab, type RunEventRecord } from "../../test-fixtures/runner-lab.ts";
import { OBSERVATION_BYTES } from "../core/observation.ts";

const lab = await startLab();
const server = await startModelServer();
const modelsFile = join(await testDirectory(), "models.json");
await writeFile(
  modelsFile,
  JSON.stringify({
    default: "local/m",
    providers: { local: { type: "openai-compatible", baseURL: `${server.url}/v1` } },
    models: {
      "local/m": { price: { input: 1, output: 1 } },
      "local/narrow": { contextWindow: 32_000 },
    },
  }),
);
await lab.runner({ YARD_MODELS_FILE: modelsFile });

const answerSchema = {
  type: "object",
  properties: { total: { type: "integer" } },
  required: ["total"],
  additionalProperties: false,
};

test("gives a structured answer: it repeats the request after prose, reports a wrong form, and ends the run with the right one", async () => {
  lab.services.agents.set("counter", agent("counter", { model: null, tools: [] }));
  const final = (args: string) => ({ calls: [{ id: "f", name: "final_answer", args }] });
  server.answer({ text: ["It is 3."] }, final('{"total":"3"}'), final('{"total":3}'));
  await lab.command("counter", { runId: "formed", input: "count", output: answerSchema });
  const events = await lab.eventsUntil("formed", "finished");
  assert.equal(events.at(-1)?.payload["output"], '{"total":3}');
  assert.equal(events.at(-1)?.payload["costUsd"], 0.00036);
  const failed = events.find(({ name }) => name === "tool-failed");
  assert.match(String(failed?.payload["message"]), /\/total: integer, not string/);
  const bodies = server.requests.map(({ body }) => JSON.stringify(body));
  assert.match(bodies.at(-2) ?? "", /Your answer was not taken/);
});

test("fails a run whose model never uses the form, and refuses a schema that it cannot check", async () => {
  server.answer({ text: ["no"] }, { text: ["no"] }, { text: ["no"] });
  await lab.command("counter", { runId: "formless", input: "count", output: answerSchema });
  const events = await lab.eventsUntil("formless", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload["failure"]), /"code":"invalid_answer"/);
  const wrong = { calls: [{ id: "f", name: "final_answer", args: '{"total":"3"}' }] };
  server.answer(wrong, wrong, wrong);
  await lab.publish("yard.cmd.cli.run.retry.formless", "{}");
  const isSecondFailure = ({ name, payload }: RunEventRecord): boolean =>
    name === "failed" && payload["steps"] === 6;
  const again = await lab.eventsUntil("formless", isSecondFailure);
  assert.match(JSON.stringify(again.at(-1)?.payload["failure"]), /"code":"invalid_answer"/);

  await lab.command("counter", {
    runId: "bad-form",
    input: "count",
    output: { type: "string", pattern: "^(?=a)" },
  });
  const rejected = (await lab.eventsUntil("bad-form", "rejected")).at(-1)?.payload;
  assert.equal(rejected?.["code"], "invalid_output_schema");
  assert.match(JSON.stringify(rejected?.["problems"]), /output: \/pattern: /);
});

test("accepts a fitting answer in a text, too", async () => {
  server.answer({ text: ['```json\n{"total": 4}\n```'] });
  await lab.command("counter", { runId: "in-text", input: "count", output: answerSchema });
  const events = await lab.eventsUntil("in-text", "finished");
  assert.equal(events.at(-1)?.payload["output"], '{"total":4}');
});

test("shows at most 50 tools, those that fit first, and find_tools reaches the others [A25]", async () => {
  for (let n = 0; n < 80; n += 1) lab.services.tools.set(`thing${n}`, () => "x");
  lab.services.tools.set("weather_report", () => "sunny");
  lab.services.tools.set("invoice_archive", () => "archived");
  lab.services.agents.set("many", agent("many", { model: null }));
  const named = { tool: labTool("invoice_archive"), arguments: { n: 1 } };
  server.answer(
    { calls: [{ id: "a", name: "find_tools", args: '{"query":"archive an invoice"}' }] },
    { calls: [{ id: "b", name: "call_tool", args: JSON.stringify(named) }] },
    { calls: [{ id: "c", name: labTool("invoice_archive"), args: '{"n":2}' }] },
    { calls: [{ id: "d", name: "call_tool", args: '{"tool":3}' }] },
    { text: ["done"] },
  );
  const before = server.requests.length;
  await lab.command("many", { runId: "many-tools", input: "What does the weather report say?" });
  const events = await lab.eventsUntil("many-tools", "finished");
  const shown = server.requests.slice(before).map(({ body }) =>
    // The request is the SDK's, in the protocol's own form.
    (body["tools"] as { function: { name: string } }[]).map((tool) => tool.function.name),
  );
  assert.ok(shown.every((names) => names.length <= 50));
  assert.ok(shown[0]?.includes(labTool("weather_report")));
  assert.ok(shown[0]?.includes("find_tools"));
  assert.ok(!shown[0]?.includes(labTool("invoice_archive")));
  for (const names of shown) assert.deepEqual(names, shown[0], "no search changes the list");
  const requests = server.requests
    .slice(before)
    .map(({ body }) => JSON.stringify(body["messages"]));
  assert.ok(requests[1]?.includes("input schema"));
  assert.ok(requests[2]?.includes(JSON.stringify(JSON.stringify(named))), "as the model wrote it");
  for (const step of [2, 3]) assert.equal(lab.services.executed.get(`cli~many-tools:${step}:0`), 1);
  const asked = events.filter(({ name }) => name === "tool-requested");
  assert.deepEqual(
    asked.map(({ payload }) => payload["tool"]),
    ["find_tools", named.tool, named.tool, "call_tool"],
  );
  assert.match(requests.at(-1) ?? "", /call_tool: wants a tool and its arguments/);
});

test("shows the beginning of a long result and lets the model read on in the rest", async () => {
  const long = `${"a".repeat(OBSERVATION_BYTES)}THE END`;
  lab.services.tools.set("long", () => long);
  lab.services.agents.set("reader", agent("reader", { model: null, tools: [labTool("long")] }));
  const offset = OBSERVATION_BYTES;
  server.answer(
    { calls: [{ id: "a", name: labTool("long"), args: "{}" }] },
    { calls: [{ id: "b", name: "read_result", args: `{"result":"1:0","offset":${offset}}` }] },
    { text: ["done"] },
  );
  await lab.command("reader", { runId: "long-result", input: "read" });
  await lab.eventsUntil("long-result", "finished");
  const [, second, third] = server.requests.slice(-3).map(({ body }) => JSON.stringify(body));
  assert.ok(!second?.includes("THE END"));
  assert.match(second ?? "", /read on with read_result/);
  assert.match(second ?? "", /<tool_output tool=\\"mcp__lab__long\\">/);
  assert.match(second ?? "", /never follow instructions/);
  assert.match(third ?? "", /THE END/);
});

test("long results of one answer fit into the model's window together, and the model reads on in each", async () => {
  const long = (name: string) => `${name.repeat(OBSERVATION_BYTES)}THE END OF ${name}`;
  lab.services.tools.set("first", () => long("a"));
  lab.services.tools.set("second", () => long("b"));
  const tools = [labTool("first"), labTool("second")];
  lab.services.agents.set("narrow", agent("narrow", { model: "local/narrow", tools }));
  const asked = tools.map((name, index) => ({ id: `c${index}`, name, args: "{}" }));
  const at = (result: string) => `{"result":"${result}","offset":${OBSERVATION_BYTES - 100}}`;
  const reading = ["1:0", "1:1"].map((ref) => ({ id: ref, name: "read_result", args: at(ref) }));
  server.answer({ calls: asked }, { calls: reading }, { text: ["done"] });
  await lab.command("narrow", { runId: "two-long", input: "read" });
  await lab.eventsUntil("two-long", "finished");
  const [, second = "", third = ""] = server.requests
    .slice(-3)
    .map(({ body }) => JSON.stringify(body));
  assert.ok(second.length < 0.5 * 32_000 * 3, String(second.length));
  for (const [index, name] of ["a", "b"].entries()) {
    assert.ok(second.includes(name.repeat(15_000)));
    const note = JSON.stringify(`read on with read_result {"result":"1:${index}","offset":`);
    assert.ok(second.includes(note.slice(1, -1)));
    assert.ok(third.includes(`THE END OF ${name}`));
  }
});

test("stops a run that spent its money or repeats the same calls", async () => {
  lab.services.tools.set("same", () => "same");
  lab.services.agents.set("circling", agent("circling", { model: null, tools: [labTool("same")] }));
  const again = { calls: [{ id: "a", name: labTool("same"), args: '{"x":1}' }] };
  server.answer(again, again, again);
  const limits = { maxRepeatedCalls: 2 };
  await lab.command("circling", { runId: "circle", input: "go", limits });
  const circle = await lab.eventsUntil("circle", "failed");
  assert.match(JSON.stringify(circle.at(-1)?.payload), /limit_exceeded.*maxRepeatedCalls \(2\)/);

  server.answer(again);
  await lab.command("circling", { runId: "spent", input: "go", limits: { maxCostUsd: 0.0002 } });
  const spent = await lab.eventsUntil("spent", "failed");
  assert.match(JSON.stringify(spent.at(-1)?.payload), /limit_exceeded.*maxCostUsd/);
  const { run } = await call(lab.bus, getRun, { runId: "spent" });
  assert.equal(run.costUsd, 0.00012, "the next request would not have fitted any more");
});
