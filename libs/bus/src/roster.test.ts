import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Roster, type Seat } from "./roster.ts";

test("a roster has what came and has not gone, in the order in which it came", () => {
  // An odd number adds the next value; an even one removes one of those that were ever added, again or for the first time.
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 200 }), (steps) => {
      const roster = new Roster<number>();
      const present = new Set<number>();
      const seats: Seat<number>[] = [];
      for (const step of steps) {
        if (step % 2 === 1) {
          present.add(seats.length);
          seats.push(roster.add(seats.length));
        } else {
          const seat = seats[(step / 2) % Math.max(1, seats.length)];
          if (seat === undefined) continue;
          present.delete(seat.value);
          roster.remove(seat);
        }
        assert.equal(roster.size, present.size);
        assert.deepEqual(roster.values(), [...present]);
      }
    }),
  );
});

test("the same thing may stand there twice, and leaves once for each time", () => {
  const roster = new Roster<string>();
  const first = roster.add("a");
  roster.add("a");
  roster.remove(first);
  roster.remove(first);
  assert.deepEqual(roster.values(), ["a"]);
});

test("who leaves while all are visited is visited nevertheless", () => {
  const roster = new Roster<string>();
  const seats = ["a", "b", "c"].map((value) => roster.add(value));
  const visited: string[] = [];
  for (const value of roster.values()) {
    visited.push(value);
    for (const seat of seats) roster.remove(seat);
  }
  assert.deepEqual(visited, ["a", "b", "c"]);
  assert.equal(roster.size, 0);
});
