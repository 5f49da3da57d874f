import { MAX_RECALLED, recallMemory as contract } from "@switchyard/contracts/toolbox/agent-memory";
import { failuresOf } from "@switchyard/contracts/errors";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import type { ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { replyOf } from "@switchyard/tool-provider/call-refusals";
import type { CallsInWork } from "@switchyard/tool-provider/calls-in-work";
import type { Decided } from "@switchyard/tool-provider/decision-cache";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { z } from "zod";
import { fitMemories, type ReadMemory } from "../memory/fit-memories.ts";
import { memoryOf, type MemoryStore } from "../memory/memory-store.ts";
import type { MemoryScope } from "../tool.ts";

export interface RecallDeps {
  readonly memory: Pick<MemoryStore, "names" | "read">;
  readonly calls: CallsInWork;
  readonly gate: PolicyGate;
  readonly executions: ExecutionAudit;
}

type Reply = z.input<typeof contract.reply>;

const fail = failuresOf(contract.errors);
const READ = builtinToolRef("memory_read");

/**
 * Reads an agent's memory for the prompt of its run: the names, then the texts, each as a call of `memory_read` that the policy
 * decides about. A text that is denied or needs approval is not read.
 */
export async function recallMemory(
  deps: RecallDeps,
  { maxBytes }: { readonly maxBytes: number },
  requester: Requester,
): Promise<Reply> {
  const call = deps.calls.begin({ requester, callId: undefined, server: null });
  try {
    const list = await readAs(deps, {}, call.requester, (scope) => deps.memory.names(scope));
    if ("refused" in list) return { memories: [], kept: 0, refused: list.refused };
    const { value: names } = list;
    const recalled = names.slice(0, MAX_RECALLED);
    const read = await Promise.all(recalled.map((name) => readOne(deps, name, call.requester)));
    const there = read.filter((memory) => memory !== null);
    return { memories: fitMemories(there, maxBytes), kept: names.length, refused: null };
  } catch (error) {
    throw replyOf(error);
  } finally {
    call.end();
  }
}

/** Returns null when it was deleted since its name was read. */
async function readOne(
  deps: RecallDeps,
  name: string,
  requester: Requester,
): Promise<ReadMemory | null> {
  const read = await readAs(deps, { name }, requester, (scope) => deps.memory.read(scope, name));
  if ("refused" in read) return { name, text: null };
  return read.value === null ? null : { name, text: read.value };
}

/** One call of `memory_read` with these arguments, when the policy plainly allows it. */
async function readAs<T>(
  { gate, executions }: RecallDeps,
  args: Record<string, unknown>,
  requester: Requester,
  read: (scope: MemoryScope) => Promise<T>,
): Promise<{ readonly value: T } | { readonly refused: string }> {
  const decided = await gate.check({ ref: READ, args }, requester);
  const { decision, principal } = decided;
  if (decision.effect !== "allow") return { refused: decision.reason };
  const scope = memoryOf(principal);
  if (scope === null) return { refused: "memory belongs to an agent, and the token is of none" };
  const record = await executions.begin(executedRead(decided, args, requester));
  try {
    const value = await orUnavailable(() => read(scope));
    record.ended("result");
    return { value };
  } catch (error) {
    record.failed(error);
    throw error;
  }
}

function executedRead(
  { decision, principal, audit: decisionRef, signed }: Decided,
  args: Record<string, unknown>,
  { onBehalfOf: caller, correlationId }: Requester,
) {
  const about = { caller, principal, ref: READ, pin: undefined, callId: undefined, args };
  return { ...about, decision, decisionRef, signed, passed: null, correlationId };
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const cause = String(error);
    throw fail.store_unavailable(
      `The agents' memory cannot be read now: ${cause}; try again when Redis is up.`,
      { cause },
    );
  }
}
