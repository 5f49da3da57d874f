import { PromisedCache } from "@switchyard/contracts/promised-cache";
import type { DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import type {
  checkPolicy,
  Decision,
  filterPolicy,
  Principal,
} from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";

type CheckReply = z.output<typeof checkPolicy.reply>;
type FilterReply = z.output<typeof filterPolicy.reply>;
type Promised = CheckReply["cacheable"];

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
 * Replies that the policy permits to be cached, each for as long as the policy promised to bring no other revision into force. See
 * `decisions/` on why a cached decision is never an old one. `askedAt` is from before the request was sent.
 */
export interface DecisionCache {
  /** The number of cached decisions and of the tools of cached lists, at least one for each list; some may have expired. */
  readonly size: number;
  find(key: string): Decided | null;
  keep(key: string, reply: CheckReply, askedAt: number): void;
  /** Resolves when the last equal request has its reply or has failed, never rejects; null when none is under way. */
  underWay(key: string): Promise<unknown> | null;
  /** Sends a request that equal ones can wait for, and caches the reply. */
  ask(key: string, request: () => Promise<CheckReply>): Promise<CheckReply>;
  /** Replies about lists of tools. A list is identified by its array: a change of its tools makes another array. */
  readonly filters: {
    find(key: string, refs: readonly ToolRef[]): FilterReply | null;
    keep(
      key: string,
      answer: { readonly refs: readonly ToolRef[]; readonly reply: FilterReply },
      askedAt: number,
    ): void;
  };
  clear(): void;
}

const MAX_DECISIONS = 10_000;
/** Tools of all lists that are cached; a list of a thousand for each of two hundred principals. */
const MAX_TOOLS = 200_000;

/** `now` in milliseconds, of a monotonic clock that no pause of the process stops. */
export function createDecisionCache(now: () => number): DecisionCache {
  const decisions = new PromisedCache<Decided>({ now, most: MAX_DECISIONS });
  const lists = new PromisedCache<{ refs: readonly ToolRef[]; reply: FilterReply }>({
    now,
    most: MAX_TOOLS,
    sizeOf: ({ refs }) => Math.max(1, refs.length),
  });
  let newest: string | null = null;
  const clear = (): void => {
    decisions.clear();
    lists.clear();
  };
  const untilOf = (cacheable: Promised, askedAt: number): number | null => {
    if (cacheable === undefined) return null;
    // Another revision answers: no answer of an earlier one stays valid.
    if (cacheable.revision !== newest) clear();
    newest = cacheable.revision;
    return askedAt + cacheable.forMs;
  };
  const keep: DecisionCache["keep"] = (key, { cacheable, ...reply }, askedAt) => {
    const { decision, principal, epoch, audit, signed } = reply;
    const decided = { decision, principal, epoch, audit, signed };
    // Each run has a token of its own, so most keys are never requested again.
    decisions.dropExpired();
    decisions.keep(key, decided, untilOf(cacheable, askedAt));
  };
  return {
    get size() {
      return decisions.size + lists.size;
    },
    find: (key) => decisions.find(key) ?? null,
    keep,
    underWay: (key) => decisions.underWay(key)?.catch(() => undefined) ?? null,
    ask: (key, request) =>
      decisions.ask(key, async () => {
        const askedAt = now();
        const reply = await request();
        keep(key, reply, askedAt);
        return reply;
      }),
    filters: {
      find(key, refs) {
        const found = lists.find(key);
        return found?.refs === refs ? found.reply : null;
      },
      keep(key, answer, askedAt) {
        lists.dropExpired();
        lists.keep(key, answer, untilOf(answer.reply.cacheable, askedAt));
      },
    },
    clear,
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
