import { isError } from "@switchyard/contracts/errors";
import { AgentName } from "@switchyard/contracts/ids";
import { getSkill } from "@switchyard/contracts/skill-importer/skills";
import type { CallState, RunState } from "../core/run-state.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { SkillToolInput } from "../core/skill-tool.ts";
import type { ChildRequest } from "./start-child.ts";

/**
 * The child run that a call of the tool `skill` stands for, when the skill's author wants it to run in a
 * context of its own; null for every other call.
 */
export async function forkOf(
  { part: { callId, input } }: CallState,
  { started }: RunState,
  clients: ServiceClients,
): Promise<ChildRequest | null> {
  const read = SkillToolInput.safeParse(input);
  if (!read.success) return null;
  const pinned = started.catalogue.find(({ name }) => name === read.data.name);
  if (pinned === undefined) return null;
  try {
    const { skill } = await clients.getSkill(pinned, { correlationId: started.runId });
    if (skill.record?.context !== "fork") return null;
    const named = AgentName.safeParse(skill.record.agent);
    // A skill's text takes the input as its argument line, which may be blank and must be there.
    const line = read.data.arguments === "" ? " " : read.data.arguments;
    const agent = named.success ? named.data : started.agent;
    return { callId, agent, input: line, wait: true, skill: pinned };
  } catch (error) {
    // The step that renders the skill reports to the model that it no longer exists.
    if (isError(error, getSkill, "unknown_skill")) return null;
    throw error;
  }
}
