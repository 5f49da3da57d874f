import { publishCommand } from "@switchyard/bus/publish";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { adminUser, cliUser, serviceUsers } from "@switchyard/topology/topology";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { agent, connectAs, labTool, startFakeServices } from "../test-fixtures/fake-services.ts";
import { startRunner } from "../test-fixtures/runner-process.ts";

test("does all its work with the permissions that its contracts give it", async () => {
  const keys = [...serviceUsers, adminUser, cliUser].map((user) => ({
    user,
    key: createUserKey(),
  }));
  const nats = await testNats({
    authorization: natsAuthorization({
      users: keys.map(({ user, key }) => ({ user, nkey: key.publicKey })),
    }),
  });
  const redis = await testRedis();
  const seeds = new Map(keys.map(({ user, key }) => [user.name, key.seed]));
  const server = { url: nats.url, seeds };
  const admin = await connectAs(server, "admin");
  await ensureStreams(admin);
  const services = await startFakeServices(server);
  const cli = await connectAs(server, "cli");
  after(() => Promise.all([admin.close(), cli.close(), services.stop()]));

  services.tools.set("read", () => "x".repeat(600 * 1_024));
  services.agents.set(
    "reader",
    agent("reader", {
      plan: {
        steps: [
          {
            calls: [
              { tool: labTool("read"), with: {}, as: "r" },
              { tool: labTool("drop"), with: {} },
            ],
          },
        ],
        answer: "{{/results/r/text | wordCount}} words",
      },
    }),
  );
  const seedFile = join(await testDirectory(), "runner.nk");
  await writeFile(seedFile, seeds.get("runner") ?? "", { mode: 0o600 });
  const runner = await startRunner({
    YARD_NATS_URL: nats.url,
    YARD_NATS_NKEY_FILE: seedFile,
    YARD_REDIS_URL: redis.url,
  });

  const input = "large ".repeat(110_000); // goes by claim check
  await publishCommand(cli, startRun, { agent: "reader" }, { runId: "permitted", input });
  await publishCommand(cli, startRun, { agent: "nobody" }, { runId: "refused", input: "x" });
  assert.deepEqual((await eventNames("permitted", "finished")).at(-1), "finished");
  assert.deepEqual(await eventNames("refused", "rejected"), ["rejected"]);
  const { run } = await call(cli, getRun, { runId: "permitted" });
  assert.equal(run.input, input);

  runner.kill("SIGTERM");
  assert.equal(await runner.exited, 0);
  const faults = runner.lines.filter(({ level }) => level === "error" || level === "fatal");
  assert.deepEqual(faults, []);

  async function eventNames(runId: string, last: string): Promise<string[]> {
    const names: string[] = [];
    const filters = [`yard.evt.run.cli.${runId}.*`];
    for await (const { subject } of readEvents(cli, { filters, from: "beginning" })) {
      names.push(subject.split(".").at(-1) ?? "");
      if (names.at(-1) === last) break;
    }
    return names;
  }
});
