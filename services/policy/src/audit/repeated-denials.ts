import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { AuditEntry, AuditWriter } from "@switchyard/audit/audit-writer";

type Repeat = Extract<AuditFact, { kind: "repeat" }>;

/** The facts that denials counted together have in common. */
export type Denial = Pick<Repeat, "what" | "provider" | "user" | "tool" | "rule" | "reason">;

/**
 * Records denials, the first few of a kind one by one and the rest of a minute as one record with their number, so that a caller
 * that is denied a thousand times a second is visible without filling the audit.
 */
export interface RepeatedDenials {
  /** Appends the fact, or counts it and returns the entry of the first of its kind. `sample` is called for one of those counted. */
  record(denial: Denial, fact: () => AuditFact, sample: () => string | undefined): AuditEntry;
  /** Writes the pending counts. */
  stop(): void;
}

interface Window {
  readonly denial: Denial;
  readonly begunAt: number;
  readonly like: AuditEntry;
  recorded: number;
  count: number;
  first: number;
  last: number;
  argsDigest: string | undefined;
}

const WINDOW_MS = 60_000;
const LOOK_MS = 5_000;
/** The limit for one kind within the time window. */
const MAX_RECORDED = 10;
/** The limit of kinds for one user; all further denials count as one kind. */
const MAX_KINDS = 50;

export function createRepeatedDenials(options: {
  readonly writer: Pick<AuditWriter, "append">;
  readonly now: () => number;
}): RepeatedDenials {
  const { writer, now } = options;
  const users = new Map<string, Map<string, Window>>();

  const end = ({ denial, like, count, first, last, argsDigest }: Window): void => {
    if (count === 0) return;
    writer.append(() => ({
      kind: "repeat",
      ...denial,
      like: like.ref,
      count,
      first: new Date(first).toISOString(),
      last: new Date(last).toISOString(),
      ...(argsDigest === undefined ? {} : { argsDigest }),
    }));
  };
  const endBefore = (time: number): void => {
    for (const [user, windows] of users) {
      for (const [key, window] of windows) {
        if (window.begunAt > time) continue;
        end(window);
        windows.delete(key);
      }
      if (windows.size === 0) users.delete(user);
    }
  };
  const timer = setInterval(() => endBefore(now() - WINDOW_MS), LOOK_MS).unref();

  return {
    record(denial, fact, sample) {
      const { what, provider, user, tool, rule, reason } = denial;
      const windows = users.get(user) ?? new Map<string, Window>();
      users.set(user, windows);
      const own = JSON.stringify([
        what,
        provider,
        tool?.name,
        tool?.server,
        tool?.tool,
        rule,
        reason,
      ]);
      const isOwn = windows.has(own) || windows.size < MAX_KINDS;
      const key = isOwn ? own : what;
      const at = now();
      const window = windows.get(key);
      if (window === undefined || at - window.begunAt >= WINDOW_MS) {
        if (window !== undefined) end(window);
        const like = writer.append(fact);
        const common = isOwn ? denial : { what, provider, user };
        const none = { recorded: 1, count: 0, first: at, last: at, argsDigest: undefined };
        windows.set(key, { denial: common, begunAt: at, like, ...none });
        return like;
      }
      if (window.recorded < MAX_RECORDED) {
        window.recorded += 1;
        return writer.append(fact);
      }
      if (window.count === 0) {
        window.first = at;
        window.argsDigest = sample();
      }
      window.count += 1;
      window.last = at;
      return window.like;
    },
    stop() {
      clearInterval(timer);
      endBefore(Number.POSITIVE_INFINITY);
    },
  };
}
