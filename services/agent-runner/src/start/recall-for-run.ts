import { recallMemory } from "@switchyard/contracts/agent-memory";
import type { AgentDefinition } from "@switchyard/contracts/agents";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import type { MemoryInPrompt } from "@switchyard/contracts/runs";
import { memoryText } from "../core/memory-prompt.ts";
import type { Peers } from "../peers/peers.ts";
import { Suspended } from "../signals/interruption.ts";

export interface Recalled {
  /** For the first message. */
  readonly text: string;
  /** Null when the agent asks for none. */
  readonly memory: MemoryInPrompt | null;
}

const NOTHING: Recalled = { text: "", memory: null };

/**
 * What the agent kept, as far as its file wants it in the prompt and the policy lets this run read it. A toolbox that
 * does not answer is an outage, and the run begins later: one that began without it would not be the same run.
 */
export async function recallForRun(
  { memoryBytes }: AgentDefinition,
  {
    peers,
    token,
    signal,
    runId,
  }: { peers: Peers; token: string; signal: AbortSignal; runId: string },
): Promise<Recalled> {
  if (memoryBytes === null) return NOTHING;
  const call = { signal, correlationId: runId };
  try {
    const reply = await peers.recallMemory({ token, maxBytes: memoryBytes }, call);
    const { memories, kept, refused } = reply;
    const given = memories.filter(({ text }) => text !== null).length;
    const memory = { kept, given, named: memories.length - given };
    if (refused === null) return { text: memoryText(memories, kept), memory };
    return { text: "", memory: { ...memory, refused } };
  } catch (error) {
    // There need not be a toolbox, and then no agent has kept anything.
    if (error instanceof ServiceError && error.code === "no_responders") return NOTHING;
    if (!isError(error, recallMemory, "invalid_token")) throw error;
    throw new Suspended("the toolbox refused the run token", { cause: error });
  }
}
