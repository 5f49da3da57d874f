import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createLog } from "@switchyard/service/log";
import { KnownLeases } from "./known-leases.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import type { LeaseStore } from "./lease-store.ts";
import { leaseTimes } from "./lease-times.ts";

const times = leaseTimes(900_000);

/** A Redis that grants every lease, and answers after the time that the test sets. */
function lab({ mock }: TestContext) {
  mock.timers.enable({ apis: ["Date"] });
  const passes = (ms: number): void => mock.timers.setTime(Date.now() + ms);
  const way = { ms: 0 };
  const store: LeaseStore = {
    async acquire(servers) {
      passes(way.ms);
      return servers.map(() => 1);
    },
    async renew(leases) {
      passes(way.ms);
      return leases.map(() => true);
    },
    release: async () => {},
    write: async () => true,
    look: async () => [],
    read: async () => null,
    beat: async () => [],
    leave: async () => {},
    takeTurn: async () => false,
  };
  const lost: string[] = [];
  const leases = new KnownLeases({ name: "test", self: "test:1", times });
  const keeper = new LeaseKeeper({
    store,
    leases,
    served: {
      ids: ["files"],
      textOf: async () => "",
      isIdle: () => false,
      gained: () => {},
      lost: (server) => void lost.push(server),
      handOver: async () => {},
      saidElsewhere: () => {},
    },
    limit: 10,
    rebalanceMs: 1_000,
    hint: () => {},
    onRound: () => {},
    log: createLog({ service: "test", level: "silent" }),
  });
  return { leases, keeper, lost, passes, way };
}

test("a lease is trusted from when it was requested, however late the answer came", async (context) => {
  const { leases, keeper, lost, way } = lab(context);
  way.ms = times.trustMs;
  await keeper.acquire(["files"]);
  assert.equal(leases.owns("files"), false);
  keeper.dropUntrusted();
  assert.deepEqual(lost, ["files"]);
});

test("a renewal counts from when it was sent, however late it was confirmed", async (context) => {
  const { leases, keeper, lost, passes, way } = lab(context);
  await keeper.acquire(["files"]);
  passes(times.renewMs);
  await keeper.renew();
  passes(times.renewMs);
  assert.equal(leases.owns("files"), true, "the renewal counts");
  way.ms = times.trustMs;
  await keeper.renew();
  assert.equal(leases.owns("files"), false);
  keeper.dropUntrusted();
  assert.deepEqual(lost, ["files"]);
});
