import { test } from "node:test";
import { testRedisCluster } from "@switchyard/testing/test-redis-group";
import { runsThroughDeath } from "../../test-fixtures/runs-through-death.ts";

const cluster = await testRedisCluster({ replicas: 1, appendfsync: "always" });
const runThrough = await runsThroughDeath(cluster);

// The primary that has the list of parked runs, and the one that has the first run's journal.
for (const [round, key] of ["yard:runs:parked", "yard:run:{cli~1-0}:state"].entries())
  test(`a primary of Redis Cluster is killed under load (round ${round}): no run is lost, no call made twice`, async (t) => {
    await cluster.untilComplete();
    const successor = () => cluster.primaryOf(key);
    await runThrough(t, { runs: String(round), primary: await successor(), successor });
  });
