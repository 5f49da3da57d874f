import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { adminRedisUserName } from "@switchyard/topology/redis-access";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { readEvents } from "@switchyard/bus/events";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";
import { followRuns } from "./run-follower.ts";

/** Measures what a step of a long run stores, in Redis and in the stream of events, against one of a run a quarter as long. */
export async function benchLongRun({ stage }: Bench): Promise<Report> {
  const { bus, instance } = await startSwitchyard(stage, { runners: 1 });
  const log = createLog({ service: "bench", level: "silent" });
  const password = await readFile(join(instance.stateDir, "keys", "admin.redis"), "utf8");
  const url = new URL(instance.redisUrl);
  url.username = adminRedisUserName;
  const redis = await connectRedis({
    url: url.href,
    password: password.trim(),
    name: "bench",
    log,
  });
  stage.onEnd(async () => redis.disconnect());
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);

  const figures: Figure[] = [];
  const first = { redis: Number.NaN, stream: Number.NaN };
  for (const steps of [125, 250, 500]) {
    const runId = `long-${steps}`;
    const limits = { maxSteps: steps, maxRepeatedCalls: 10_000, timeoutMs: 600_000 };
    await run("endless", { runId, limits, mayFail: true });
    let stored = 0;
    for await (const key of keysOf(`me~${runId}`))
      stored += Number(await redis.memory("USAGE", key, "SAMPLES", 0));
    let streamed = 0;
    const reading = {
      filters: [`yard.evt.run.me.${runId}.>`],
      from: "beginning",
      stopAtEnd: true,
    } as const;
    for await (const { subject, payload } of readEvents(bus, reading))
      streamed += subject.length + JSON.stringify(payload).length;
    if (steps === 125) Object.assign(first, { redis: stored / steps, stream: streamed / steps });
    const goal = { text: "≤ 1.05×", holds: (ratio: number) => ratio <= 1.05 };
    figures.push(
      compared(
        {
          name: `Redis for each step of ${steps}`,
          value: stored / steps,
          unit: "bytes",
          baseline: first.redis,
        },
        goal,
      ),
      compared(
        {
          name: `events for each step of ${steps}`,
          value: streamed / steps,
          unit: "bytes",
          baseline: first.stream,
        },
        goal,
      ),
    );
  }
  return { name: "long-run", figures };

  async function* keysOf(runId: string): AsyncGenerator<string> {
    // ioredis' stream gives lists of keys.
    for await (const keys of redis.scanStream({ match: `yard:run:{${runId}}:*`, count: 1_000 }))
      yield* keys as string[];
  }
}
