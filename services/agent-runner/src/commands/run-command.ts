import { createHash } from "node:crypto";
import { AgentName, CallerName, fullRunId, RunId } from "@switchyard/contracts/ids";
import type { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import type { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import type { StartRun } from "@switchyard/contracts/agent-runner/runs";
import { RUNNER_USER } from "@switchyard/contracts/user-names";
import { ownRun } from "../journal/run-access.ts";
import type { Dictation, StartedEntry } from "../core/started-entry.ts";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";

/** A valid command, and the run that it names. */
export interface RunCommand {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly payload: StartRun;
  /** Digest of everything that the command requests: the same run id with another digest is another command. */
  readonly digest: string;
  /** The service that delivered it for its requester; the origin that it states is trusted. */
  readonly broughtBy?: string | undefined;
  /** The message sent to another session when the run has ended. */
  readonly followUp?: RunFollowUp | undefined;
  /** The run that sent its message from another session, whose rights limit those of this one. */
  readonly sender?: RunSender | undefined;
  /** Set for a run that works for another one. */
  readonly parent?: {
    readonly runId: string;
    readonly callId: string;
    readonly depthLeft: number;
    readonly skillDigest: string | undefined;
  };
  /** Set for a run that has its turn in a session, and for a copy of such a run the earlier messages. */
  readonly session?: NonNullable<StartedEntry["session"]>;
  readonly before?: NonNullable<StartedEntry["before"]>;
  /** The skills that are off in its session; a child and a copy of a run leave out the same skills. */
  readonly skillsOff?: readonly string[] | undefined;
  /** Set for a run that continues from a step of another one. */
  readonly fork?: NonNullable<StartedEntry["fork"]>;
  /** Set for a child and for a copy: the marks of the other run. */
  readonly dictation?: Dictation;
}

/** The reason why a command cannot become a run. */
export interface Rejection {
  readonly code: string;
  readonly message: string;
  readonly problems: readonly string[];
}

/** The facts of a message that do not depend on its body. */
export interface MessageFacts {
  readonly subject: string;
  readonly streamSequence: number;
  readonly publishedAt: Date;
  readonly caller: string;
  readonly messageId: string | null;
  /** The time when it was sent again after it had been given up; a rejection after that is a new event. */
  readonly redrivenAt?: string | undefined;
}

/** Reads a command that fits its schema. The tokens of its subject are checked here, because a subject allows more. */
export function readCommand(
  message: MessageFacts,
  agentToken: string,
  payload: StartRun,
): { readonly command: RunCommand } | { readonly rejection: Rejection } {
  const agent = AgentName.safeParse(agentToken);
  const requester = CallerName.safeParse(message.caller);
  if (!agent.success || !requester.success) {
    const problems = [
      ...(agent.success ? [] : [`agent in the subject: ${rulesOf(agent.error)}`]),
      ...(requester.success ? [] : [`caller in the subject: ${rulesOf(requester.error)}`]),
    ];
    const said = `${message.subject} is not a subject of run.start`;
    return { rejection: { code: "invalid_command", message: said, problems } };
  }
  if (payload.replay !== undefined && payload.model !== undefined) {
    const said = "a recording is played in place of a model, and the command names both";
    const problems = ["model: goes not with replay; leave one of them out"];
    return { rejection: { code: "invalid_command", message: said, problems } };
  }
  if (payload.onBusy !== undefined && payload.session === undefined) {
    const said = "onBusy applies to a session, and the command names none";
    const problems = ["onBusy: goes only with session"];
    return { rejection: { code: "invalid_command", message: said, problems } };
  }
  const { runId: named, ...content } = payload;
  const runId = ownRun(requester.data, named ?? madeRunId(message));
  if (runId === null) return { rejection: foreignRunId(named, requester.data) };
  return {
    command: {
      runId,
      agent: agent.data,
      requester: requester.data,
      payload,
      digest: canonicalDigest({ agent: agent.data, requester: requester.data, asked: content }),
    },
  };
}

/** Rejects a run id of another owner: a caller starts only runs of its own. */
export function foreignRunId(runId: string | undefined, caller: string): Rejection {
  const message = `run ${runId} would be another owner's; leave the part up to ~ out, or say ${caller}~`;
  return { code: "invalid_command", message, problems: ["runId: names another owner"] };
}

/** The id that a refused payload names for the run that it wants, when it names a valid one. */
export function namedRunId(payload: unknown): string | null {
  if (typeof payload !== "object" || payload === null) return null;
  const name = "newRunId" in payload ? payload.newRunId : "runId" in payload && payload.runId;
  const named = RunId.safeParse(name);
  return named.success ? named.data : null;
}

/**
 * Generates the id of a run whose command names none. It depends on the stored message alone, so every delivery of one message
 * makes the same id, and a recreated stream makes other ones.
 */
export function madeRunId({
  subject,
  caller,
  streamSequence,
  publishedAt,
}: Omit<MessageFacts, "messageId">): string {
  const digest = createHash("sha256")
    .update(`${subject}\n${streamSequence}\n${publishedAt.toISOString()}`)
    .digest("hex");
  return wholeRunId(caller, `run-${digest.slice(0, 26)}`);
}

/** Resolves the run id that a message names. Runners send whole ids, and a sender that is not a caller owns no runs. */
export function wholeRunId(caller: string, runId: string): string {
  const isOwner = caller !== RUNNER_USER && CallerName.safeParse(caller).success;
  return isOwner ? fullRunId(caller, runId) : runId;
}

function rulesOf(error: { readonly issues: readonly { readonly message: string }[] }): string {
  return error.issues.map((issue) => issue.message).join("; ");
}
