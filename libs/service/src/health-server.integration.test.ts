import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { test } from "node:test";
import { startHealthServer } from "./health-server.ts";
import { createMetrics } from "./metrics.ts";
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
    hint: /YARD_HEALTH_HOST/,
  });
});

async function start(host = "127.0.0.1") {
  const readiness = new Readiness(50);
  const metrics = createMetrics({ service: "test", version: "1.0.0" });
  const server = await startHealthServer({ host, port: 0, readiness, metrics });
  return { url: server.url, readiness, stop: () => server.stop() };
}
