import { test } from "node:test";
import { testRedisGroup } from "@switchyard/testing/test-redis-group";
import { runsThroughDeath } from "../../test-fixtures/runs-through-death.ts";

const group = await testRedisGroup(2, { appendfsync: "always" });
const runThrough = await runsThroughDeath(group);

test("Redis' primary is killed under load, and then its successor: no run is lost, no call made twice", async (t) => {
  for (const round of [0, 1]) {
    await group.untilComplete();
    const successor = () => group.primary();
    await runThrough(t, { runs: `round-${round}`, primary: await successor(), successor });
  }
});
