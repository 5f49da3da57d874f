import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { redisWords } from "../lib/redis-words.ts";
import type { DevInstance } from "../lib/yard-dev.ts";

/**
 * Writes so many ended runs of an agent, `cli~archived-0` being the newest, in the runner's own format: making them
 * would take an hour.
 */
export async function keepArchivedRuns(
  dev: DevInstance,
  many: number,
  {
    newestMs = Date.now() - 3_600_000,
    costUsd = 0,
    agent = "archived",
    errorCode,
  }: {
    readonly newestMs?: number;
    readonly costUsd?: number;
    readonly agent?: string;
    /** Set: they failed with this code. */
    readonly errorCode?: string;
  } = {},
): Promise<void> {
  const commands = Array.from({ length: many }, (_, index) => {
    const runId = `cli~${agent}-${index}`;
    const ms = newestMs - index * 1_000;
    const at = new Date(ms).toISOString();
    const columns = {
      status: errorCode === undefined ? "succeeded" : "failed",
      ...(errorCode !== undefined && { errorCode }),
      agent,
      requester: "cli",
      model: "scripted/plan",
      steps: "1",
      toolCalls: "0",
      createdAt: at,
      updatedAt: at,
      attempts: "1",
      costUsd: String(costUsd),
      usage: JSON.stringify({ inputTokens: 100, outputTokens: 10 }),
    };
    return [
      ["HSET", `yard:run:{${runId}}:state`, ...Object.entries(columns).flat()],
      ["ZADD", "yard:runs", String(ms), runId],
      ["ZADD", "yard:runs:of:cli", String(ms), runId],
    ];
  });
  await sendToRedis(dev, commands.flat());
}

/** Writes a given-up command for an agent, in the runner's own format: three runners would have to die at one moment. */
export async function keepDeadCommand(
  dev: DevInstance,
  { caller, name, agent, input }: { caller: string; name: string; agent: string; input: string },
): Promise<void> {
  const runId = `${caller}~${name}`;
  const subject = `yard.cmd.${caller}.run.start.${agent}`;
  const from = { subject, caller, streamSequence: 1 };
  const sentAt = new Date().toISOString();
  const failure = { code: "too_many_attempts", message: "2 runners died of the command" };
  const letter = { runId, ...from, sentAt, failure };
  const command = {
    contract: "run.start",
    tokens: { caller, agent },
    payload: { runId: name, input },
    ...from,
    messageId: null,
    publishedAt: sentAt,
  };
  const digest = canonicalDigest({ agent, requester: caller, asked: { input } });
  const sentMs = String(Date.parse(sentAt));
  await sendToRedis(dev, [
    ["HSET", "yard:runs:letters:texts", `${runId}:${sentMs}`, JSON.stringify({ digest, command })],
    ["ZADD", "yard:runs:letters", sentMs, JSON.stringify(letter)],
  ]);
}

async function sendToRedis(
  { redisUrl, stateDir }: DevInstance,
  commands: readonly (readonly string[])[],
): Promise<void> {
  const password = (await readFile(join(stateDir, "keys", "admin.redis"), "utf8")).trim();
  const received = await redisWords(redisUrl, { user: "admin", password }, commands);
  assert.doesNotMatch(received, /^-/m);
}
