import { isAdmin } from "../journal/run-access.ts";
import type { IndexEntry } from "./session-index.ts";
import type { SessionState } from "./session-record.ts";
import { slotOf, slotOfId } from "./session-slot.ts";
import type { SessionStore, StoredSession } from "./session-store.ts";

/** A session that the caller may use. */
export interface FoundSession {
  readonly entry: IndexEntry;
  readonly stored: StoredSession;
  readonly session: SessionState;
}

/**
 * Finds a session by its key or id for a caller. Null when there is none, and for a session of another owner: a caller who may
 * not use it cannot distinguish the two.
 */
export async function findSession(
  store: Pick<SessionStore, "read">,
  query: { readonly ref: string; readonly caller: string; readonly owner?: string | undefined },
): Promise<FoundSession | null> {
  const { ref, caller, owner = caller } = query;
  const named = slotOfId(ref);
  const slot = named ?? slotOf(owner, ref);
  const stored = await store.read(slot);
  const { session } = stored.record;
  if (session === null || !mayUse(session, caller)) return null;
  if (named !== null && session.sessionId !== ref) return null;
  return { entry: { slot, owner: session.owner }, stored, session };
}

function mayUse({ owner }: SessionState, caller: string): boolean {
  return owner === caller || isAdmin(caller);
}
