import { recallMemory } from "@switchyard/contracts/toolbox/agent-memory";
import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import type { MemoryInPrompt } from "@switchyard/contracts/agent-runner/runs";
import { memoryText } from "../core/memory-prompt.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { Suspended } from "../core/interruption.ts";

export interface Recalled {
  /** The text for the first message. */
  readonly text: string;
  /** Null when the agent does not use memories. */
  readonly memory: MemoryInPrompt | null;
}

const NOTHING: Recalled = { text: "", memory: null };

/**
 * Reads the agent's memories, as far as its file puts them in the prompt and the policy lets this run read them. A toolbox that
 * does not answer is an outage, and the run begins later: one that began without its memories would not be the same run.
 */
export async function recallForRun(
  { memoryBytes }: AgentDefinition,
  {
    clients,
    token,
    signal,
    runId,
  }: { clients: ServiceClients; token: string; signal: AbortSignal; runId: string },
): Promise<Recalled> {
  if (memoryBytes === null) return NOTHING;
  const call = { signal, correlationId: runId };
  try {
    const reply = await clients.recallMemory({ token, maxBytes: memoryBytes }, call);
    const { memories, kept, refused } = reply;
    const given = memories.filter(({ text }) => text !== null).length;
    const memory = { kept, given, named: memories.length - given };
    if (refused === null) return { text: memoryText(memories, kept), memory };
    return { text: "", memory: { ...memory, refused } };
  } catch (error) {
    // A toolbox is optional, and without one no agent has stored anything.
    if (error instanceof ServiceError && error.code === "no_responders") return NOTHING;
    if (!isError(error, recallMemory, "invalid_token")) throw error;
    throw new Suspended("the toolbox refused the run token", { cause: error });
  }
}
