import { MessageFiles } from "@switchyard/contracts/agent-runner/content-parts";
import { UnknownOutcome } from "@switchyard/contracts/skill-importer/agents";
import { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  SkillName,
  Timestamp,
} from "@switchyard/contracts/ids";
import { Plan } from "@switchyard/contracts/agent-runner/plan";
import { RunOrigin, SaidOrigin } from "@switchyard/contracts/agent-runner/run-context";
import { RunFollowUp } from "@switchyard/contracts/agent-runner/run-follow-up";
import { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import { Recording } from "@switchyard/contracts/agent-runner/recording";
import { MAX_ROLES, RoleName } from "@switchyard/contracts/policy/run-token";
import { MemoryInPrompt, OnLimit, RunInput } from "@switchyard/contracts/agent-runner/runs";
import { Sampling } from "@switchyard/contracts/mcp-broker/sampling";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { z } from "zod";
import { ToolNarrowing } from "./tool-narrowing.ts";
import { SessionId, SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import { CallId, CopiedTurn, SkillRef } from "./answer-part.ts";

/** One message of a session before a run began. `notice`: a run had no answer, and why. */
const SaidBefore = z.object({
  role: z.enum(["user", "assistant", "notice"]),
  text: z.string(),
  files: MessageFiles.optional(),
});
export type SaidBefore = z.infer<typeof SaidBefore>;

/** The origin of a command, or of the run that sent its message from another session. */
const StartedOrigin = SaidOrigin.extend(
  RunOrigin.pick({ depth: true, replayed: true, dictatedBy: true }).shape,
);
export type StartedOrigin = z.infer<typeof StartedOrigin>;

/** Everything that a run is pinned to, so that another runner continues with the same definition. */
export const StartedEntry = z.object({
  kind: z.literal("started"),
  at: Timestamp,
  runId: RunId,
  agent: AgentName,
  agentDigest: Digest,
  requester: CallerName,
  /** The callers that may read the run besides its requester; missing: none. */
  readers: z.array(CallerName).optional(),
  input: RunInput,
  labels: z.record(z.string(), z.string()),
  model: ModelName,
  temperature: z.number().nullable(),
  /** Missing: the provider's own. */
  thinking: ThinkingLevel.optional(),
  /** Settings that the command chose; missing: none. */
  sampling: Sampling.optional(),
  /** The system prompt, with preloaded skills, the skill catalogue and rules. */
  instructions: z.string(),
  /** The task, in the first user message. */
  prompt: z.string(),
  /** The agent's memories, before the task in the same message; missing: none, and in older journals they are in `instructions`. */
  recalled: z.string().optional(),
  limits: z.object({
    maxSteps: z.int().positive(),
    maxToolCalls: z.int().nonnegative().nullable(),
    /** Input and output tokens; missing: no limit. */
    maxTokens: z.int().positive().optional(),
    /** The limit for all model calls whose price is known, in US dollars; missing: no limit. */
    maxCostUsd: z.number().positive().optional(),
    /** The number of times that the same call may have the same result; missing: no limit. */
    maxRepeatedCalls: z.int().positive().optional(),
    timeoutMs: z.int().positive(),
    /** Missing in older journals: `fail`. */
    onLimit: OnLimit.optional(),
  }),
  /** Missing in older journals: none, and `fail`. */
  roles: z.array(RoleName).max(MAX_ROLES).optional(),
  onUnknownOutcome: UnknownOutcome.optional(),
  /** The minimum approval for each tool call, as the agent sets it; missing: the policy alone decides. */
  approval: ApprovalTier.optional(),
  /** Tokens of the model's window, the smaller of the values in the agent and in the models file; missing: unknown. */
  contextWindow: z.int().positive().optional(),
  /** JSON Schema of the answer; missing: any text. */
  output: z.record(z.string(), z.unknown()).optional(),
  /** Layers of tool patterns for the run token: a tool must pass each of them. */
  toolLayers: z.array(z.array(z.string())),
  /** Skills whose text is in the first messages. */
  skills: z.array(SkillRef),
  /** The skill that the command named, if it did. */
  invoked: SkillName.optional(),
  /** Skills that the model may activate. */
  catalogue: z.array(SkillRef),
  /** The skills that did not fit into the list of skills; missing when all of them fitted. */
  catalogueCut: z.object({ shortened: z.array(SkillName), dropped: z.array(SkillName) }).optional(),
  /** Skills that the session of this run, or of the run that it works for, does without; missing: none. */
  skillsOff: z.array(SkillName).optional(),
  /** The agent's memory in the system prompt; missing when the agent requests none. */
  memory: MemoryInPrompt.optional(),
  /** Set when its agent wants one memory for all its runs. */
  sharesMemory: z.literal(true).optional(),
  plan: Plan.nullable(),
  policyDigest: Digest,
  /** The number of further levels of child runs; missing in older journals: none. */
  depthLeft: z.int().nonnegative().optional(),
  /** The run that this one works for, and the call of that run. */
  parent: z.object({ runId: RunId, callId: CallId }).optional(),
  /** A run that forks from a step of another one has that one's steps before it. */
  fork: z
    .object({
      runId: RunId,
      fromStep: z.int().positive(),
      turns: z.array(CopiedTurn),
      /** The tools that the skills activated in those steps remove; missing: none. */
      narrowings: z.array(ToolNarrowing).optional(),
    })
    .optional(),
  /** The origin of its command, as the sender stated it. */
  origin: StartedOrigin.optional(),
  /** The service that brought the command for its requester, and is believed about the origin. */
  broughtBy: CallerName.optional(),
  /** The run that sent its message from another session; its layers and approval are in this entry's own. */
  sender: RunSender.optional(),
  /** The follow-up of its end in another session, or in a chat; missing: none. */
  followUp: RunFollowUp.optional(),
  /** The conversation that the run belongs to. */
  session: z.object({ sessionId: SessionId, key: SessionKey }).optional(),
  /** Messages that were sent in it before; missing: none. */
  before: z.array(SaidBefore).optional(),
  /** The model's answers, as another run has recorded them. */
  replay: Recording.optional(),
  /** Set for a copy or a child of a run that played a recording: its calls may follow from the recording. */
  replayed: z.literal(true).optional(),
  /**
   * The author of the model's text, or of the text of a run above or before it: the sender of the recording, or of the agent whose
   * plan is played.
   */
  dictatedBy: CallerName.optional(),
  /** A skill that maps directly to one tool: the call is made without a model. */
  dispatch: z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
});

export type StartedEntry = z.infer<typeof StartedEntry>;

/** The marks of a run whose calls a person dictated. */
export type Dictation = Pick<StartedEntry, "replayed" | "dictatedBy">;

/**
 * Returns the marks of a run, which its copies and children have, too. Journals of earlier versions do not contain the sender of
 * their recording.
 */
export function dictationOf({
  replay,
  requester,
  ...started
}: Pick<StartedEntry, "replay" | "requester"> & Dictation): Dictation {
  const { dictatedBy = replay === undefined ? undefined : requester } = started;
  return {
    ...(replay === undefined && started.replayed === undefined ? {} : { replayed: true }),
    ...(dictatedBy === undefined ? {} : { dictatedBy }),
  };
}

/** The fields of a run that its origin is made from. */
interface Originating extends Dictation, Pick<StartedEntry, "origin" | "replay" | "requester"> {
  readonly session?: { readonly sessionId: string } | undefined;
  /** The model that the run uses now. */
  readonly model: string;
}

/** The policy learns a run's origin, and tools learn its session, only from here; a child has its parent's. */
export function originOf({ origin, session, model, ...more }: Originating): RunOrigin {
  return {
    ...origin,
    ...(session === undefined ? {} : { session: session.sessionId }),
    model,
    ...dictationOf(more),
  };
}
