import type { Delivery } from "@switchyard/bus/delivery";
import { beginRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { SCHEDULER_USER } from "@switchyard/contracts/user-names";

/**
 * Turns a `run.begin` that the scheduler sent into a `run.start` of the owner that it names; rejects a `run.begin` from any
 * other sender. Returns any other message unchanged.
 */
export function asOwnersStart(delivery: Delivery): Delivery {
  if (delivery.kind === "rejected" || delivery.contract.name !== beginRun.name) return delivery;
  const { contract: _, tokens, payload, ...facts } = delivery;
  if (facts.caller !== SCHEDULER_USER) {
    const message = `${facts.subject}: only the scheduler starts runs in the name of others`;
    const code = "invalid_command";
    return { ...facts, kind: "rejected", code, message, problems: [], payload: null };
  }
  const { owner, start } = beginRun.payload.parse(payload);
  return { ...facts, kind: "command", contract: startRun, caller: owner, tokens, payload: start };
}
