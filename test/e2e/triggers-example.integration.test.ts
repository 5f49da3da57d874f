import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { connect } from "nats";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startYardDev } from "../lib/yard-dev.ts";

// The example as it is, with the permissions that yard dev gives.
const project = "examples/triggers";
const directory = await mkdtemp(join(tmpdir(), "yard-triggers-"));
const stateDir = join(directory, "state");
const dev = await startYardDev({ project, stateDir, workspace: join(project, "files") });
after(async () => {
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});
const env = yardEnvironment(stateDir);

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await yard(args, env);
  assert.equal(code, 0, stderr);
  return stdout;
}

test("an order that a client publishes begins a run, once, with the rights of its owner", async () => {
  const listed = await said("schedules", "list");
  assert.match(listed, /price-check +0 8 \* \* 1-5 Europe\/Berlin/);
  assert.match(listed, /paid-order +on shop\.orders\.\*\.paid/);
  const shop = await connect({ servers: dev.natsUrl });
  const order = '{"id":"o-17","items":["Lamp","Chair"],"total":160}';
  shop.publish("shop.orders.17.paid", order);
  shop.publish("shop.orders.17.paid", order);
  shop.publish("shop.orders.18.paid", '{"id":"o-18","items":["Lamp"],"total":40}');
  await shop.drain();
  const entries = await until(async () => {
    const { data } = JSON.parse(await said("schedules", "history", "paid-order", "--json")) as {
      data: { entries: { status: string; summary: string }[] };
    };
    return data.entries.length > 0 && data.entries;
  });
  // The policy let it read the price list, which it lets this agent of this user alone.
  const summary = 'Order 17: ["Lamp","Chair"] for 160\nThe price list begins with: Lamp: 40';
  assert.deepEqual(
    entries.map((entry) => [entry.status, entry.summary]),
    [["ok", summary]],
  );
});
