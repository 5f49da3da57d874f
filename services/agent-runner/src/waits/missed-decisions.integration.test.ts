import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { approvalStates } from "@switchyard/contracts/policy/approvals";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const policy = await connectBus({ servers: lab.nats.url, user: "policy" });
after(() => policy.close());
await lab.runner({}, { runSweepMs: 200 });

const approvalId = `apr-${"3".repeat(32)}`;
const expiresAt = new Date(Date.now() + 600_000).toISOString();

test("continues with a call whose approval was decided before any runner could receive the decision", async () => {
  let asked = 0;
  const states = serve(policy, {
    name: "states",
    version: "0.1.0",
    description: "Approvals",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  states.handle(approvalStates, () => {
    asked += 1;
    return { approvals: [{ id: approvalId, state: "approved" as const, expiresAt }] }; // no event ever reports it
  });
  let calls = 0;
  services.tools.set("guarded", (_args, { fail }) => {
    calls += 1;
    if (asked > 0) return "done after a yes";
    throw fail.approval_required("a person must approve", {
      approvalId,
      expiresAt,
      tier: "always",
    });
  });
  const plan = {
    steps: [{ calls: [{ tool: labTool("guarded"), with: {} }] }],
    answer: "{{/results/0/text}}",
  };
  services.agents.set("careful", agent("careful", { plan }));
  await lab.command("careful", { runId: "unheard", input: "x" });
  await lab.eventsUntil("unheard", "waiting");
  const events = await lab.eventsUntil("unheard", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done after a yes");
  assert.equal(calls, 2, "once for the request to wait, once after the decision");
  assert.equal(events.filter(({ name }) => name === "waiting").length, 1);
});
