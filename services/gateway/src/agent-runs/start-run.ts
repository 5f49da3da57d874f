import { createHash, randomUUID } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { fullRunId } from "@switchyard/contracts/ids";
import {
  requestCancel,
  startRun,
  type RunInput,
  type StartRun,
} from "@switchyard/contracts/agent-runner/runs";
import type { AcceptedRuns } from "./accepted-runs.ts";
import { checkRights, type Requester } from "../identity/requester.ts";
import { followRun, type FollowParts, type RunFollow } from "./follow-run.ts";

export interface StartParts {
  readonly bus: Bus;
  readonly accepted: AcceptedRuns;
}

export interface AgentRun {
  readonly agent: string;
  readonly input: RunInput;
  /** Requests of the protocol with the same key are the same run; missing: each request is a run. */
  readonly repeatKey?: string | undefined;
  readonly session?: string | undefined;
  /** Facts that only the protocol needs, stored with the run. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Settings that the client chose, which override the agent's own. */
  readonly settings?: Pick<StartRun, "sampling" | "thinking" | "limits"> | undefined;
  /** JSON Schema that the answer has to fit. */
  readonly output?: Record<string, unknown> | undefined;
  /** The protocol over which the request arrived; it is stored in the run's labels. */
  readonly via: string;
}

/**
 * Starts a run as the requester and follows it. Rejects with a ServiceError: `forbidden`, `unknown_agent`, or the reason why
 * the command cannot be stored; the fate of a stored run is reported by its items.
 */
export async function startAgentRun(
  parts: FollowParts,
  requester: Requester,
  run: AgentRun,
): Promise<RunFollow> {
  const start = await prepareStart(parts, requester, run);
  const { runId } = start;
  const follow = followRun(parts, requester, { runId, history: run.repeatKey !== undefined });
  try {
    await start.publish();
  } catch (error) {
    follow.stop();
    throw error;
  }
  return follow;
}

/**
 * Starts a run as the requester and does not follow it: resolves with its id when the command is stored. Rejects as {@link
 * startAgentRun} does.
 */
export async function leaveAgentRun(
  parts: StartParts,
  requester: Requester,
  run: AgentRun,
): Promise<string> {
  const start = await prepareStart(parts, requester, run);
  await start.publish();
  return start.runId;
}

async function prepareStart(
  { bus, accepted }: StartParts,
  requester: Requester,
  { agent, input, repeatKey, session, output, settings, labels, via }: AgentRun,
): Promise<{ readonly runId: string; readonly publish: () => Promise<unknown> }> {
  const user = await requester.user();
  checkRights(startRun, user);
  await requester.ask(getAgent, { name: agent });
  const name = repeatKey === undefined ? randomUUID() : nameOf(via, repeatKey);
  const run = {
    runId: name,
    input,
    ...settings,
    labels: { ...labels, via },
    ...(output !== undefined && { output }),
    // Every request has an answer of its own, whatever the session would do with a message.
    ...(session === undefined ? {} : { session, onBusy: "enqueue" as const }),
  };
  const about = { userToken: user.token, correlationId: requester.requestId };
  const runId = fullRunId(requester.caller, name);
  return {
    runId,
    async publish() {
      await publishCommand(bus, startRun, { agent }, run, about);
      await accepted.note(runId, { agent, input, labels: run.labels });
    },
  };
}

/** Requests the end of a run. A failure is not an error here, since no client waits for the run any more. */
export async function cancelRun(
  requester: Requester,
  runId: string,
  reason: string,
): Promise<void> {
  await requester.ask(requestCancel, { runId, reason }).catch(() => {});
}

/** Returns the session key for a conversation of a protocol, whose ids may have any form. */
export function sessionKeyOf(via: string, conversation: string): string {
  return `${via}:${digestOf(conversation)}`;
}

function nameOf(via: string, repeatKey: string): string {
  return `${via}-${digestOf(repeatKey)}`;
}

/** Makes a text of any form usable as a part of a name. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 40);
}
