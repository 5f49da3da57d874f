import { filesOf, inputText } from "@switchyard/contracts/agent-runner/input-text";
import { cutForReader } from "@switchyard/contracts/cut-text";
import type { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import { redactText } from "@switchyard/service/redact";
import { isSameCommand } from "../journal/run-columns.ts";
import { arrive, type Placing } from "./arrive.ts";
import { isAdmin } from "../journal/run-access.ts";
import { findSession, type FoundSession } from "./session-store.ts";
import { FIRST_LOOK_MS, flush, proceed, type SessionParts } from "./session-parts.ts";
import type { IndexEntry } from "./session-index.ts";
import type { Placed, SessionCommand, SessionRecord, SessionState } from "./session-record.ts";
import { slotOf, slotOfId } from "./session-slot.ts";
import { confirmSteer, undoSteer } from "./transitions.ts";

/** The outcome for a message to a session. */
export type Placement =
  | Exclude<Placing, { outcome: "steer" | "interrupt" }>
  /** The run that is under way has received it. */
  | { readonly outcome: "steered"; readonly session: SessionState; readonly into: string }
  /** There is no such session for this caller, or its key cannot begin one. */
  | { readonly outcome: "unknown" }
  | { readonly outcome: "too_many" };

/**
 * Places a message in its session and applies the consequences: the run that is under way receives it or is cancelled, and the
 * events are published. A repeated message finds its earlier position.
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
    /** The session, if the caller has already looked it up. */
    readonly found?: FoundSession | null;
    /** The caller begins the run itself, so no message to the queue is needed. */
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
        if (await steerRun(parts, { into, caller, command })) {
          const at = new Date(parts.now()).toISOString();
          await parts.store.change(entry.slot, ({ record }) => ({
            record: confirmSteer(record, { runId: command.runId, at }),
            result: null,
          }));
          await flush(parts, entry);
          return { outcome: "steered", session, into };
        }
        // The run is over, or does not exist yet. Then the message waits for its turn.
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
        // The caller can begin the run without waiting until the events are published.
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
    // Checked after the read: a run that ends later changes the record, and then this is decided anew.
    const over = await endedRun(parts, record, command);
    if (over !== null) return { record, result: over };
    const isOwnRun = asksMoreThanWords(command);
    const said = { runId, digest, requester, onBusy, isOwnRun };
    const arrival = { slot, owner, key, agent, title: titleOf(command), skillsOff, ...said };
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

const TITLE_CHARACTERS = 60;

/** The first words of a message in a line, without credentials; an invoked skill is shown as it is typed. */
function titleOf({ payload: { input, skill } }: SessionCommand): string {
  const words = `${skill === undefined ? "" : `/${skill} `}${redactText(inputText(input))}`;
  return cutForReader(words.trim().split(/\s*\n/, 1)[0] ?? "", TITLE_CHARACTERS);
}

/** Finds the ended run of a message that is delivered once more, which gets neither a second turn nor its old position. */
async function endedRun(
  { runs }: SessionParts,
  { session }: SessionRecord,
  { runId, digest }: SessionCommand,
): Promise<Placing | null> {
  if (session === null || session.active?.runId === runId) return null;
  const status = await runs.status(runId);
  if (status === null || status === "running" || status === "waiting") return null;
  const isSame = isSameCommand(await runs.digest(runId), digest);
  return { outcome: isSame ? "go" : "taken", session };
}

/** True for a command that requests more than a message can give to a run under way; the rest would be silently dropped. */
function asksMoreThanWords({ payload, followUp, sender }: SessionCommand): boolean {
  const { input, skill, model, thinking, sampling, limits, replay, output } = payload;
  if (filesOf(input).length > 0) return true;
  return [skill, model, thinking, sampling, limits, replay, output, followUp, sender].some(
    (request) => request !== undefined,
  );
}

/** Resolves the session of a message; null when the caller has no session by that id or owner. */
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
  // An id is not a name to begin a session under, and a caller cannot begin a session for another owner.
  if (slotOfId(ref) !== null || (owner !== undefined && owner !== caller)) return null;
  return { entry: { slot: slotOf(caller, ref), owner: caller }, key: ref, isNew: true };
}

/** True when the run that is under way has received the message, now or in an earlier attempt. */
async function steerRun(
  { controls, now }: SessionParts,
  { into, caller, command }: { into: string; caller: string; command: SessionCommand },
): Promise<boolean> {
  const { input } = command.payload;
  const message = inputText(input);
  const at = new Date(now()).toISOString();
  const outcome = await controls.append({
    runId: into,
    entry: { kind: "steered", at, by: caller, message },
    by: null, // every user of the session may talk to its run
    expected: null,
    command: `session:${command.runId}`,
  });
  return outcome === "taken" || outcome === "known";
}

/** Cancels the session's run in the name of its requester, or of an administrator. */
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
