import assert from "node:assert/strict";
import { test } from "node:test";
import { FairSlots } from "./fair-slots.ts";

const MIB = 1024 * 1024;

function taken(slots: FairSlots, caller: string, { times = 1, bytes = 0 } = {}): number {
  let count = 0;
  for (let index = 0; index < times; index += 1) if (slots.take(caller, bytes) === null) count += 1;
  return count;
}

test("one caller takes half of the slots, and each further one a fair part of what is left", () => {
  const slots = new FairSlots({ calls: 8, bytes: MIB });
  assert.equal(taken(slots, "team-a", { times: 100 }), 4);
  assert.equal(taken(slots, "team-b", { times: 100 }), 2);
  assert.equal(taken(slots, "team-c", { times: 100 }), 1);
  assert.equal(taken(slots, "team-d", { times: 100 }), 1);
  assert.equal(slots.take("team-e", 0), "is at its limit of 8 calls at a time");
  slots.leave("team-a", 0);
  assert.match(slots.take("team-a", 0) ?? "", /has 3 calls of team-a in work, its share of 8/);
  assert.equal(slots.take("team-e", 0), null);
});

test("a service, which acts for many callers, takes all slots", () => {
  const slots = new FairSlots({ calls: 4, bytes: MIB });
  assert.equal(taken(slots, "runner", { times: 100 }), 4);
  assert.match(slots.take("runner", 0) ?? "", /limit of 4 calls/);
});

test("a single slot goes to the first caller", () => {
  const slots = new FairSlots({ calls: 1, bytes: MIB });
  assert.equal(slots.take("team-a", 0), null);
  assert.match(slots.take("team-b", 0) ?? "", /limit of 1 calls/);
});

test("the bytes of a caller's requests are limited to its share, and one request is taken however large it is", () => {
  const slots = new FairSlots({ calls: 100, bytes: 8 * MIB });
  assert.equal(taken(slots, "team-a", { times: 100, bytes: MIB }), 4);
  assert.match(slots.take("team-a", MIB) ?? "", /has 4 MiB of requests of team-a in work/);
  assert.equal(slots.take("team-b", MIB), null);
  const empty = new FairSlots({ calls: 100, bytes: MIB });
  assert.equal(empty.take("team-a", 64 * MIB), null);
  assert.match(empty.take("team-b", 1) ?? "", /limit of 1 MiB of requests/);
  empty.leave("team-a", 64 * MIB);
  assert.equal(empty.take("team-b", 1), null);
});

test("callers without work are forgotten", () => {
  const slots = new FairSlots({ calls: 4, bytes: MIB });
  assert.equal(slots.take("busy", 0), null);
  for (let index = 0; index < 3_000; index += 1) {
    assert.equal(slots.take(`caller-${index}`, 0), null);
    slots.leave(`caller-${index}`, 0);
  }
  assert.equal(taken(slots, "busy", { times: 100 }), 1);
});
