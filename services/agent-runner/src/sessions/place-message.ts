import { filesOf, inputText } from "@switchyard/contracts/input-text";
import type { BusyPolicy } from "@switchyard/contracts/session-key";
import { arrive, type Placing } from "./arrive.ts";
import { isAdmin } from "../journal/run-access.ts";
import { findSession, type FoundSession } from "./find-session.ts";
import { FIRST_LOOK_MS, flush, proceed, type SessionParts } from "./session-parts.ts";
import type { IndexEntry } from "./session-index.ts";
import type { Placed, SessionCommand, SessionRecord, SessionState } from "./session-record.ts";
import { slotOf, slotOfId } from "./session-slot.ts";
import { confirmSteer, undoSteer } from "./transitions.ts";

/** What became of a message for a session. */
export type Placement =
  | Exclude<Placing, { outcome: "steer" | "interrupt" }>
  /** A run that is under way has it. */
  | { readonly outcome: "steered"; readonly session: SessionState; readonly into: string }
  /** There is no such session for this caller, or its key cannot begin one. */
  | { readonly outcome: "unknown" }
  | { readonly outcome: "too_many" };

/**
 * Gives a message its place in its session and does what follows from it: the run that is under way hears
 * it or is cancelled, and what happened is told. A message that comes again finds its place.
 */
export async function placeMessage(
  parts: SessionParts,
  request: {
    readonly ref: string;
    readonly caller: string;
    readonly owner?: string | undefined;
    readonly command: SessionCommand;
    readonly onBusy: BusyPolicy | undefined;
    readonly skillsOff?: readonly string[] | undefined;
    /** The session, where it was looked for already. */
    readonly found?: FoundSession | null;
    /** Its run begins where it is placed, so nobody need be told that it may. */
    readonly isHere?: true;
  },
): Promise<Placement> {
  const { ref, caller, command, skillsOff } = request;
  const where = await locate(parts.store, request);
  if (where === null) return { outcome: "unknown" };
  const { entry, key, isNew } = where;
  const nowMs = parts.now();
  const times = { usedMs: nowMs, lookMs: nowMs + FIRST_LOOK_MS };
  if (!isNew) await parts.index.touch(entry, times);
  else if (!(await parts.index.reserve(entry, times))) return { outcome: "too_many" };
  const isKey = slotOfId(ref) === null;
  let { onBusy } = request;
  for (;;) {
    const placing = await decide(parts, { entry, key, isKey, ref, command, onBusy, skillsOff });
    if (placing === null) return { outcome: "unknown" };
    switch (placing.outcome) {
      case "steer": {
        const { session, into } = placing;
        if (await hears(parts, { into, caller, command })) {
          const at = new Date(parts.now()).toISOString();
          await parts.store.change(entry.slot, ({ record }) => ({
            record: confirmSteer(record, { runId: command.runId, at }),
            result: null,
          }));
          await flush(parts, entry);
          return { outcome: "steered", session, into };
        }
        // It is over, or not there yet. Then the message waits for its turn.
        await parts.store.change(entry.slot, ({ record }) => ({
          record: undoSteer(record, command.runId),
          result: null,
        }));
        onBusy = "enqueue";
        continue;
      }
      case "interrupt": {
        await interrupt(parts, placing.active, { caller, runId: command.runId });
        await flush(parts, entry);
        return { outcome: "queued", session: placing.session, position: placing.position };
      }
      case "go":
        // Whoever begins the run need not wait until others have heard of the message.
        await Promise.all([
          request.isHere === true
            ? null
            : proceed(parts, { sessionId: placing.session.sessionId, runId: command.runId }),
          flush(parts, entry),
        ]);
        return placing;
      default:
        await flush(parts, entry);
        return placing;
    }
  }
}

interface Decision {
  readonly entry: IndexEntry;
  readonly key: string;
  readonly isKey: boolean;
  readonly ref: string;
  readonly command: SessionCommand;
  readonly onBusy: BusyPolicy | undefined;
  readonly skillsOff: readonly string[] | undefined;
}

/** Null when the session of an id has ended. */
function decide(parts: SessionParts, decision: Decision): Promise<Placing | null> {
  const { entry, key, isKey, ref, command, onBusy, skillsOff } = decision;
  const { runId, digest, requester, agent } = command;
  const { slot, owner } = entry;
  return parts.store.change<Placing | null>(slot, async ({ record }) => {
    if (!isKey && record.session?.sessionId !== ref) return { record, result: null };
    // Looked at here, behind the read: a run that ends later changes the record, and then this is decided again.
    const over = await endedRun(parts, record, command);
    if (over !== null) return { record, result: over };
    const isOwnRun = asksMoreThanWords(command);
    const said = { runId, digest, requester, onBusy, isOwnRun };
    const arrival = { slot, owner, key, agent, skillsOff, ...said };
    const now = { nowMs: parts.now(), limits: parts.limits };
    const next = arrive(record, arrival, now);
    const isKept = next.record !== record && next.placing.outcome !== "steer";
    return {
      record: next.record,
      result: next.placing,
      ...(isKept ? { keep: command } : {}),
    };
  });
}

/** A message that is brought once more gets no second turn when its run has ended, and not its place again. */
async function endedRun(
  { runs }: SessionParts,
  { session }: SessionRecord,
  { runId, digest }: SessionCommand,
): Promise<Placing | null> {
  if (session === null || session.active?.runId === runId) return null;
  const status = await runs.status(runId);
  if (status === null || status === "running" || status === "waiting") return null;
  const isSame = (await runs.digest(runId)) === digest;
  return { outcome: isSame ? "go" : "taken", session };
}

/** What a run that is under way cannot be given by a message; it would be dropped without a word. */
function asksMoreThanWords({ payload, followUp }: SessionCommand): boolean {
  const { input, skill, model, thinking, sampling, limits, replay, output } = payload;
  if (filesOf(input).length > 0) return true;
  return [skill, model, thinking, sampling, limits, replay, output, followUp].some(
    (request) => request !== undefined,
  );
}

/** Where a message belongs; null when the caller has no session by that id or owner. */
async function locate(
  store: SessionParts["store"],
  asked: {
    readonly ref: string;
    readonly caller: string;
    readonly owner?: string | undefined;
    readonly found?: FoundSession | null;
  },
): Promise<{ entry: IndexEntry; key: string; isNew: boolean } | null> {
  const { ref, caller, owner } = asked;
  const found = asked.found === undefined ? await findSession(store, asked) : asked.found;
  if (found !== null) return { entry: found.entry, key: found.session.key, isNew: false };
  // An id is not a name to begin a session under, and nobody begins one for somebody else.
  if (slotOfId(ref) !== null || (owner !== undefined && owner !== caller)) return null;
  return { entry: { slot: slotOf(caller, ref), owner: caller }, key: ref, isNew: true };
}

/** True when the run that is under way has the message, now or since an earlier attempt. */
async function hears(
  { controls, now }: SessionParts,
  { into, caller, command }: { into: string; caller: string; command: SessionCommand },
): Promise<boolean> {
  const { input } = command.payload;
  const message = inputText(input);
  const at = new Date(now()).toISOString();
  const outcome = await controls.tell({
    runId: into,
    entry: { kind: "steered", at, by: caller, message },
    by: null, // whoever may use the session may talk to its run
    expected: null,
    command: `session:${command.runId}`,
  });
  return outcome === "taken" || outcome === "known";
}

/** The owner of a session may end its run, whoever asked for it. */
async function interrupt(
  { controls, now }: SessionParts,
  active: Placed,
  { caller, runId }: { caller: string; runId: string },
): Promise<void> {
  const at = new Date(now()).toISOString();
  const by = isAdmin(caller) ? caller : active.requester;
  const reason = `a newer message of its session, ${runId}, takes its place`;
  const command = `session:${runId}`;
  await controls.cancel({ runId: active.runId, by, at, reason, command });
}
