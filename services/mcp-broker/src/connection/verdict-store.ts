import type { DiscoverResult } from "@modelcontextprotocol/client";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { TransportKind } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { Redis } from "@switchyard/service/redis";
import { z } from "zod";
import type { KeyedDigest } from "../auth/keyed-digest.ts";
import { isRecord } from "@switchyard/contracts/json-record";
import type { ResolvedServer } from "../declaration/env-references.ts";

/** Checked only as far as needed to recognise it: the protocol layer checks the whole when it loads it. */
const Discovered = z.custom<DiscoverResult>(
  (value) =>
    isRecord(value) && Array.isArray(value["supportedVersions"]) && isRecord(value["capabilities"]),
);

const EraVerdict = z.discriminatedUnion("era", [
  z.object({
    era: z.literal("legacy"),
    transport: TransportKind,
    /** The server speaks 2026-07-28, too, but its tools ask questions in the way of earlier revisions. */
    becauseOfQuestions: z.boolean().optional(),
  }),
  z.object({ era: z.literal("modern"), discover: Discovered }),
]);
/** The verdict of the first connection to a server, which saves the next one the probe. */
export type EraVerdict = z.infer<typeof EraVerdict>;

const Stored = z.object({ context: z.string(), at: z.iso.datetime(), verdict: EraVerdict });

/**
 * An old verdict `legacy` fails silently: the server may have learned the new protocol. One because of questions is not affected.
 */
const LEGACY_MAX_AGE_MS = 24 * 3_600_000;
const KEEP_MS = 30 * 24 * 3_600_000;
/** A server's description may be long; another probe costs less than storing it. */
const MAX_BYTES = 64 * 1024;

export type VerdictStore = ReturnType<typeof createVerdictStore>;

/**
 * Verdicts by server. One counts only for the same address with the same credentials: a server's offer may depend on its caller.
 * Redis that does not answer means a probe, never a failure.
 */
export function createVerdictStore(options: {
  redis: Redis;
  now: () => number;
  /** Stored in Redis instead of the context. */
  digest: KeyedDigest;
  onTrouble: (error: unknown) => void;
  /** A verdict because of questions was saved: it applies to the current sessions, too. */
  onOldQuestions?: (server: string) => void;
}) {
  const { redis, now, digest, onTrouble, onOldQuestions } = options;
  return {
    async find(server: string, context: string): Promise<EraVerdict | null> {
      try {
        const text = await redis.get(keyOf(server));
        const stored = text === null ? null : Stored.safeParse(JSON.parse(text));
        if (stored?.success !== true || stored.data.context !== digest(context)) return null;
        const { at, verdict } = stored.data;
        const isOld = now() - Date.parse(at) > LEGACY_MAX_AGE_MS;
        return verdict.era === "legacy" && verdict.becauseOfQuestions !== true && isOld
          ? null
          : verdict;
      } catch (error) {
        onTrouble(error);
        return null;
      }
    },
    async save(server: string, context: string, verdict: EraVerdict): Promise<void> {
      const at = new Date(now()).toISOString();
      const kept: z.input<typeof Stored> = { context: digest(context), at, verdict };
      const text = JSON.stringify(kept);
      try {
        if (Buffer.byteLength(text) > MAX_BYTES) await redis.del(keyOf(server));
        else await redis.set(keyOf(server), text, "PX", KEEP_MS);
      } catch (error) {
        onTrouble(error);
      }
      if (verdict.era === "legacy" && verdict.becauseOfQuestions === true) onOldQuestions?.(server);
    },
  };
}

/**
 * The context that a verdict depends on: how the server is started or addressed, and the credentials. It contains the credentials
 * and is for the store alone. `grant` names a login without being one.
 */
export function verdictContext(resolved: ResolvedServer, grant: string | null): string {
  return canonicalJson({ launch: resolved.launch, grant });
}

function keyOf(server: string): string {
  return `yard:{mcp}:era:${server}`;
}
