import { createHash } from "node:crypto";
import type { Address } from "@switchyard/contracts/channel-address";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { SendRecord } from "./send-record.ts";

const KEEP_MS = 86_400_000;

/** What runs have sent by themselves, and where: their answer is not said there a second time. */
export interface SaidTexts {
  /** Remembers a message that a run of its sender says to have sent. */
  remember(record: SendRecord): Promise<void>;
  /** True when the run has sent exactly this text to exactly this address. */
  has(runId: string, address: Address, text: string): Promise<boolean>;
}

export function createSaidTexts(redis: Redis): SaidTexts {
  return {
    async remember({ about, caller, address, text, state }) {
      if (about.runId === null || about.answerTo !== null || state !== "sent") return;
      const runId = fullRunId(caller, about.runId);
      // A run of somebody else is not to be silenced.
      if (ownerOfRun(runId) !== caller) return;
      const key = keyOf(runId);
      await allFromRedis(
        redis.multi().sadd(key, printOf(address, text)).pexpire(key, KEEP_MS).exec(),
      );
    },
    async has(runId, address, text) {
      return (await fromRedis(redis.sismember(keyOf(runId), printOf(address, text)))) === 1;
    },
  };
}

function keyOf(runId: string): string {
  return `yard:{channels}:said:${runId}`;
}

function printOf({ channel, accountId, target, threadId }: Address, text: string): string {
  const route = [channel, accountId, target.kind, target.id, threadId ?? null, text.trim()];
  return createHash("sha256").update(JSON.stringify(route)).digest("hex");
}
