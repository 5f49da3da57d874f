import type { StoredEvent } from "@switchyard/bus/stored-event";
import { tokensOf, type Command, type Rpc } from "@switchyard/contracts/define";
import {
  questionRequested,
  runDead,
  runWaiting,
} from "@switchyard/contracts/agent-runner/run-events";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { retryRun } from "@switchyard/contracts/agent-runner/runs";
import { approvalEscalated, approvalRequested } from "@switchyard/contracts/policy/approval-events";
import { approveCall } from "@switchyard/contracts/policy/approvals";
import { visible } from "@switchyard/service/visible-text";
import type { AgentOf } from "../subscriptions/read-events.ts";

/** A thing in the inbox that people are notified of. */
export interface Note {
  /** The message: names of agents and tools, and no texts of a run. */
  readonly shown: {
    /** Its id in the inbox, as in the console's `core/needs.ts`. */
    readonly id: string;
    readonly title: string;
    readonly body: string;
  };
  /** The time at which it came, in milliseconds since 1970. */
  readonly at: number;
  /** The operation that a person must be permitted to be notified. */
  readonly needs: Rpc | Command;
  /** The call that waits, about which the policy service decides who may approve it; else the only user that is notified. */
  readonly for: { readonly approvalId: string } | { readonly owner: string };
}

const LONGEST_NAME = 200;

/** Returns the note of an event; null for an event of which people are not notified. The words are those of the console's own notes. */
export async function noteOf(event: StoredEvent, agentOf: AgentOf): Promise<Note | null> {
  const { contract, payload, subject } = event;
  const at = event.time.getTime();
  if (contract === approvalRequested || contract === approvalEscalated) {
    const call = approvalRequested.payload.safeParse(payload).data;
    if (call === undefined) return null;
    const { approvalId, principal, tool } = call;
    const title = `${principal.agent ?? principal.user} waits for your approval`;
    const body = tool.server === null ? tool.name : `${tool.server} › ${tool.tool}`;
    const shown = { id: approvalId, title, body: visible(body, LONGEST_NAME) };
    return { shown, at, needs: approveCall, for: { approvalId } };
  }
  const found = needOf(event);
  const owner = contract === null ? undefined : tokensOf(contract, subject)?.["owner" as never];
  if (found === null || owner === undefined) return null;
  const agent = (await agentOf(event)) ?? "An agent";
  const { id, title, body, needs } = found;
  return { shown: { id, title: `${agent} ${title}`, body }, at, needs, for: { owner } };
}

function needOf({ contract, payload }: StoredEvent) {
  if (contract === questionRequested) {
    const { callId } = questionRequested.payload.safeParse(payload).data ?? {};
    if (callId === undefined) return null;
    const words = { title: "has a question", body: "A run waits for it" };
    return { id: `question:${callId}`, ...words, needs: answerQuestion };
  }
  if (contract === runWaiting) {
    const { runId, waits = [] } = runWaiting.payload.safeParse(payload).data ?? {};
    if (runId === undefined || waits.every(({ reason }) => reason !== "limit")) return null;
    const words = { title: "reached a limit", body: "Its run waits" };
    return { id: `limit:${runId}`, ...words, needs: resumeRun };
  }
  if (contract === runDead) {
    const { runId } = runDead.payload.safeParse(payload).data ?? {};
    if (runId === undefined) return null;
    const words = { title: "has a run that was given up", body: "Its runners died" };
    return { id: `dead:${runId}`, ...words, needs: retryRun };
  }
  return null;
}
