import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HeldLeases } from "./held-leases.ts";
import type { LeaseStore } from "./lease-store.ts";
import { leaseTimes } from "./lease-times.ts";

const times = leaseTimes(900_000);

/** A Redis that gives every lease, and answers after the time that the test says. */
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
  };
  const lost: string[] = [];
  const leases = new HeldLeases({
    store,
    times,
    textOf: () => "",
    onGained: () => {},
    onLost: (server) => void lost.push(server),
    onGive: async () => {},
    hint: () => {},
    onFailed: (error) => assert.fail(String(error)),
  });
  return { leases, lost, passes, way };
}

test("a lease is trusted from when it was asked for, however late the answer came", async (context) => {
  const { leases, lost, way } = lab(context);
  way.ms = times.trustMs;
  await leases.acquire(["files"]);
  assert.equal(leases.owns("files"), false);
  leases.dropUntrusted();
  assert.deepEqual(lost, ["files"]);
});

test("a renewal counts from when it was sent, however late it was confirmed", async (context) => {
  const { leases, lost, passes, way } = lab(context);
  await leases.acquire(["files"]);
  passes(times.renewMs);
  await leases.renew();
  passes(times.renewMs);
  assert.equal(leases.owns("files"), true, "the renewal counts");
  way.ms = times.trustMs;
  await leases.renew();
  assert.equal(leases.owns("files"), false);
  leases.dropUntrusted();
  assert.deepEqual(lost, ["files"]);
});
