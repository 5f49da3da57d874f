import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { until } from "@switchyard/local-servers/until";
import { inSpan } from "@switchyard/bus/tracing";
import { rpc } from "@switchyard/contracts/define";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testNats } from "@switchyard/testing/test-servers";
import { Writable } from "node:stream";
import { z } from "zod";
import { createLog } from "../log.ts";
import { startTracing } from "./start-tracing.ts";
import { startTestCollector, type CollectedSpan } from "@switchyard/testing/test-collector";

const nats = await testNats();
const collector = await startTestCollector();
testEnvironment({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
const lines: string[] = [];
const log = createLog({
  service: "traced",
  level: "info",
  destination: new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  }),
});
const about = {
  services: [
    { name: "traced", user: "caller", version: "1.2.3" },
    { name: "answering", user: "server", version: "1.2.3" },
  ],
  instance: "one",
  sampled: 1,
  everyMs: 20,
  log,
};
const tracing = startTracing(about);
const caller = await connectBus({ servers: nats.url, user: "caller" });
const server = await connectBus({ servers: nats.url, user: "server" });
after(async () => {
  await Promise.all([caller.close(), server.close()]);
  await tracing.stop(5_000);
  await collector.stop();
});

const outer = rpc({
  subject: "yard.rpc.{caller}.trace.outer",
  summary: "Calls the inner one.",
  request: z.strictObject({ secret: z.string() }),
  reply: z.object({ traceparent: z.string() }),
});
const inner = rpc({
  subject: "yard.rpc.{caller}.trace.inner",
  summary: "Fails when it is told to.",
  request: z.strictObject({ fails: z.boolean() }),
  reply: z.object({}),
  errors: { broken: { data: z.null() } },
});
const service = serve(server, {
  name: "server",
  version: "1.0.0",
  description: "traced",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(outer, async (_request, { traceparent }) => {
  await call(server, inner, { fails: false });
  return { traceparent };
});
service.handle(inner, ({ fails }, { fail }) => {
  if (fails) throw fail.broken("secret-in-a-message", null);
  return {};
});
await server.flush();

const named = (spans: readonly CollectedSpan[], name: string, kind: number) =>
  spans.find((span) => span.name === name && span.kind === kind);
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3] as const;

test("one trace leads from the first piece of work through every call that it causes", async () => {
  const { traceparent } = await inSpan({ name: "first", kind: "internal" }, () =>
    call(caller, outer, { secret: "canary-argument" }),
  );
  await collector.until((spans) => named(spans, "first", INTERNAL) !== undefined);
  const chain = [
    named(collector.spans, "first", INTERNAL),
    named(collector.spans, "trace.outer", CLIENT),
    named(collector.spans, "trace.outer", SERVER),
    named(collector.spans, "trace.inner", CLIENT),
    named(collector.spans, "trace.inner", SERVER),
  ];
  assert.equal(new Set(chain.map((span) => span?.traceId)).size, 1);
  assert.deepEqual(
    chain.slice(1).map((span) => span?.parentSpanId),
    chain.slice(0, -1).map((span) => span?.spanId),
  );
  assert.equal(traceparent, `00-${chain[2]?.traceId}-${chain[2]?.spanId}-01`);
  const services = chain.map((span) => span?.service);
  assert.deepEqual(services, ["traced", "traced", "answering", "answering", "answering"]);
  assert.ok(!collector.text().includes("canary-argument"));
});

test("work that another process caused continues its trace; what is not a traceparent begins a new one", async () => {
  const parent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const inTrace = (name: string, traceparent: string) =>
    inSpan({ name, kind: "internal", parent: traceparent }, () => Promise.resolve());
  await inTrace("continued", parent);
  await inTrace("anew", "rubbish");
  await inTrace("unsampled", `00-${"c".repeat(32)}-${"b".repeat(16)}-00`);
  await inTrace("last", parent);
  await collector.until((spans) => named(spans, "last", INTERNAL) !== undefined);
  const continued = named(collector.spans, "continued", INTERNAL);
  assert.equal(continued?.traceId, "a".repeat(32));
  assert.equal(continued?.parentSpanId, "b".repeat(16));
  assert.equal(named(collector.spans, "anew", INTERNAL)?.parentSpanId, undefined);
  assert.equal(named(collector.spans, "unsampled", INTERNAL), undefined);
});

test("a request that no work caused is not recorded, nor what it causes", async () => {
  await call(caller, outer, { secret: "housekeeping" });
  const parent = `00-${"e".repeat(32)}-${"b".repeat(16)}-01`;
  await inSpan({ name: "after", kind: "internal", parent }, () => Promise.resolve());
  const before = collector.spans.filter(({ name }) => name === "trace.outer").length;
  await collector.until((spans) => named(spans, "after", INTERNAL) !== undefined);
  assert.equal(collector.spans.filter(({ name }) => name === "trace.outer").length, before);
});

test("a failed call is recorded with its code on both sides, and without its message", async () => {
  const parent = `00-${"d".repeat(32)}-${"b".repeat(16)}-01`;
  const options = { traceparent: parent };
  await assert.rejects(call(caller, inner, { fails: true }, options), /secret-in-a-message/);
  const failed = (spans: readonly CollectedSpan[]) =>
    spans.filter(({ traceId }) => traceId === "d".repeat(32));
  await collector.until((spans) => failed(spans).length === 2);
  for (const span of failed(collector.spans)) {
    assert.equal(span.status, 2);
    assert.equal(span.attributes["error.type"], "broken");
  }
  assert.ok(!collector.text().includes("secret-in-a-message"));
});

test("a collector that refuses is logged once until it takes traces again", async () => {
  collector.refuse(true);
  const logged = (message: string) => lines.filter((line) => line.includes(message)).length;
  const report = (name: string) => inSpan({ name, kind: "internal" }, () => Promise.resolve());
  await report("lost");
  await until(async () => logged("traces are being lost") === 1);
  const refused = collector.refused();
  await report("lost too");
  await until(async () => collector.refused() > refused);
  collector.refuse(false);
  await report("arrived");
  await until(async () => logged("traces arrive again") === 1);
  assert.equal(logged("traces are being lost"), 1);
});
