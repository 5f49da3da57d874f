import { after } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { asRunner, type TestRunner } from "./as-runner.ts";

/** For the top level of a test file: its connection to Redis ends with the file. */
export async function holdingRunner(bus: Bus, redisUrl: string): Promise<TestRunner> {
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: redisUrl, name: "test", log });
  after(() => redis.disconnect());
  return asRunner(bus, redis);
}
