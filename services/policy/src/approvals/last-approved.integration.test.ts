import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createLastApproved } from "./last-approved.ts";

const { url } = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url, name: "test", log });
after(() => redis.disconnect());
const last = createLastApproved(redis, log);

const tool = mcpToolRef("files", "write_file");
const of = (user: string, agent: string | null) => ({
  principal: { user, agent, runId: agent === null ? null : "r" },
  tool,
});

test("the last approved arguments of a team's agent are not shown to approvers of another team", async () => {
  await last.write(of("team-a", "demo"), '{"path":"secret-plan.txt"}');
  assert.equal(await last.read(of("team-a", "demo")), '{"path":"secret-plan.txt"}');
  assert.equal(await last.read(of("team-b", "demo")), null);
  assert.equal(await last.read(of("team-a", null)), null);
  assert.equal(await last.read(of("team-a", "other")), null);
});
