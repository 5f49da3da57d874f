import { client } from "@switchyard/bus/call";
import {
  getAgent,
  listAgents,
  type AgentLimits,
} from "@switchyard/contracts/skill-importer/agents";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { modelLabel } from "../model-label.ts";
import { printable, printableLine } from "../printable.ts";
import { count, formatDuration } from "../quantities.ts";
import { changeSetting, userConfigFile } from "../settings.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { sourceText } from "./version-lines.ts";

const DESCRIPTION_WIDTH = 70;

export async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { agents, unusable = [] } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listAgents }).listAgents({}),
  );
  if (options.json) return writeJson(terminal, { agents, unusable });
  const lines = tableLines(
    [
      { title: "NAME", value: (agent) => agent.name },
      {
        title: "DESCRIPTION",
        value: (agent) => printableLine(agent.description),
        maxWidth: DESCRIPTION_WIDTH,
      },
      {
        title: "MODEL",
        value: (agent) => printableLine(agent.model ?? "(config default)"),
        maxWidth: 40,
      },
      { title: "SCOPE", value: (agent) => agent.source },
    ],
    agents,
  );
  for (const line of lines) terminal.out(line);
  for (const { file, line, message } of unusable)
    terminal.error(
      `not an agent: ${printableLine(`${file}${line === null ? "" : `:${line}`}: ${message}`)}`,
    );
}

export async function show(
  terminal: Terminal,
  name: string,
  options: { json?: true },
): Promise<void> {
  const found = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { getAgent }).getAgent({ name }),
  );
  if (options.json) return writeJson(terminal, found);
  const { agent, provenance } = found;
  const fields = fieldLines([
    ["agent", agent.name],
    ["description", agent.description],
    ["model", agent.model === null ? "(config default)" : modelLabel(agent.model)],
    ["temperature", agent.temperature === null ? "(provider default)" : String(agent.temperature)],
    ["thinking", agent.thinking ?? ""],
    ["max tool iterations", String(agent.maxSteps)],
    ["scope", agent.source],
    [
      "tools",
      agent.tools === null ? "all that the policy allows" : agent.tools.join(", ") || "none",
    ],
    ["skills", agent.skills.join(", ") || "none"],
    ["roles", agent.roles.join(", ")],
    ["limits", limitsText(agent.limits)],
    ["unknown outcome", agent.onUnknownOutcome],
    ["approval", agent.approval === null ? "" : agent.approval],
    ["context window", agent.contextWindow === null ? "" : count(agent.contextWindow, "token")],
    ["memory", agent.sharesMemory ? "shared, where the policy allows it" : ""],
    ["memory in prompt", agent.memoryBytes === null ? "" : count(agent.memoryBytes, "byte")],
    ["digest", agent.digest],
    ["imported", provenance === undefined ? "" : originText(provenance)],
    ["plan", agent.plan === null ? "" : count(agent.plan.steps.length, "step")],
  ]);
  for (const line of fields) terminal.out(line);
  if (agent.systemPrompt !== "") terminal.out(`\n${printable(agent.systemPrompt)}`);
}

/** `yard agents use`: the default agent of yard chat. */
export async function use(
  terminal: Terminal,
  name: string,
  options: { json?: true },
): Promise<void> {
  const { agent } = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { getAgent }).getAgent({ name }),
  );
  changeSetting(userConfigFile(terminal.env), "agent", agent.name);
  if (options.json) return writeJson(terminal, { agent: agent.name });
  terminal.note(`${agent.name} answers in yard chat from now on`);
}

function originText(provenance: Provenance): string {
  return `${provenance.at} by ${provenance.by} from ${sourceText(provenance)}`;
}

function limitsText(limits: AgentLimits): string {
  const { maxToolCalls, maxTokens, maxCostUsd, timeoutMs, maxDepth } = limits;
  return [
    maxToolCalls === null ? "" : count(maxToolCalls, "tool call"),
    maxTokens === null ? "" : count(maxTokens, "token"),
    maxCostUsd === null ? "" : `${maxCostUsd} USD`,
    timeoutMs === null ? "" : formatDuration(timeoutMs),
    maxDepth === null ? "" : `depth ${maxDepth}`,
  ]
    .filter((text) => text !== "")
    .join(", ");
}
