import { z } from "zod";
import { MEMORY_ROOM } from "../toolbox/agent-memory.ts";
import { ApprovalTier } from "../policy/approval-tier.ts";
import { event, rpc } from "../define.ts";
import { KeepForMs, Provenance, storeUnavailable, unknownName } from "./definition-store.ts";
import { AgentName, Digest, ModelName, SkillName, Timestamp } from "../ids.ts";
import { Plan } from "../agent-runner/plan.ts";
import { MAX_ROLES, RoleName } from "../policy/run-token.ts";
import { VersionReview } from "./skill-scan.ts";
import { Diagnostic } from "./skills.ts";
import { ThinkingLevel } from "../agent-runner/thinking.ts";

/** `imported`: a client sent it. */
export const AgentSource = z.enum(["project", "user", "built-in", "imported"]);

/** The reaction to a provider's "outcome unknown" of a call: try it once more, give it up, or ask a person. */
export const UnknownOutcome = z.enum(["retry", "fail", "ask"]);
export type UnknownOutcome = z.infer<typeof UnknownOutcome>;

/** The limits of an agent's run beside its steps; null is no limit of the agent's own. */
export const AgentLimits = z.object({
  maxToolCalls: z.int().min(0).max(10_000).nullable().default(null),
  /** Input and output tokens of all model calls together. */
  maxTokens: z.int().min(1).max(1_000_000_000).nullable().default(null),
  maxCostUsd: z.number().positive().max(100_000).nullable().default(null),
  /** Wall-clock time, in milliseconds. */
  timeoutMs: z.int().min(1_000).max(86_400_000).nullable().default(null),
  /** The maximum depth of child runs; 0 allows none. */
  maxDepth: z.int().min(0).max(16).nullable().default(null),
});
export type AgentLimits = z.infer<typeof AgentLimits>;

/** The limits of an agent that names none. */
export const NO_AGENT_LIMITS: AgentLimits = AgentLimits.parse({});

export const AgentDefinition = z.object({
  name: AgentName,
  description: z.string(),
  source: AgentSource,
  /** SHA-256 of the file's bytes, or of the constant for a built-in. */
  digest: Digest,
  /** Null: the runner's default model. */
  model: ModelName.nullable(),
  systemPrompt: z.string(),
  /** Tool patterns; null is every tool, an empty list is none. */
  tools: z.array(z.string()).nullable(),
  /** Skills whose text goes into the system prompt. */
  skills: z.array(SkillName),
  /** Model calls that a run may make. */
  maxSteps: z.int().min(1).max(1_000),
  temperature: z.number().min(0).max(2).nullable(),
  /** Null: the provider's own. */
  thinking: ThinkingLevel.nullable().default(null),
  plan: Plan.nullable(),
  /** Names of the agent's duties, which policies and servers refer to. */
  roles: z.array(RoleName).max(MAX_ROLES).default([]),
  limits: AgentLimits.default(NO_AGENT_LIMITS),
  onUnknownOutcome: UnknownOutcome.default("fail"),
  /** The least approval that each call of the agent needs from people; null leaves it to the policy. */
  approval: ApprovalTier.nullable().default(null),
  /** Tokens that the model's window holds; null when the file does not state it. */
  contextWindow: z.int().min(1_024).max(100_000_000).nullable().default(null),
  /** Bytes of the agent's memories in the system prompt of its runs; null is none. */
  memoryBytes: z.int().min(MEMORY_ROOM.least).max(MEMORY_ROOM.most).nullable().default(null),
  /** True when all runs of the agent have one memory, for all requesters; the policy decides which requesters may use it. */
  sharesMemory: z.boolean().default(false),
});
export type AgentDefinition = z.infer<typeof AgentDefinition>;

export const AgentSummary = AgentDefinition.pick({
  name: true,
  description: true,
  source: true,
  digest: true,
  model: true,
});
export type AgentSummary = z.infer<typeof AgentSummary>;

export const listAgents = rpc({
  subject: "yard.rpc.{caller}.agents.list",
  summary: "Lists the agent definitions.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({
    agents: z.array(AgentSummary),
    /** At most 100 errors, which keep agent files of the importer's directories from loading; they are left out when all load. */
    unusable: z
      .array(Diagnostic.pick({ code: true, message: true, file: true, line: true }))
      .optional(),
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const getAgent = rpc({
  subject: "yard.rpc.{caller}.agents.get",
  summary: "Returns one agent definition, by name or by the digest a run is pinned to.",
  role: "viewer",
  request: z.strictObject({
    name: AgentName,
    digest: Digest.optional(),
    /** In place of `digest`: a stored version, listed or not. */
    version: Digest.optional(),
  }),
  reply: z.object({
    agent: AgentDefinition,
    /** Present when `version` was given. */
    review: VersionReview.optional(),
    /** The origin of a version that a client sent. */
    provenance: Provenance.optional(),
    keepForMs: KeepForMs.optional(),
  }),
  errors: { unknown_agent: unknownName, store_unavailable: storeUnavailable },
});

/** Clients send files, not paths: the files need not be on one of the importer's roots. */
export const checkAgents = rpc({
  subject: "yard.rpc.{caller}.agents.check",
  summary: "Reads agent files that the caller sends and checks them; nothing is stored.",
  role: "operator",
  request: z.strictObject({
    files: z
      .array(
        z.strictObject({
          /** Path with `/`: its last parts determine the format and the fallback name of the agent. */
          file: z.string().min(1).max(1_024),
          text: z.string().max(262_144),
        }),
      )
      .min(1)
      .max(50),
  }),
  reply: z.object({
    /** One for each file, in the order of the request. */
    files: z.array(
      z.object({
        file: z.string(),
        /** `not_an_agent` for a Markdown file without frontmatter, such as a README. */
        verdict: z.enum(["loads", "skipped", "not_an_agent"]),
        agent: AgentDefinition.nullable(),
        diagnostics: z.array(Diagnostic),
      }),
    ),
  }),
  errors: { store_unavailable: storeUnavailable },
  timeoutMs: 20_000,
});

export const agentImported = event({
  subject: "yard.evt.agent.{agent}.imported",
  summary: "An agent definition was added or replaced.",
  payload: z.object({ agent: AgentSummary, at: Timestamp }),
});
