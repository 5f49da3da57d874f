import { setImmediate as immediate, setTimeout as delay } from "node:timers/promises";
import type { Principal } from "@switchyard/contracts/policy/policy";
import {
  MAX_STOPS,
  Stop,
  type StopInForce,
  type StopScope,
} from "@switchyard/contracts/policy/policy-budgets";
import { runsAbove } from "@switchyard/contracts/agent-runner/run-context";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";

/**
 * The list of stops, shared by all replicas through Redis. Decisions read the copy in memory, which `refresh` renews several
 * times a second. The copy is a lease: `isCurrent` renews it when it is older than {@link KNOWN_FOR_MS}, so that every decision
 * takes into account all stops that existed that long before.
 */
export interface StopList {
  readonly all: readonly Stop[];
  /** Returns the stop that denies a call, or null. */
  find(call: { readonly principal: Principal; readonly tool: ToolRef }): Stop | null;
  /** Returns the stop that denies all calls of an actor, or null. */
  ofRun(actor: Principal): Stop | null;
  /** True when tokens signed by a key are refused. */
  readonly isKeyStopped: (kid: string) => boolean;
  /** True when the copy is recent enough for decisions. False when Redis does not answer: then no call may pass. */
  isCurrent(): true | Promise<boolean>;
  refresh(): Promise<void>;
  /** Returns null when there are too many. */
  add(stop: Stop): Promise<Stop | null>;
  /** False when there was none. */
  remove(scope: StopScope): Promise<boolean>;
}

/** The reason of denials while the stops are unknown. */
export const STOPS_UNKNOWN =
  "it cannot be seen what is stopped, because Redis does not answer; try again";

const KEY = "yard:policy:{stops}";
/** Longer than the interval between two polls, and much shorter than a second. */
export const KNOWN_FOR_MS = 300;
/** Clients wait at most two seconds for a decision, and an error with the reason is better than their timeout. */
const RENEW_WITHIN_MS = 1_500;

/** KEYS: the hash. ARGV: field, stop, how many there may be. */
const ADD = `${ESSENTIAL}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
`;

/**
 * Creates the list; `now` returns milliseconds of a monotonic clock. It is no `PromisedCache`, because it is one value whose expiry denies
 * calls and keeps the stops that are known, where a cache would drop them.
 */
export function createStopList(
  redis: Redis,
  now: () => number = () => performance.now(),
): StopList {
  let stops: ReadonlyMap<string, Stop> = new Map();
  let knownAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<boolean> | null = null;
  const refresh = async (): Promise<void> => {
    const askedAt = now();
    const stored = await fromRedis(redis.hgetall(KEY));
    // If two replies overtake each other, the one that was requested later counts.
    if (askedAt < knownAt) return;
    knownAt = askedAt;
    stops = new Map(
      Object.entries(stored).map(([field, text]) => [field, Stop.parse(JSON.parse(text))]),
    );
  };
  const ofRun = ({ user, agent, runId, context }: Principal): Stop | null => {
    if (stops.size === 0) return null;
    const fields = [
      "all",
      `user:${user}`,
      ...(agent === null ? [] : [`agent:${agent}`]),
      ...(runId === null ? [] : [`run:${runId}`]),
      ...runsAbove(context ?? {}).map((above) => `run:${above}`),
    ];
    for (const field of fields) {
      const stop = stops.get(field);
      if (stop !== undefined) return stop;
    }
    return null;
  };
  return {
    get all() {
      return [...stops.values()];
    },
    find({ principal, tool }) {
      if (stops.size === 0) return null;
      const ofServer = tool.server === null ? undefined : stops.get(`server:${tool.server}`);
      return ofRun(principal) ?? ofServer ?? null;
    },
    ofRun,
    isKeyStopped: (kid) => stops.has(`key:${kid}`),
    isCurrent() {
      if (now() - knownAt <= KNOWN_FOR_MS) return true;
      renewing ??= refresh()
        .then(
          () => true,
          () => false,
        )
        .finally(() => {
          renewing = null;
        });
      return Promise.race([renewing, timeUp()]);
    },
    refresh,
    async add(stop) {
      const args = [fieldOf(stop.scope), JSON.stringify(stop), String(MAX_STOPS)];
      const added = await fromRedis(redis.eval(ADD, 1, KEY, ...args));
      await refresh();
      return added === 1 ? stop : null;
    },
    async remove(scope) {
      const removed = await fromRedis(redis.hdel(KEY, fieldOf(scope)));
      await refresh();
      return removed === 1;
    },
  };
}

/** A process that was held up finds its time over before it reads an answer that is there: it reads first. */
async function timeUp(): Promise<false> {
  await delay(RENEW_WITHIN_MS, undefined, { ref: false });
  return immediate(false, { ref: false });
}

/**
 * True when the stop is about the principal, or about the tool's server. Only the token shows which key signed it, so stops of
 * keys are checked there.
 */
export function isStoppedBy(
  { scope }: Pick<Stop, "scope">,
  { principal, tool }: { readonly principal: Principal; readonly tool: ToolRef },
): boolean {
  const { user, agent, runId, context } = principal;
  switch (scope.kind) {
    case "all":
      return true;
    case "user":
      return user === scope.name;
    case "agent":
      return agent === scope.name;
    case "run":
      return runId === scope.name || runsAbove(context ?? {}).includes(scope.name);
    case "server":
      return tool.server === scope.name;
    case "key":
      return false;
    default:
      return scope satisfies never;
  }
}

/** The part of a stop that a caller may see: not who set it, nor when. */
export function stopInForce({ scope, reason }: Stop): StopInForce {
  return { scope, reason };
}

/** Returns the reason in denials because of a stop. */
export function stopReason({ scope, reason }: Stop): string {
  return `${scopeText(scope)} stopped by an administrator: ${reason}`;
}

function scopeText(scope: StopScope): string {
  return scope.kind === "all" ? "all calls are" : `calls of ${scope.kind} ${scope.name} are`;
}

function fieldOf(scope: StopScope): string {
  return scope.kind === "all" ? "all" : `${scope.kind}:${scope.name}`;
}
