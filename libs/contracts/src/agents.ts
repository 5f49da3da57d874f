import { z } from "zod";
import { event, rpc } from "./define.ts";
import { AgentName, Digest, ModelName, SkillName, Timestamp } from "./ids.ts";
import { Plan } from "./plan.ts";

export const AgentSource = z.enum(["project", "built-in"]);

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
  plan: Plan.nullable(),
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
  request: z.strictObject({}),
  reply: z.object({ agents: z.array(AgentSummary) }),
});

export const getAgent = rpc({
  subject: "yard.rpc.{caller}.agents.get",
  summary: "Returns one agent definition, by name or by the digest a run is pinned to.",
  request: z.strictObject({ name: AgentName, digest: Digest.optional() }),
  reply: z.object({ agent: AgentDefinition }),
  errors: {
    unknown_agent: { data: z.object({ name: z.string(), known: z.array(z.string()).max(50) }) },
  },
});

export const agentImported = event({
  subject: "yard.evt.agent.{agent}.imported",
  summary: "An agent definition was added or replaced.",
  payload: z.object({ agent: AgentSummary, at: Timestamp }),
});
