import type { DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import type { checkPolicy, Decision, Principal } from "@switchyard/contracts/policy/policy";
import type { z } from "zod";
import { createCachedFilters, type CachedFilters } from "./cached-filters.ts";

type CheckReply = z.output<typeof checkPolicy.reply>;

/** A decision that holds until its lease ends. */
export interface Decided {
  readonly decision: Decision;
  readonly principal: Principal;
  /** The epoch of the claim that the run token was minted for; absent without one, and in older tokens. */
  readonly epoch?: number | undefined;
  /** The policy's record of it in the audit. */
  readonly audit?: string | undefined;
  /** The policy's signature of it, for the provider's own record of the call. */
  readonly signed?: DecisionSignature | undefined;
}

/**
 * Decisions that the policy permits to be cached, each for as long as the policy promised to bring no other revision into force. See
 * `decisions/` on why a cached decision is never an old one.
 */
export interface DecisionCache {
  /** The number of cached decisions; some may have expired. */
  readonly size: number;
  find(key: string): Decided | null;
  /** `askedAt` is from before the request was sent, so that the answer's travel time is not counted twice. */
  keep(key: string, reply: CheckReply, askedAt: number): void;
  /** Answers about whole lists, under the same promise. */
  readonly filters: CachedFilters;
  /** Empties the kept lists, too. */
  clear(): void;
}

interface Kept extends Decided {
  readonly revision: string;
  readonly until: number;
}

const MAX_KEPT = 10_000;

/** `now` in milliseconds, of a monotonic clock that no pause of the process stops. */
export function createDecisionCache(now: () => number): DecisionCache {
  const kept = new Map<string, Kept>();
  const filters = createCachedFilters(now);
  let newest: string | null = null;
  return {
    filters,
    get size() {
      return kept.size;
    },
    find(key) {
      const found = kept.get(key);
      if (found === undefined) return null;
      if (now() < found.until) return found;
      kept.delete(key);
      return null;
    },
    keep(key, { decision, principal, epoch, audit, signed, cacheable }, askedAt) {
      // Another revision answers: no answer of an earlier one stays valid.
      const revision = cacheable?.revision ?? null;
      if (revision !== null && revision !== newest) {
        kept.clear();
        newest = revision;
      }
      kept.delete(key);
      if (cacheable === undefined) return;
      if (kept.size >= MAX_KEPT) kept.clear(); // they live for less than a second anyway
      kept.set(key, {
        decision,
        principal,
        epoch,
        audit,
        signed,
        revision: cacheable.revision,
        until: askedAt + cacheable.forMs,
      });
    },
    clear() {
      kept.clear();
      filters.clear();
      newest = null;
    },
  };
}

/** Everything that a decision depends on besides the arguments and the revision. */
export function decisionKey(question: {
  readonly onBehalfOf: string;
  readonly token: string | undefined;
  readonly server: string | null;
  readonly tool: string;
  readonly name: string;
  readonly pin: string | undefined;
  /** The facts that the declaration has about the server, as one line. */
  readonly facts: string;
}): string {
  const { onBehalfOf, token = "", server, tool, name, pin = "", facts } = question;
  // Only the token, whose length is in the key, and the tool's own name, which is last, can hold a separator.
  return `${onBehalfOf}\n${token.length}\n${token}\n${server ?? ""}\n${facts}\n${pin}\n${name}\n${tool}`;
}
