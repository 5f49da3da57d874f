import type { Delivery } from "@switchyard/bus/consume";
import { beginRun } from "@switchyard/contracts/run-commands";
import { startRun } from "@switchyard/contracts/runs";
import { SCHEDULER_USER } from "@switchyard/contracts/user-names";

/**
 * A `run.begin` is a `run.start` of the owner that it names, when the scheduler sent it; from anybody else it is refused. Any other
 * message is what it was.
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
