import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { connect } from "nats";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startYardDev } from "../lib/yard-dev.ts";

// The example, with the permissions that yard dev gives. Its trigger of events is switched on, and receives refusals of runs.
const directory = await mkdtemp(join(tmpdir(), "yard-triggers-"));
const project = join(directory, "project");
const stateDir = join(directory, "state");
await cp("examples/triggers", project, { recursive: true });
const file = join(project, "triggers.yaml");
const text = await readFile(file, "utf8");
await writeFile(
  file,
  text.replace("enabled: false", "enabled: true").replace(".failed,", ".rejected,"),
);
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

async function entriesOf(trigger: string) {
  return until(async () => {
    const { data } = JSON.parse(await said("schedules", "history", trigger, "--json")) as {
      data: { entries: { status: string; summary: string }[] };
    };
    return data.entries.length > 0 && data.entries;
  });
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
  const entries = await entriesOf("paid-order");
  // The policy let it read the price list, which it lets this agent of this user alone.
  const summary = 'Order 17: ["Lamp","Chair"] for 160\nThe price list begins with: Lamp: 40';
  assert.deepEqual(
    entries.map((entry) => [entry.status, entry.summary]),
    [["ok", summary]],
  );
});

test("an event of another user's run starts a run, and the events of that one start none", async () => {
  const shop = await connect({ servers: dev.natsUrl });
  shop.publish("yard.cmd.me.run.start.nobody", '{"runId":"refused","input":"x"}');
  await shop.drain();
  const [entry] = await entriesOf("failed-run");
  assert.equal(entry?.status, "ok");
  assert.match(entry.summary, /^A run of me failed: \{.*"code":"unknown_agent"/);
  assert.equal((await entriesOf("failed-run")).length, 1);
});
