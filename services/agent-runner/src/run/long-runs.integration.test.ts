import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { journalKey } from "../journal/run-keys.ts";

const lab = await startLab();
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => {
  redis.disconnect();
});
await lab.runner();

let count = 0;
lab.services.tools.set("next", () => `${(count += 1)} ${"x".repeat(1_000)}`);

function looping(name: string, times: number, contextWindow: number | null) {
  const repeat = { while: { at: "/last/isError", equals: false }, times };
  const calls = [{ tool: labTool("next"), with: {}, as: "last" }];
  return agent(name, {
    contextWindow,
    maxSteps: times + 1,
    plan: { steps: [{ calls, repeat }], answer: "done" },
  });
}

test("makes a conversation smaller before the window is full, and continues without a difference", async () => {
  lab.services.agents.set("narrow", looping("narrow", 30, 6_000));
  await lab.command("narrow", { runId: "compacted", input: "count" });
  const finished = (await lab.eventsUntil("compacted", "finished")).at(-1)?.payload;
  assert.equal(finished?.["output"], "done");
  assert.equal(finished?.["steps"], 31);
  const entries = (await redis.lrange(journalKey("cli~compacted"), 0, -1)).map(
    // The runner wrote them; the test reads two fields.
    (json) => JSON.parse(json) as { kind: string; upTo?: number; summary?: string },
  );
  const points = entries.filter(({ kind }) => kind === "compacted");
  assert.ok(points.length >= 2, String(points.length));
  assert.ok(points.every(({ upTo = 0 }, at) => upTo > (points[at - 1]?.upTo ?? 0)));
  assert.match(points[0]?.summary ?? "", /^Rule-based summary, no AI: \d+ calls so far/);
});

test("a run of 500 steps stores five times what one of 100 steps stores, not twenty-five [run-goal-7]", async () => {
  const bytes: number[] = [];
  for (const steps of [100, 500]) {
    lab.services.agents.set(`long-${steps}`, looping(`long-${steps}`, steps, null));
    await lab.command(`long-${steps}`, { runId: `steps-${steps}`, input: "count" });
    await lab.eventsUntil(`steps-${steps}`, "finished");
    const journal = await redis.lrange(journalKey(`cli~steps-${steps}`), 0, -1);
    bytes.push(journal.reduce((sum, entry) => sum + Buffer.byteLength(entry), 0));
  }
  const [hundred = 0, fiveHundred = 0] = bytes;
  assert.ok(fiveHundred > 4 * hundred && fiveHundred < 5.5 * hundred, bytes.join(" "));
});
