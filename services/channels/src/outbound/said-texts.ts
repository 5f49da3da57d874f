import { createHash } from "node:crypto";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type { SendRecord } from "./send-record.ts";

const KEEP_MS = 86_400_000;

/** Records which texts runs have sent themselves, and where, so that their answer is not sent there a second time. */
export interface SaidTexts {
  /** Records a message that names a run of its sender. */
  remember(record: SendRecord): Promise<void>;
  /** True when the run has sent exactly this text to exactly this address. */
  has(runId: string, address: Address, text: string): Promise<boolean>;
}

export function createSaidTexts(redis: Redis): SaidTexts {
  return {
    async remember({ about, caller, address, text, state }) {
      if (about.runId === null || about.answerTo !== null || state !== "sent") return;
      const runId = fullRunId(caller, about.runId);
      // A caller must not suppress the answer of another user's run.
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
