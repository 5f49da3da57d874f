import type { Delivery } from "@switchyard/bus/delivery";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { beginRun, forkRun, spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { SCHEDULER_USER } from "@switchyard/contracts/user-names";
import { proceedSession } from "@switchyard/contracts/agent-runner/sessions";
import { applyControl, RUN_COMMANDS, runIdOfMessage } from "../commands/control-command.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import {
  type MessageFacts,
  type Rejection,
  type RunCommand,
  readCommand,
  wholeRunId,
} from "../commands/run-command.ts";
import { isNestedTooDeeply } from "../core/nesting.ts";
import type { DeferredCommand } from "../journal/deferred-commands.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { commandInTurn } from "../sessions/enter-session.ts";
import { controlledRun } from "../journal/run-access.ts";
import type { RunStore } from "../journal/run-store.ts";
import { notYoursToCopy, readFork, readSpawn } from "../commands/derived-command.ts";

export type Received = Extract<Delivery, { kind: "command" }>;

/** The action that a message requests. */
export type Taken =
  | { readonly next: "done" }
  | { readonly next: "reject"; readonly rejection: Rejection; readonly runId: string | null }
  /**
   * Work on a run that exists. A hint may be superfluous; a run that has its turn in a session has no other message; a retry has
   * just opened it.
   */
  | { readonly next: "go-on"; readonly runId: string; readonly why: "hint" | "turn" | "retry" }
  | {
      readonly next: "start";
      readonly command: RunCommand;
      /** The command's own message, which may differ from the one that was delivered. */
      readonly message: MessageFacts;
      readonly received: Received;
      /** The session in which its run already has its turn. */
      readonly sessionId: string | null;
      /** A first delivery is nearly always a new run: the claim that creates it finds out if not. */
      readonly isLikelyNew: boolean;
    };

export type Start = Extract<Taken, { next: "start" }>;

/**
 * Turns a `run.begin` that the scheduler sent into a `run.start` of the owner that it names; rejects a `run.begin` from any
 * other sender. Returns any other message unchanged.
 */
export function asOwnersStart(delivery: Delivery): Delivery {
  if (delivery.kind === "rejected" || delivery.contract.name !== beginRun.name) return delivery;
  const { contract: _, tokens, payload, ...facts } = delivery;
  if (facts.caller !== SCHEDULER_USER) {
    const message = `${facts.subject}: only the scheduler starts runs in the name of others`;
    const code = "invalid_command";
    return { ...facts, kind: "rejected", code, message, problems: [], payload: null };
  }
  const { owner, start } = beginRun.payload.parse(payload);
  return { ...facts, kind: "command", contract: startRun, caller: owner, tokens, payload: start };
}

/** Reads a message, and carries out the commands that need no claimed run: cancels, steers, changes of limits. */
export async function takeMessage(delivery: Delivery, parts: RunnerParts): Promise<Taken> {
  if (delivery.kind === "rejected")
    return { next: "reject", rejection: delivery, runId: runIdOfMessage(delivery) };
  const control = await applyControl(delivery, parts);
  if (control !== null) {
    if (control.next === "done" || control.next === "reject") return control;
    const { runId } = control;
    const isHint = control.next === "look" || control.isHint;
    if (!isHint && delivery.deliveryCount === 1) parts.metrics.retries.inc();
    if (isHint) await parts.active.lookForNews(runId);
    if (control.next === "look") return { next: "done" };
    return { next: "go-on", runId, why: isHint ? "hint" : "retry" };
  }
  if (delivery.contract.name === proceedSession.name) return takeTurn(delivery, parts);
  const read = await readStart(delivery, parts);
  if ("rejection" in read) return { next: "reject", ...read };
  const { command } = read;
  const isLikelyNew = delivery.deliveryCount === 1 && command.payload.session === undefined;
  const from = { message: delivery, received: delivery, sessionId: null };
  return { next: "start", command, ...from, isLikelyNew };
}

/**
 * A run was given its turn in a session. This is a message of the run like any other, until the run has ended, waits or rests; a
 * run that exists continues whatever has become of its session.
 */
async function takeTurn(received: Received, { sessions }: RunnerParts): Promise<Taken> {
  const { runId } = proceedSession.payload.parse(received.payload);
  const { sessionId = "" } = received.tokens;
  const inTurn = await commandInTurn(sessions, { sessionId, runId });
  if (inTurn === null) return { next: "go-on", runId, why: "turn" };
  const { message: from, ...command } = inTurn.command;
  const message = { ...from, publishedAt: new Date(from.publishedAt) };
  const isLikelyNew = received.deliveryCount === 1 && !inTurn.isBegun;
  return { next: "start", command, message, received, sessionId, isLikelyNew };
}

/** The part of a message that is stored while its request cannot be begun. */
export function keptOf(received: Received): DeferredCommand {
  const { contract, tokens, payload, subject, caller, streamSequence, messageId } = received;
  const publishedAt = received.publishedAt.toISOString();
  const from = { subject, caller, streamSequence, messageId, publishedAt };
  return { contract: contract.name, tokens, payload, ...from };
}

/** The stored text of a command that runners die of; null when its parent is notified of the failure. */
export function deadTextOf({ command, message, received }: Start): DeadText | null {
  const { digest, parent, sender, runId, requester: caller, agent } = command;
  // The stored text has no room for the rights of the run that sent the message.
  if (parent !== undefined || sender !== undefined) return null;
  if (received.contract.name !== proceedSession.name) return { digest, command: keptOf(received) };
  // The message that gave it its turn is obsolete once its session has continued.
  const { subject, streamSequence, messageId } = message;
  const publishedAt = message.publishedAt.toISOString();
  const payload = { ...command.payload, runId };
  const from = { subject, caller, streamSequence, messageId, publishedAt };
  const tokens = { caller, agent };
  return { digest, command: { contract: startRun.name, tokens, payload, ...from } };
}

/** Does the same for a message that kills every runner that reads it. */
export function unreadTextOf(delivery: Delivery): DeadText | null {
  if (delivery.kind === "rejected") return null;
  const { contract, payload } = delivery;
  if (contract.name !== startRun.name && contract.name !== forkRun.name) return null;
  if (isNestedTooDeeply(payload)) return null;
  return { digest: canonicalDigest(payload), command: keptOf(delivery) };
}

/** Restores the stored message, delivered by another one; null when it is from a version with more commands. */
export function receivedOf(kept: DeferredCommand, hint: Delivery): Received | null {
  const contract = RUN_COMMANDS.find(({ name }) => name === kept.contract);
  if (contract === undefined) return null;
  const publishedAt = new Date(kept.publishedAt);
  return { ...hint, ...kept, kind: "command", contract, publishedAt };
}

/** Reads a command that starts a run: a new one, a child, or a copy. */
async function readStart(
  delivery: Received,
  { store }: { readonly store: Pick<RunStore, "load"> },
): Promise<
  | { readonly command: RunCommand }
  | { readonly rejection: Rejection; readonly runId: string | null }
> {
  const { contract, tokens } = delivery;
  if (contract.name === spawnRun.name) {
    const payload = spawnRun.payload.parse(delivery.payload);
    const parentJournal = await store.load(payload.parent.runId);
    const read = readSpawn(delivery, tokens["agent"] ?? "", { payload, parentJournal });
    return { ...read, runId: payload.runId };
  }
  if (contract.name === forkRun.name) {
    const payload = forkRun.payload.parse(delivery.payload);
    const named = tokens["runId"] ?? "";
    const runId = wantedRunId(delivery, payload.newRunId);
    const source = controlledRun(delivery.caller, named);
    // The reply does not reveal to its sender whether such a run exists.
    if (source === null) return { rejection: notYoursToCopy(named, delivery.caller), runId };
    const sourceJournal = await store.load(source);
    return { ...readFork(delivery, source, { payload, sourceJournal }), runId };
  }
  const payload = startRun.payload.parse(delivery.payload);
  const read = readCommand(delivery, tokens["agent"] ?? "", payload);
  return { ...read, runId: wantedRunId(delivery, payload.runId) };
}

function wantedRunId({ caller }: Received, named: string | null = null): string | null {
  return named === null ? null : wholeRunId(caller, named);
}
