import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connectBus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { anonymousUser } from "@switchyard/topology/topology";
import { startTestCollector, type CollectedSpan } from "@switchyard/testing/test-collector";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { startYardDev } from "../lib/yard-dev.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const collector = await startTestCollector();
// The exporter reads it from the environment of its process.
testEnvironment({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
const dev = await startYardDev({
  project: "test/e2e/project",
  stateDir: join(directory, "state"),
  env: { CALLS_FILE: join(directory, "calls"), OTEL_BSP_SCHEDULE_DELAY: "100" },
});
const bus = await connectBus({
  servers: dev.natsUrl,
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
after(async () => {
  await bus.close();
  await dev.stop();
  await collector.stop();
  await rm(directory, { recursive: true, force: true });
});

const TRACE = "ab".repeat(16);
const traceparent = `00-${TRACE}-${"cd".repeat(8)}-01`;
const [SERVER, CLIENT] = [2, 3] as const;

/** The first span of a run's trace that fits all of this. */
function find(
  spans: readonly CollectedSpan[],
  wanted: { service: string; name: string; kind?: number },
): CollectedSpan | undefined {
  return spans.find(
    ({ traceId, service, name, kind }) =>
      traceId === TRACE &&
      service === wanted.service &&
      name === wanted.name &&
      (wanted.kind === undefined || kind === wanted.kind),
  );
}

test("a run is one trace, from its command to the calls of its tools, without what is in them", async () => {
  const input = { first: "canary-argument" };
  await publishCommand(
    bus,
    startRun,
    { agent: "counter" },
    { runId: "traced", input, session: "traced-talk" },
    { traceparent },
  );
  const [runner, broker] = ["agent-runner", "mcp-broker"] as const;
  const chain = [
    { service: runner, name: "process agent-runner" },
    { service: runner, name: "invoke_agent counter" },
    { service: runner, name: "execute_tool mcp__counting__append" },
    { service: runner, name: "mcp.call", kind: CLIENT },
    { service: broker, name: "mcp.call", kind: SERVER },
    { service: broker, name: "policy.check", kind: CLIENT },
    { service: "policy", name: "policy.check", kind: SERVER },
  ];
  await collector.until((spans) => chain.every((wanted) => find(spans, wanted)));
  const found = chain.map((wanted) => find(collector.spans, wanted));
  assert.equal(found[0]?.parentSpanId, "cd".repeat(8));

  const known = new Map(collector.spans.map((span) => [span.spanId, span]));
  const ancestors = (span: CollectedSpan | undefined): string[] =>
    span === undefined ? [] : [span.name, ...ancestors(known.get(span.parentSpanId ?? ""))];
  assert.deepEqual(ancestors(found.at(-1)), chain.map(({ name }) => name).toReversed());
  const call = find(collector.spans, { service: broker, name: "tools/call append", kind: CLIENT });
  assert.deepEqual(ancestors(call).slice(1), ancestors(found[4]));

  const model = find(collector.spans, { service: runner, name: "chat plan", kind: CLIENT });
  assert.equal(model?.attributes["gen_ai.operation.name"], "chat");
  assert.equal(model.attributes["gen_ai.provider.name"], "scripted");
  // A list, as the conventions have it, in the words of OTLP.
  const reasons = JSON.stringify(model.attributes["gen_ai.response.finish_reasons"]);
  assert.match(reasons, /^\{"values":\[\{"stringValue":"(?:tool-calls|stop)"\}\]\}$/);
  assert.match(String(found[1]?.attributes["gen_ai.conversation.id"]), /^ses-/);
  assert.ok(!collector.text().includes("canary-argument"));
});
