// Runners of the version before this one and of this one take from the same queue: an upgrade, and then a way back, with runs in work.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { agent, labTool } from "../../services/agent-runner/test-fixtures/fake-services.ts";
import { assertRanOnce } from "../../services/agent-runner/test-fixtures/ran-once.ts";
import { startLab } from "../../services/agent-runner/test-fixtures/runner-lab.ts";
import type { RunnerProcess } from "../../services/agent-runner/test-fixtures/runner-process.ts";
import { checkOut, whyNoCheckout } from "../lib/old-checkout.ts";
import { LAST_VERSION } from "./versions.ts";

const skip = (await whyNoCheckout(LAST_VERSION)) ?? false;

test(
  "runs in work go from old runners to new ones, and back: none is lost, no call is made twice",
  { skip },
  async () => {
    const code = join(await testDirectory(), "code");
    await mkdir(code);
    await checkOut(LAST_VERSION, code);
    const lab = await startLab();
    const redis = await connectRedis({
      url: lab.redis.url,
      name: "test",
      log: createLog({ service: "test", level: "silent" }),
    });
    after(() => redis.disconnect());
    let gate = Promise.withResolvers<string>();
    lab.services.tools.set("work", () => "worked");
    lab.services.tools.set("gate", () => gate.promise);
    const steps = ["work", "gate", "work", "gate", "work"].map((tool) => ({
      calls: [{ tool: labTool(tool), with: {} }],
    }));
    lab.services.agents.set("walker", agent("walker", { plan: { steps, answer: "done" } }));

    const runners = {
      old: () => lab.runnerProcess({}, join(code, "services/agent-runner/src/main.ts")),
      new: () => lab.runnerProcess(),
    };
    const names = ["one", "two", "three", "four"];
    /** All runs wait in this step. */
    const atGate = (step: number) =>
      until(() => names.every((name) => lab.services.requested.has(`cli~${name}:${step}:0`)));
    const replace = async (left: RunnerProcess, next: keyof typeof runners) => {
      const comes = await runners[next]();
      left.kill("SIGTERM");
      await left.logged("service stopping");
      gate.resolve("opened");
      gate = Promise.withResolvers();
      assert.equal(await left.exited, 0);
      return comes;
    };

    let runner = await runners.old();
    for (const runId of names) await lab.command("walker", { runId, input: "x" });
    await atGate(2);
    runner = await replace(runner, "new");
    await atGate(4);
    runner = await replace(runner, "old");
    // A repeated command that one version accepted is a duplicate for the other.
    for (const runId of names) await lab.command("walker", { runId, input: "x" });
    const calls = [1, 2, 3, 4, 5].map((step) => `${step}:0`);
    for (const runId of names) {
      await lab.eventsUntil(runId, "finished");
      await assertRanOnce(
        { lab, redis },
        { runId: `cli~${runId}`, crashes: 0, output: "done", calls },
      );
    }
    await until(async () => (await lab.pendingCommands()) === 0);

    // Side by side, under load.
    await runners.new();
    const more = Array.from({ length: 8 }, (_, n) => `beside-${n}`);
    gate.resolve("opened");
    for (const runId of more) await lab.command("walker", { runId, input: "x" });
    for (const runId of more) {
      await lab.eventsUntil(runId, "finished");
      await assertRanOnce(
        { lab, redis },
        { runId: `cli~${runId}`, crashes: 0, output: "done", calls },
      );
    }
  },
);
