import { randomUUID } from "node:crypto";
import { ContentBlock, ValueProblem } from "@switchyard/contracts/mcp";
import { ToolRef } from "@switchyard/contracts/tool-names";
import type { Redis } from "../redis.ts";
import { z } from "zod";

/**
 * What is known of a call with a `callId`, kept for a day: a claim from before it is sent, then its
 * outcome. A claim without an outcome means that nobody knows whether the call happened.
 */
export interface CallStore {
  /** The record of a call, or null. Rejects with CallStoreError. */
  read(callId: string): Promise<CallRecord | null>;
  /** Writes the claim unless the id has a record already, and returns that one. Rejects with CallStoreError. */
  claim(callId: string, call: CallIdentity): Promise<Claim | CallRecord>;
}

export interface CallIdentity {
  readonly fingerprint: string;
  readonly ref: ToolRef;
}

/** The right to send the call. Exactly one of the two ends it; without either the outcome stays unknown. */
export interface Claim {
  readonly state: "new";
  finish(outcome: CallOutcome): Promise<void>;
  /** The call was provably not sent: the id is free again. */
  release(): Promise<void>;
}

/** Redis cannot be asked. */
export class CallStoreError extends Error {
  override readonly name = "CallStoreError";
}

export const CallResult = z.object({
  content: z.array(ContentBlock),
  structuredContent: z.unknown().optional(),
  isError: z.boolean(),
  text: z.string(),
  durationMs: z.number(),
});
export type CallResult = z.infer<typeof CallResult>;

/** An end that a repeat must see again: a result, or a failure that the server answered with. */
export const CallOutcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("result"), result: CallResult }),
  z.object({ kind: z.literal("failed"), reason: z.string() }),
  /** The tool ran, and its structured result does not fit its output schema. */
  z.object({ kind: z.literal("invalid"), problems: z.array(ValueProblem), result: CallResult }),
  z.object({ kind: z.literal("too_large"), bytes: z.int(), limitBytes: z.int() }),
]);
export type CallOutcome = z.infer<typeof CallOutcome>;

const identity = { fingerprint: z.string(), ref: ToolRef };
const CallRecord = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("claimed"),
    claimId: z.string(),
    /** The process that has the call in work; absent in claims of older ones. */
    holder: z.string().optional(),
    ...identity,
  }),
  z.object({ state: z.literal("done"), outcome: CallOutcome, ...identity }),
]);
export type CallRecord = z.infer<typeof CallRecord>;

const KEPT_SECONDS = 24 * 60 * 60;

/** Deletes the claim only while it is still ours: after a day the id may belong to another call. */
const RELEASE = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`;

/** `holder` is the name under which this process can be asked about its claims. */
export function createCallStore(redis: Redis, holder: string): CallStore {
  return {
    async read(callId) {
      return parseRecord(await asked(() => redis.get(keyOf(callId))));
    },
    async claim(callId, { fingerprint, ref }) {
      const key = keyOf(callId);
      const claimId = randomUUID();
      const text = JSON.stringify({
        state: "claimed",
        claimId,
        holder,
        fingerprint,
        ref,
      } satisfies CallRecord);
      const existing = await asked(() => redis.set(key, text, "EX", KEPT_SECONDS, "NX", "GET"));
      const record = parseRecord(existing);
      if (record !== null) return record;
      return {
        state: "new",
        async finish(outcome) {
          const done = JSON.stringify({
            state: "done",
            outcome,
            fingerprint,
            ref,
          } satisfies CallRecord);
          await asked(() => redis.set(key, done, "EX", KEPT_SECONDS));
        },
        async release() {
          await asked(() => redis.eval(RELEASE, 1, key, text));
        },
      };
    },
  };
}

function keyOf(callId: string): string {
  return `yard:call:{${callId}}`;
}

function parseRecord(text: string | null): CallRecord | null {
  return text === null ? null : CallRecord.parse(JSON.parse(text));
}

async function asked<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw new CallStoreError(`Redis did not answer: ${String(error)}`, { cause: error });
  }
}
