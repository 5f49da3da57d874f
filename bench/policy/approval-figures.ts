import { randomUUID } from "node:crypto";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { denyCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { TestRunner } from "../../services/policy/test/as-runner.ts";
import { compared, type Figure } from "../lib/figure.ts";

interface Users {
  readonly broker: Bus;
  readonly runner: TestRunner;
  readonly cli: Bus;
}

const FEW = 100;
const MANY = 10_000;
/** Below a run's limit of approvals in an hour. */
const A_RUN = 25;
const IN_FLIGHT = 16;
const DECIDED = 50;
const LISTED = 20;
const GOAL = 1.3;

/** Listing and deciding with 10,000 calls that wait for a person, against 100. */
export async function approvalFigures({ broker, runner, cli }: Users): Promise<Figure[]> {
  const ask = asker(broker, runner);
  const person = client(cli, { listApprovals, denyCall });
  const measured = async () => {
    const list = await medianUs(LISTED, () => person.listApprovals({ limit: FEW }));
    const { approvals } = await person.listApprovals({ limit: DECIDED });
    const ids = approvals.map(({ id }) => id);
    const decide = await medianUs(ids.length, (at) => person.denyCall({ id: ids[at] ?? "" }));
    return { list, decide };
  };
  await ask(FEW + DECIDED);
  const few = await measured();
  await ask(MANY - FEW);
  const many = await measured();
  const goal = { text: `≤ ${GOAL}×`, holds: (ratio: number) => ratio <= GOAL };
  return [
    compared(
      {
        name: "100 of 10,000 pending approvals listed",
        value: many.list,
        unit: "µs",
        baseline: few.list,
      },
      goal,
    ),
    compared(
      {
        name: "one of 10,000 pending approvals decided",
        value: many.decide,
        unit: "µs",
        baseline: few.decide,
      },
      goal,
    ),
  ];
}

/** Makes calls wait, as a tool provider does for the runs of an agent. */
function asker(broker: Bus, runner: TestRunner): (count: number) => Promise<void> {
  const provider = client(broker, { admitCall, checkPolicy });
  const tool = mcpToolRef("echo", "echo");
  const wait = async (runId: string): Promise<void> => {
    const run = { runId, agent: "bench", requester: "me", tools: [], ttlSeconds: 3_600 };
    const { token } = await runner.grantRun(run);
    const asked = { onBehalfOf: "runner", token, tool };
    const { decision, principal } = await provider.checkPolicy({ ...asked, args: {} });
    // The bench's rules require no approval; the decision passed here does, with a reason.
    const ofPerson: Decision = { ...decision, effect: "ask", tier: "always", reason: "bench" };
    for (let n = 0; n < A_RUN; n += 1) {
      const args = { message: `${runId} ${n}` };
      const call = { principal, caller: "runner", tool, pin: undefined, args, decision: ofPerson };
      const binding = bindingDigest(call);
      const rest = { callId: `${runId}-${n}`, attempt: randomUUID(), decision: ofPerson, binding };
      await provider.admitCall({ ...asked, args, ...rest });
    }
  };
  return async (count) => {
    const runs = Array.from({ length: Math.ceil(count / A_RUN) }, () => randomUUID());
    const work = async (): Promise<void> => {
      for (let runId = runs.pop(); runId !== undefined; runId = runs.pop()) await wait(runId);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  };
}

async function medianUs(count: number, operation: (at: number) => Promise<unknown>) {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const started = performance.now();
    await operation(at);
    times.push((performance.now() - started) * 1000);
  }
  times.sort((one, other) => one - other);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
