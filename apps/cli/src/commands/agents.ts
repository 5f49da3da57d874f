import { client } from "@switchyard/bus/call";
import { getAgent, listAgents } from "@switchyard/contracts/agents";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { modelLabel } from "../model-label.ts";
import { printable, printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const DESCRIPTION_WIDTH = 70;

export async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { agents } = await withBus(await findBus(process.env), (bus) =>
    client(bus, { listAgents }).listAgents({}),
  );
  if (options.json) return writeJson(terminal, { agents });
  const lines = tableLines(
    [
      { title: "AGENT", value: (agent) => agent.name },
      { title: "SOURCE", value: (agent) => agent.source },
      { title: "MODEL", value: (agent) => printableLine(agent.model ?? "(default)"), maxWidth: 40 },
      {
        title: "DESCRIPTION",
        value: (agent) => printableLine(agent.description),
        maxWidth: DESCRIPTION_WIDTH,
      },
    ],
    agents,
  );
  for (const line of lines) terminal.out(line);
}

export async function show(
  terminal: Terminal,
  name: string,
  options: { json?: true },
): Promise<void> {
  const { agent } = await withBus(await findBus(process.env), (bus) =>
    client(bus, { getAgent }).getAgent({ name }),
  );
  if (options.json) return writeJson(terminal, { agent });
  const fields = fieldLines([
    ["agent", agent.name],
    ["description", agent.description],
    ["source", agent.source],
    ["digest", agent.digest],
    ["model", agent.model === null ? "(the runner's default)" : modelLabel(agent.model)],
    ["temperature", agent.temperature === null ? "" : String(agent.temperature)],
    ["max steps", String(agent.maxSteps)],
    [
      "tools",
      agent.tools === null ? "all that the policy allows" : agent.tools.join(", ") || "none",
    ],
    ["skills", agent.skills.join(", ")],
    ["plan", agent.plan === null ? "" : count(agent.plan.steps.length, "step")],
  ]);
  for (const line of fields) terminal.out(line);
  if (agent.systemPrompt !== "") terminal.out(`\n${printable(agent.systemPrompt)}`);
}
