import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { instant, leaseTimes } from "./lease-times.ts";
import { ServerLease } from "./server-lease.ts";

const times = leaseTimes(900_000);

function lab({ mock }: TestContext) {
  mock.timers.enable({ apis: ["Date"] });
  const lease = new ServerLease("files", { self: "a:1", times });
  const passes = (ms: number): void => mock.timers.setTime(Date.now() + ms);
  const elsewhere = (owner: string) =>
    lease.foundElsewhere({ owner, stamp: "1.0", seenAt: instant(), leftMs: 60_000, says: null });
  return { lease, passes, elsewhere };
}

test("a lease of another broker counts as long as it lasts, and then has no known owner", (context) => {
  const { lease, passes, elsewhere } = lab(context);
  elsewhere("b:1");
  assert.equal(lease.ownerElsewhere, "b:1");
  passes(40_000);
  lease.foundAgain(60_000, instant());
  passes(40_000);
  assert.equal(lease.ownerElsewhere, "b:1", "it was renewed");
  passes(20_000);
  assert.equal(lease.ownerElsewhere, null);
  assert.equal(lease.freeSince, null, "only Redis reports that it is free");
  lease.foundFree(instant());
  assert.notEqual(lease.freeSince, null);
});

test("an own lease ends by its clock, whatever an earlier read of Redis found", (context) => {
  const { lease, passes, elsewhere } = lab(context);
  lease.take(7, instant());
  lease.foundFree(instant());
  elsewhere("b:1");
  assert.equal(lease.isOwned, true);
  passes(times.trustMs);
  assert.equal(lease.isOwned, false);
  assert.equal(lease.own?.epoch, 7, "it has to be left still");
  lease.end();
  assert.equal(lease.own, null);
});

test("a lease in this broker's own name that it does not hold has no other owner", (context) => {
  const { lease, elsewhere } = lab(context);
  elsewhere("a:1");
  assert.equal(lease.ownerElsewhere, null);
  assert.equal(lease.stamp, "1.0");
});
