import type { Service } from "@switchyard/bus/serve";
import { listSessions, type Session } from "@switchyard/contracts/agent-runner/sessions";
import type { z } from "zod";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { isAdmin } from "../journal/run-access.ts";
import { historyReply } from "./history-reply.ts";
import { type SessionParts, endsAtMs } from "./session-parts.ts";
import type { SessionState, SessionLimits } from "./session-record.ts";
import type { StoredSession } from "./session-store.ts";

const PAGE = 100;
/** A filter that matches little stops after this number of sessions. */
const MAX_SCANNED = 5_000;
const HISTORY_AT_ONCE = 4;

type Filter = z.output<typeof listSessions.request>;
type Listed = {
  readonly slot: string;
  readonly stored: StoredSession;
  readonly session: SessionState;
  readonly cursor: string;
};
interface Found {
  readonly listed: Listed[];
  readonly next: string | null;
}

/** Lists sessions. Sessions that the caller may not see are silently left out. */
export function handleSessionList(service: Service, parts: SessionParts): void {
  service.handle(listSessions, async (filter, { caller }) => {
    const owner = ownerOf(filter, caller);
    const { listed: found, next }: Found =
      owner === undefined ? { listed: [], next: null } : await findPage(parts, owner, filter);
    const sessions = [];
    for (let start = 0; start < found.length; start += HISTORY_AT_ONCE) {
      const some = found.slice(start, start + HISTORY_AT_ONCE);
      sessions.push(...(await Promise.all(some.map((listed) => shown(parts, listed, filter)))));
    }
    return { count: sessions.length, sessions, next };
  });
}

/** The session of an owner that has the label; null when there is none. */
export async function labelHolder(
  parts: SessionParts,
  owner: string,
  label: string,
): Promise<SessionState | null> {
  for await (const { session } of scan(parts, owner)) if (session.label === label) return session;
  return null;
}

/** Null: sessions of all owners. Undefined: those of an owner whose sessions the caller may not see. */
function ownerOf({ owner, all }: Filter, caller: string): string | null | undefined {
  if (!isAdmin(caller)) return owner === undefined || owner === caller ? caller : undefined;
  return owner ?? (all ? null : caller);
}

async function findPage(parts: SessionParts, owner: string | null, filter: Filter): Promise<Found> {
  const listed: Listed[] = [];
  const scanning = scan(parts, owner, filter.cursor);
  for (;;) {
    const { done, value } = await scanning.next();
    if (done === true) return { listed, next: value };
    if (matches(value.session, filter, parts.now())) listed.push(value);
    if (listed.length === filter.limit) return { listed, next: value.cursor };
  }
}

/** Returns where it stopped; null at the end. */
async function* scan(
  parts: SessionParts,
  owner: string | null,
  from: string | null = null,
): AsyncGenerator<Listed, string | null> {
  let cursor = from;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    const { rows, isLast } = await parts.index.pageBehind(owner, { cursor, count: PAGE });
    const stored = await Promise.all(rows.map(({ entry }) => parts.store.read(entry.slot)));
    for (const [index, { entry, cursor: here }] of rows.entries()) {
      const one = stored[index];
      const session = one?.record.session ?? null;
      if (one !== undefined && session !== null)
        yield { slot: entry.slot, stored: one, session, cursor: here };
    }
    if (isLast) return null;
    cursor = rows.at(-1)?.cursor ?? cursor;
  }
  return cursor;
}

function matches(
  { key, label, title, kind, updatedAt }: SessionState,
  { kinds, search, activeMinutes }: Filter,
  nowMs: number,
): boolean {
  if (kinds !== undefined && !kinds.includes(kind)) return false;
  if (activeMinutes !== undefined && Date.parse(updatedAt) < nowMs - activeMinutes * 60_000)
    return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return [key, label ?? "", title ?? ""].some((text) => text.toLowerCase().includes(wanted));
}

async function shown(parts: SessionParts, { slot, stored, session }: Listed, filter: Filter) {
  const row = shownSession(session, stored, parts.limits);
  const { messageLimit: limit } = filter;
  if (limit === 0) return row;
  const lines = await parts.store.history(slot);
  const { messages } = historyReply(lines, { limit, includeTools: false, dropped: 0 });
  return { ...row, history: messages };
}

/** The fields of a session that are shown to its users. */
export function shownSession(
  session: SessionState,
  { messages, dropped, bytes }: Omit<StoredSession, "record">,
  limits: SessionLimits,
): Session {
  const { active, queue, steered: _s, untold: _u, refused: _r, ...fields } = session;
  return {
    ...fields,
    version: versionOf(session),
    endsAt: new Date(endsAtMs(session, limits)).toISOString(),
    messages,
    droppedMessages: dropped,
    bytes,
    activeRun: active?.runId ?? null,
    queued: queue.length,
  };
}

/** The version of the settings: the same settings have the same version. The session's agent is a setting, too. */
export function versionOf(session: SessionState): string {
  const { sessionId, label, kind, onBusy, agent, model, skillsOff } = session;
  return canonicalDigest({ sessionId, label, kind, onBusy, agent, model, skillsOff });
}
