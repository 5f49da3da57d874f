import type { Service } from "@switchyard/bus/serve";
import { changedMessage } from "@switchyard/contracts/if-version";
import {
  deleteSession,
  getSession,
  patchSession,
  resetSession,
  sessionHistory,
} from "@switchyard/contracts/agent-runner/sessions";
import { endSession } from "./end-session.ts";
import { findSession } from "./session-store.ts";
import { historyReply } from "./history-reply.ts";
import { labelHolder, shownSession, versionOf } from "./list-sessions.ts";
import type { SessionState } from "./session-record.ts";
import { flush, RECHECK_MS, type SessionParts } from "./session-parts.ts";
import { patch } from "./transitions.ts";

/** Handles requests about one session. Another owner's session is as unknown as one that does not exist. */
export function handleSessions(service: Service, parts: SessionParts): void {
  const { store, limits } = parts;
  const find = (wanted: { session: string; owner?: string | undefined }, caller: string) =>
    findSession(store, { ref: wanted.session, caller, owner: wanted.owner });

  service.handle(getSession, async (request, { caller, fail }) => {
    const found = await find(request, caller);
    if (found === null) throw fail.unknown_session(unknown(request.session), named(request));
    return { session: shownSession(found.session, found.stored, limits) };
  });

  service.handle(sessionHistory, async (request, { caller, fail }) => {
    const found = await find(request, caller);
    if (found === null) throw fail.unknown_session(unknown(request.session), named(request));
    const { session, stored, entry } = found;
    const lines = await store.history(entry.slot);
    const { limit, includeTools } = request;
    const { dropped } = stored;
    const { sessionId, key: sessionKey } = session;
    return { sessionId, sessionKey, ...historyReply(lines, { limit, includeTools, dropped }) };
  });

  service.handle(deleteSession, async (request, { caller, fail }) => {
    const found = await find(request, caller);
    const sessionId = found?.session.sessionId ?? "";
    const may = (session: SessionState): true => checkVersion(session, request, fail);
    const wanted = { sessionId, reason: "deleted" as const, by: caller, may };
    const ended = found === null ? null : await endSession(parts, found.entry, wanted);
    if (ended === null) throw fail.unknown_session(unknown(request.session), named(request));
    const { key: sessionKey } = ended.ended;
    const { cancelledRun, droppedRuns } = ended;
    return { sessionId, sessionKey, cancelledRun, droppedRuns };
  });

  service.handle(resetSession, async (request, { caller, fail }) => {
    const found = await find(request, caller);
    const endedSessionId = found?.session.sessionId ?? "";
    const wanted = { sessionId: endedSessionId, reason: "reset" as const, by: caller };
    const ended = found === null ? null : await endSession(parts, found.entry, wanted);
    if (found === null || ended === null || ended.next === null)
      throw fail.unknown_session(unknown(request.session), named(request));
    const session = shownSession(ended.next, EMPTY, limits);
    const { cancelledRun, droppedRuns } = ended;
    return { session, endedSessionId, cancelledRun, droppedRuns };
  });

  handlePatch(service, parts);
}

const EMPTY = { messages: 0, dropped: 0, bytes: 0 };

function handlePatch(service: Service, parts: SessionParts): void {
  const { store, limits, index, now } = parts;
  service.handle(patchSession, async (request, { caller, fail }) => {
    const { session: ref, owner, ifVersion: _, ...changes } = request;
    const found = await findSession(store, { ref, caller, owner });
    if (found === null) throw fail.unknown_session(unknown(ref), named(request));
    const { entry } = found;
    const { label = null, model = null } = changes;
    const problem = model === null ? null : parts.problemOfModel(model);
    if (model !== null && problem !== null) throw fail.unknown_model(problem, { model });
    const holder = label === null ? null : await labelHolder(parts, entry.owner, label);
    if (label !== null && holder !== null && holder.key !== found.session.key) {
      const message = `session ${holder.key} has the label ${label}`;
      throw fail.label_taken(message, { label, session: holder.key });
    }
    const at = new Date(now()).toISOString();
    const { sessionId } = found.session;
    const changed = await store.change(entry.slot, ({ record, ...counts }) => {
      const { session } = record;
      if (session?.sessionId !== sessionId) return { record, result: null };
      checkVersion(session, request, fail);
      const next = patch(record, session, { changes, by: caller, at });
      const shown = next.session === null ? null : shownSession(next.session, counts, limits);
      return { record: next, result: shown };
    });
    if (changed === null) throw fail.unknown_session(unknown(ref), named(request));
    await index.touch(entry, { usedMs: now(), lookMs: now() + RECHECK_MS });
    await flush(parts, entry);
    return { session: changed };
  });
}

function checkVersion(
  session: SessionState,
  { session: ref, ifVersion }: { session: string; ifVersion?: string | undefined },
  fail: { version_changed(message: string, data: { version: string }): Error },
): true {
  const version = versionOf(session);
  if (ifVersion === undefined || ifVersion === version) return true;
  throw fail.version_changed(changedMessage(`session ${ref}`, version), { version });
}

export function unknown(ref: string): string {
  return `there is no session ${ref}; see yours with sessions.list`;
}

function named({ session }: { readonly session: string }): { session: string } {
  return { session };
}
