import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { adminRedisUserName } from "@switchyard/topology/redis-access";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import type { DevInstance } from "../../test/lib/yard-dev.ts";

export async function connectAsAdmin({ stateDir, redisUrl }: DevInstance): Promise<Redis> {
  const log = createLog({ service: "bench", level: "silent" });
  const password = await readFile(join(stateDir, "keys", "admin.redis"), "utf8");
  const url = new URL(redisUrl);
  url.username = adminRedisUserName;
  return connectRedis({ url: url.href, password: password.trim(), name: "bench", log });
}
