import type { Delivery } from "@switchyard/bus/consume";
import { proceedSession } from "@switchyard/contracts/sessions";
import { applyControl, RUN_COMMANDS, runIdOfMessage } from "../commands/control-command.ts";
import { readStart } from "../commands/read-start.ts";
import type { MessageFacts, Rejection, RunCommand } from "../commands/run-command.ts";
import type { KeptCommand } from "../journal/kept-commands.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { commandInTurn } from "../sessions/run-place.ts";

export type Received = Extract<Delivery, { kind: "command" }>;

/** What a message asks for. */
export type Taken =
  | { readonly next: "done" }
  | { readonly next: "reject"; readonly rejection: Rejection; readonly runId: string | null }
  /**
   * Work on a run that exists. A hint may be one too many; a run that has its turn in a session has no other message; a retry has
   * just opened it.
   */
  | { readonly next: "go-on"; readonly runId: string; readonly why: "hint" | "turn" | "retry" }
  | {
      readonly next: "start";
      readonly command: RunCommand;
      /** The command's own message, which may be another one than brought it here. */
      readonly message: MessageFacts;
      readonly received: Received;
      /** Where its run has its turn already. */
      readonly sessionId: string | null;
      /** What comes for the first time is nearly always a new run: the claim that makes it finds out if not. */
      readonly isLikelyNew: boolean;
    };

/** Reads a message, and does what needs no run in hand: cancels, steers, changes limits. */
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
 * A run was given its turn in a session. This is a message of the run like any other, until the run has ended, waits or rests; a run
 * that exists goes on whatever has become of its session.
 */
async function takeTurn(received: Received, { sessions }: RunnerParts): Promise<Taken> {
  const { runId } = proceedSession.payload.parse(received.payload);
  const { sessionId = "" } = received.tokens;
  const inTurn = await commandInTurn(sessions, { sessionId, runId });
  if (inTurn === null) return { next: "go-on", runId, why: "turn" };
  const { message: from, ...command } = inTurn;
  const message = { ...from, publishedAt: new Date(from.publishedAt) };
  return { next: "start", command, message, received, sessionId, isLikelyNew: false };
}

/** What is kept of a message while what it asks for cannot be begun. */
export function keptOf(received: Received): KeptCommand {
  const { contract, tokens, payload, subject, caller, streamSequence, messageId } = received;
  const publishedAt = received.publishedAt.toISOString();
  const from = { subject, caller, streamSequence, messageId, publishedAt };
  return { contract: contract.name, tokens, payload, ...from };
}

/** The kept message, brought by another one; null when it is of a version that knows more commands. */
export function receivedOf(kept: KeptCommand, hint: Delivery): Received | null {
  const contract = RUN_COMMANDS.find(({ name }) => name === kept.contract);
  if (contract === undefined) return null;
  const publishedAt = new Date(kept.publishedAt);
  return { ...hint, ...kept, kind: "command", contract, publishedAt };
}
