import { createHash } from "node:crypto";
import { AgentName, CallerName, RunId } from "@switchyard/contracts/ids";
import type { StartRun } from "@switchyard/contracts/runs";
import type { StartedEntry } from "../journal/started-entry.ts";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";

/** A valid command, and the run that it names. */
export interface RunCommand {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly payload: StartRun;
  /** Digest of everything that the command asks for: the same run id with another digest is another command. */
  readonly digest: string;
  /** Set for a run that works for another one. */
  readonly parent?: {
    readonly runId: string;
    readonly callId: string;
    readonly depthLeft: number;
    readonly skillDigest: string | undefined;
  };
  /** Set for a run that has its turn in a session, and for a copy of one what was said before it. */
  readonly session?: NonNullable<StartedEntry["session"]>;
  readonly before?: NonNullable<StartedEntry["before"]>;
  /** Set for a run that goes on from a step of another one. */
  readonly fork?: NonNullable<StartedEntry["fork"]>;
}

/** Why a command cannot become a run. */
export interface Rejection {
  readonly code: string;
  readonly message: string;
  readonly problems: readonly string[];
}

/** What is known of a message, whatever its body holds. */
export interface MessageFacts {
  readonly subject: string;
  readonly streamSequence: number;
  readonly publishedAt: Date;
  readonly caller: string;
  readonly messageId: string | null;
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
    const said = `${message.subject} is no subject of run.start`;
    return { rejection: { code: "invalid_command", message: said, problems } };
  }
  if (payload.replay !== undefined && payload.model !== undefined) {
    const said = "a recording is played in place of a model, and the command names both";
    const problems = ["model: goes not with replay; leave one of them out"];
    return { rejection: { code: "invalid_command", message: said, problems } };
  }
  const { runId, ...asked } = payload;
  return {
    command: {
      runId: runId ?? madeRunId(message),
      agent: agent.data,
      requester: requester.data,
      payload,
      digest: canonicalDigest({ agent: agent.data, requester: requester.data, asked }),
    },
  };
}

/** The id that a refused payload names for the run that it wants, when it names a valid one. */
export function namedRunId(payload: unknown): string | null {
  if (typeof payload !== "object" || payload === null) return null;
  const name = "newRunId" in payload ? payload.newRunId : "runId" in payload && payload.runId;
  const named = RunId.safeParse(name);
  return named.success ? named.data : null;
}

/**
 * The id of a run whose command names none. It depends on the stored message alone, so every
 * delivery of one message makes the same id, and a stream that was made anew makes other ones.
 */
export function madeRunId({ subject, streamSequence, publishedAt }: MessageFacts): string {
  const digest = createHash("sha256")
    .update(`${subject}\n${streamSequence}\n${publishedAt.toISOString()}`)
    .digest("hex");
  return `run-${digest.slice(0, 26)}`;
}

function rulesOf(error: { readonly issues: readonly { readonly message: string }[] }): string {
  return error.issues.map((issue) => issue.message).join("; ");
}
