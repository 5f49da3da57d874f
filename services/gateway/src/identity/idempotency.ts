import { createHash } from "node:crypto";
import type { Redis } from "@switchyard/service/redis";
import { Problem } from "../problems/problem.ts";
import { createRecentRecords, type RecordLimits } from "./recent-records.ts";

/** Stores the request of each `Idempotency-Key`, as in https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/. */
export interface Idempotency {
  /**
   * Binds a key of a caller to a request, and returns the first answer if there was one; null for a request that has none yet.
   * Throws a Problem (422) when the key was used with another request, and rejects with a StoreError.
   */
  begin(caller: string, key: string, request: KeyedRequest): Promise<string | null>;
  /** Stores the answer for a repeat. Rejects with a StoreError. */
  answered(caller: string, key: string, request: KeyedRequest, answer: string): Promise<void>;
}

export interface KeyedRequest {
  readonly method: string;
  /** The path and the query. */
  readonly target: string;
  readonly body: Uint8Array;
}

const IDEMPOTENCY_LIMITS: RecordLimits = { most: 10_000, ttlMs: 24 * 60 * 60_000 };

export function createIdempotency(redis: Redis, now: () => number): Idempotency {
  const records = createRecentRecords(redis, "idempotency", { limits: IDEMPOTENCY_LIMITS, now });
  return {
    async begin(caller, key, request) {
      const digest = digestOf(request);
      const known = await records.add(caller, key, digest);
      if (known === null || known === digest) return null;
      if (known.startsWith(`${digest} `)) return known.slice(digest.length + 1);
      const detail =
        "this Idempotency-Key came with another request in the last 24 hours: send another key, or the same method, address and body";
      throw new Problem({ status: 422, code: "idempotency_key_reused", detail });
    },
    answered: (caller, key, request, answer) =>
      records.replace(caller, key, `${digestOf(request)} ${answer}`),
  };
}

function digestOf({ method, target, body }: KeyedRequest): string {
  return createHash("sha256").update(`${method} ${target}\n`).update(body).digest("base64url");
}
