import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";

/** An agent as lines that can be compared: one for each field, then those of its prompt. */
export function agentText(agent: AgentDefinition): string {
  // The source and the digest of an agent are not part of its description.
  const { systemPrompt, digest: _, source: __, ...fields } = agent;
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return [...lines, "", ...systemPrompt.split("\n")].join("\n");
}

/** Describes the capabilities and limits that an agent's fields set, one per line. */
export function agentCapabilities(agent: AgentDefinition): string[] {
  const { tools, skills, roles, model, approval, onUnknownOutcome, maxSteps, limits } = agent;
  const limited = Object.entries(limits).flatMap(([limit, value]) =>
    value === null ? [] : [`limit ${limit} ${value}`],
  );
  return [
    ...(tools === null ? ["tool *"] : tools.map((name) => `tool ${name}`)),
    ...skills.map((name) => `skill ${name}`),
    ...roles.map((name) => `role ${name}`),
    ...(model === null ? [] : [`model ${model}`]),
    ...(approval === null ? [] : [`approval ${approval}`]),
    `unknown outcome ${onUnknownOutcome}`,
    `limit maxSteps ${maxSteps}`,
    ...limited,
  ];
}
