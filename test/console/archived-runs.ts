import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { redisWords } from "../lib/redis-words.ts";
import type { DevInstance } from "../lib/yard-dev.ts";

/**
 * Writes so many ended runs of the agent `archived`, `cli~archived-0` being the newest, beside the runner and as it lists them:
 * making them would take an hour.
 */
export async function keepArchivedRuns(
  { redisUrl, stateDir }: DevInstance,
  many: number,
): Promise<void> {
  const password = (await readFile(join(stateDir, "keys", "admin.redis"), "utf8")).trim();
  const newest = Date.now() - 3_600_000;
  const commands = Array.from({ length: many }, (_, index) => {
    const runId = `cli~archived-${index}`;
    const ms = newest - index * 1_000;
    const at = new Date(ms).toISOString();
    const columns = {
      status: "succeeded",
      agent: "archived",
      requester: "cli",
      model: "scripted/plan",
      steps: "1",
      toolCalls: "0",
      createdAt: at,
      updatedAt: at,
      attempts: "1",
    };
    return [
      ["HSET", `yard:run:{${runId}}:state`, ...Object.entries(columns).flat()],
      ["ZADD", "yard:runs", String(ms), runId],
    ];
  });
  const heard = await redisWords(redisUrl, { user: "admin", password }, commands.flat());
  assert.doesNotMatch(heard, /^-/m);
}
