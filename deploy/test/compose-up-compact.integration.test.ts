// The compact composition, started for real:
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/compose-up-compact
//
// Without a registry, see composition.ts.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { STEP_MS, composition, removeProject, succeeded, whyNoComposition } from "./composition.ts";
import { gatewayOf, hasEnded, runOf, startRun } from "./composition-http.ts";

const skip = whyNoComposition();
const world = await composition("compact", "docker-compose.compact.yml");
const { compose, yard } = world;

after(async () => {
  if (skip === false) world.remove();
  await removeProject(world);
});

test(
  "the compact composition runs agents, and built-in tools write to a directory of the caller",
  { skip, timeout: 2 * STEP_MS },
  async (t) => {
    world.build();
    succeeded(compose(["up", "--detach", "--wait"], { YARD_APPROVE_OWN: "all" }));

    await t.test(
      "the gateway answers on the published port, and a run calls its tools",
      async () => {
        const http = gatewayOf(world, "switchyard");
        await startRun(http, { agent: "demo", input: "What is in this folder?", runId: "looks" });
        const run = await until(() => runOf(http, "looks"), hasEnded, { timeoutMs: 60_000 });
        assert.equal(run.status, "succeeded", JSON.stringify(run));
        assert.match(run.output ?? "", /I read three files/);
      },
    );

    await t.test("a file is written, and is not in the folder of the MCP servers", () => {
      const call = ["tools", "call", "write_file", '{"path":"a.txt","content":"hi"}'];
      const approval = /apr-[0-9a-f]{32}/.exec(yard(...call).text)?.[0] ?? "none";
      succeeded(yard("approvals", "approve", approval));
      assert.match(succeeded(yard(...call, "--approval", approval)), /Wrote 2 bytes/);
      assert.match(succeeded(yard("tools", "call", "list_files", "{}")), /^a\.txt$/m);
      assert.doesNotMatch(succeeded(yard("tools", "call", "list_files", "{}")), /package\.json/);
    });
  },
);
