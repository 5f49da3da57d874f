import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { test } from "node:test";
import { useTracer } from "@switchyard/bus/tracing";
import { Counter } from "prom-client";
import { startHealthServer } from "./health-server.ts";
import { createMetrics, durations } from "./metrics.ts";
import { Readiness } from "./readiness.ts";

test("answers 404 on other paths and 405 on other methods, and forgets bodies", async () => {
  const { url, readiness, stop } = await start();
  readiness.phase = "running";
  assert.equal((await fetch(`${url}/`)).status, 404);
  assert.equal((await fetch(`${url}/livez/x`)).status, 404);
  assert.equal((await fetch(`${url}/__proto__`)).status, 404);
  const posted = await fetch(`${url}/livez`, { method: "POST", body: "x".repeat(100_000) });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers.get("allow"), "GET");
  assert.equal((await fetch(`${url}/readyz?verbose`)).status, 200);
  await stop();
});

test("is alive whatever its dependencies do, and gives up on a check that hangs", async () => {
  const { url, readiness, stop } = await start();
  readiness.phase = "running";
  readiness.add("stuck", () => new Promise<boolean>(() => {}));
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  const response = await fetch(`${url}/readyz`);
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { status: "not_ready", checks: { stuck: "timeout" } });
  await stop();
});

test("reports in yard_ready what /readyz says", async () => {
  const { url, readiness, stop } = await start();
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^yard_ready\{service="test"\} 0$/m);
  readiness.phase = "running";
  assert.match(await (await fetch(`${url}/metrics`)).text(), /^yard_ready\{service="test"\} 1$/m);
  await stop();
});

test("metrics are OpenMetrics with traces as examples for who accepts that, else text without them", async (t) => {
  const { url, metrics, stop } = await start();
  t.after(() => {
    useTracer(null);
    return stop();
  });
  const took = durations(metrics.registry, {
    name: "yard_test_seconds",
    help: "Time.",
    labelNames: ["of"],
    buckets: [1, 10],
  });
  const made = new Counter({
    name: "yard_test_total",
    help: "Number.",
    registers: [metrics.registry],
  });
  made.inc(2);
  const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const underWay = (flags: string) =>
    useTracer({
      inSpan: (_, work) => work({ traceparent: undefined, set() {}, fail() {} }),
      active: () => `00-${traceId}-${spanId}-${flags}`,
    });
  took.observe({ of: "x" }, 0.5);
  underWay("00");
  took.observe({ of: "x" }, 20);
  underWay("01");
  took.observe({ of: "x" }, 2);
  const read = async (accept?: string) => {
    const response = await fetch(`${url}/metrics`, accept ? { headers: { accept } } : {});
    return { type: response.headers.get("content-type"), text: await response.text() };
  };
  // This is the Accept header of Prometheus.
  const open = await read(
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
  );
  assert.match(open.type ?? "", /^application\/openmetrics-text/);
  assert.ok(open.text.endsWith("\n# EOF\n"));
  assert.match(open.text, /^# TYPE yard_test counter\nyard_test_total\{service="test"\} 2$/m);
  const examples = open.text.split("\n").filter((line) => line.includes("trace_id"));
  assert.equal(examples.length, 1, "unsampled work, and work outside of a trace, are no examples");
  assert.match(
    examples[0] ?? "",
    new RegExp(
      String.raw`^yard_test_seconds_bucket\{le="10",.*\} 2 # \{trace_id="${traceId}",span_id="${spanId}"\} 2 \d+`,
    ),
  );
  // A HELP line with a quote would have to be escaped, which the library does not do.
  assert.doesNotMatch(open.text, /^# HELP .*"/m);
  for (const plain of [await read(), await read("text/plain")]) {
    assert.match(plain.type ?? "", /^text\/plain; version=0\.0\.4/);
    assert.doesNotMatch(plain.text, /trace_id|# EOF/);
    assert.match(
      plain.text,
      /^# HELP yard_test_total Number\.\n# TYPE yard_test_total counter\nyard_test_total\{service="test"\} 2$/m,
    );
    assert.match(plain.text, /^yard_test_seconds_bucket\{le="10",.*\} 2$/m);
  }
});

test("stops at once although a client keeps its connection open", async () => {
  const { url, stop } = await start();
  const agent = new Agent({ keepAlive: true });
  await new Promise<void>((resolve, reject) => {
    request(`${url}/livez`, { agent }, (response) => response.resume().on("end", resolve))
      .on("error", reject)
      .end();
  });
  await stop();
  agent.destroy();
  await assert.rejects(fetch(`${url}/livez`));
});

test("refuses an address that is not of this machine with a hint", async () => {
  await assert.rejects(start("192.0.2.1"), {
    name: "StartError",
    message: /^cannot serve health at 192\.0\.2\.1:0: /,
    hint: /YARD_HEALTH_PORT/,
  });
});

async function start(host = "127.0.0.1") {
  const readiness = new Readiness(50);
  const metrics = createMetrics({ service: "test", version: "1.0.0" });
  const services = [{ name: "test", readiness, metrics }];
  const server = await startHealthServer({ host, port: 0, services, metrics: null });
  return { url: server.url, readiness, metrics, stop: () => server.stop() };
}
