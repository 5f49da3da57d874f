import { MessageFiles } from "@switchyard/contracts/content-parts";
import { UnknownOutcome } from "@switchyard/contracts/agents";
import { ApprovalTier } from "@switchyard/contracts/approval-tier";
import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  SkillName,
  Timestamp,
} from "@switchyard/contracts/ids";
import { Plan } from "@switchyard/contracts/plan";
import { type RunOrigin, SaidOrigin } from "@switchyard/contracts/run-context";
import { RunFollowUp } from "@switchyard/contracts/run-follow-up";
import { Recording } from "@switchyard/contracts/recording";
import { MAX_ROLES, RoleName } from "@switchyard/contracts/run-token";
import { MemoryInPrompt, OnLimit, RunInput } from "@switchyard/contracts/runs";
import { Sampling } from "@switchyard/contracts/sampling";
import { ThinkingLevel } from "@switchyard/contracts/thinking";
import { z } from "zod";
import { ToolNarrowing } from "./tool-narrowing.ts";
import { SessionId, SessionKey } from "@switchyard/contracts/session-key";
import { CallId, CopiedTurn, SkillRef } from "./answer-part.ts";

/** One thing that was said in a session before a run began. `notice`: a run had no answer, and why. */
const SaidBefore = z.object({
  role: z.enum(["user", "assistant", "notice"]),
  text: z.string(),
  files: MessageFiles.optional(),
});
export type SaidBefore = z.infer<typeof SaidBefore>;

/** Everything that a run is pinned to, so that another runner goes on with the same definition. */
export const StartedEntry = z.object({
  kind: z.literal("started"),
  at: Timestamp,
  runId: RunId,
  agent: AgentName,
  agentDigest: Digest,
  requester: CallerName,
  /** Who may look at the run besides its requester; missing: nobody. */
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
  /** What the agent kept, before the task in the same message; missing: nothing, and in older journals it is in \`instructions\`. */
  recalled: z.string().optional(),
  limits: z.object({
    maxSteps: z.int().positive(),
    maxToolCalls: z.int().nonnegative().nullable(),
    /** Input and output tokens; missing: no limit. */
    maxTokens: z.int().positive().optional(),
    /** Of all model calls whose price is known, in US dollars; missing: no limit. */
    maxCostUsd: z.number().positive().optional(),
    /** How often the same call may have the same result; missing: no limit. */
    maxRepeatedCalls: z.int().positive().optional(),
    timeoutMs: z.int().positive(),
    /** Missing in older journals: `fail`. */
    onLimit: OnLimit.optional(),
  }),
  /** Missing in older journals: none, and `fail`. */
  roles: z.array(RoleName).max(MAX_ROLES).optional(),
  onUnknownOutcome: UnknownOutcome.optional(),
  /** The least that each tool call asks of people, as the agent says; missing: the policy alone says it. */
  approval: ApprovalTier.optional(),
  /** Tokens that the model's window holds, the smaller of what the agent and the models file say; missing: unknown. */
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
  /** What the list of skills had no room for; missing when all of it fitted. */
  catalogueCut: z.object({ shortened: z.array(SkillName), dropped: z.array(SkillName) }).optional(),
  /** Skills that the session of this run, or of the run that it works for, does without; missing: none. */
  skillsOff: z.array(SkillName).optional(),
  /** What of the agent's memory is in the system prompt; missing when the agent asks for none. */
  memory: MemoryInPrompt.optional(),
  /** Set when its agent wants one memory for all its runs. */
  sharesMemory: z.literal(true).optional(),
  plan: Plan.nullable(),
  policyDigest: Digest,
  /** How much deeper child runs may nest; missing in older journals: not at all. */
  depthLeft: z.int().nonnegative().optional(),
  /** The run that this one works for, and the call of that run. */
  parent: z.object({ runId: RunId, callId: CallId }).optional(),
  /** A run that goes on from a step of another one has that one's steps before it. */
  fork: z
    .object({
      runId: RunId,
      fromStep: z.int().positive(),
      turns: z.array(CopiedTurn),
      /** What the skills that those steps activated take away; missing: nothing. */
      narrowings: z.array(ToolNarrowing).optional(),
    })
    .optional(),
  /** Where its command comes from, in the words of who sent it. */
  origin: SaidOrigin.optional(),
  /** The service that brought the command for its requester, and is believed about the origin. */
  broughtBy: CallerName.optional(),
  /** What its end leads to in another session, or in a chat; missing: nothing. */
  followUp: RunFollowUp.optional(),
  /** The conversation that the run belongs to. */
  session: z.object({ sessionId: SessionId, key: SessionKey }).optional(),
  /** What was said in it before; missing: nothing. */
  before: z.array(SaidBefore).optional(),
  /** What the model is to answer, as another run has recorded it. */
  replay: Recording.optional(),
  /** Set for a copy or a child of a run that played a recording: what it calls may follow from that. */
  replayed: z.literal(true).optional(),
  /** Who wrote what the model says, or what a run above or before it said: the sender of the recording, or of the agent whose plan is played. */
  dictatedBy: CallerName.optional(),
  /** A skill that stands for one tool: the call is made and no model is asked. */
  dispatch: z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
});

export type StartedEntry = z.infer<typeof StartedEntry>;

/** What marks a run whose calls somebody dictated. */
export type Dictation = Pick<StartedEntry, "replayed" | "dictatedBy">;

/** The marks of a run, which its copies and children have, too. Journals of earlier versions do not say who sent their recording. */
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

/** The policy knows where a run comes from, and tools its session, from here alone; of a child it is its parent's. */
export function originOf({ origin, session, model, ...more }: Originating): RunOrigin {
  return {
    ...origin,
    ...(session === undefined ? {} : { session: session.sessionId }),
    model,
    ...dictationOf(more),
  };
}
