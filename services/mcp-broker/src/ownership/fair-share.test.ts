import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { serversToClaim, shouldGiveOne, type BrokerShare } from "./fair-share.ts";

const HESITATION_MS = 250;

const brokers = fc
  .array(fc.record({ owned: fc.nat(12), limit: fc.nat(12) }), { minLength: 1, maxLength: 5 })
  .map((all) => all.map((broker, index) => ({ id: `b${index}`, ...broker })));

const free = fc
  .uniqueArray(fc.nat(30), { maxLength: 12 })
  .chain((ids) =>
    fc.tuple(
      ...ids.map((id) => fc.record({ server: fc.constant(`s${id}`), freeForMs: fc.nat(500) })),
    ),
  );

test("claims only free servers, each once, and never more than the limit leaves room for", () => {
  fc.assert(
    fc.property(brokers, free, fc.nat(60), (all, servers, total) => {
      const situation = {
        self: "b0",
        brokers: all,
        free: servers,
        total,
        hesitationMs: HESITATION_MS,
      };
      const claims = serversToClaim(situation);
      const [own] = all;
      assert.ok(own);
      assert.equal(new Set(claims).size, claims.length);
      assert.ok(claims.every((claim) => servers.some(({ server }) => server === claim)));
      assert.ok(claims.length <= Math.max(0, own.limit - own.owned));
    }),
  );
});

test("claims its fair share at once, and what the others leave when the hesitation is over", () => {
  const two = [
    { id: "a", owned: 0, limit: 9 },
    { id: "b", owned: 0, limit: 9 },
  ];
  const four = (freeForMs: number) => ["1", "2", "3", "4"].map((server) => ({ server, freeForMs }));
  const claims = (freeForMs: number) =>
    serversToClaim({
      self: "a",
      brokers: two,
      free: four(freeForMs),
      total: 4,
      hesitationMs: HESITATION_MS,
    });
  assert.equal(claims(0).length, 2);
  assert.equal(claims(HESITATION_MS).length, 4);
  // Alone it takes them all.
  const alone = { self: "a", brokers: two.slice(0, 1), free: four(0), total: 4, hesitationMs: 250 };
  assert.equal(serversToClaim(alone).length, 4);
});

test("no server stays free while a broker has room for it", () => {
  fc.assert(
    fc.property(brokers, fc.nat(20), (all, count) => {
      const waiting = Array.from({ length: count }, (_, n) => ({
        server: `s${n}`,
        freeForMs: HESITATION_MS,
      }));
      const total = count + all.reduce((sum, { owned }) => sum + owned, 0);
      for (const { id, owned, limit } of all) {
        const situation = {
          self: id,
          brokers: all,
          free: waiting,
          total,
          hesitationMs: HESITATION_MS,
        };
        const room = Math.max(0, limit - owned);
        assert.equal(serversToClaim(situation).length, Math.min(room, count));
      }
    }),
  );
});

/** Lets the brokers hand over servers until none does any more; fails when that takes too long. */
function settle(all: readonly BrokerShare[]): { moves: number; after: BrokerShare[] } {
  const after = all.map((broker) => ({ ...broker }));
  for (let moves = 0; ; moves += 1) {
    const giver = after.find(({ id }) => shouldGiveOne({ self: id, brokers: after }));
    if (giver === undefined) return { moves, after };
    assert.ok(moves <= 1_000, "servers move without end");
    const taker = after
      .filter(({ owned, limit }) => owned < limit)
      .toSorted((a, b) => a.owned - b.owned)[0];
    assert.ok(taker, "a server is given away without room at another broker");
    giver.owned -= 1;
    taker.owned += 1;
  }
}

test("balancing ends, and then no broker with room has two fewer than the fullest", () => {
  fc.assert(
    fc.property(brokers, (all) => {
      const { moves, after } = settle(all);
      const most = Math.max(...after.map(({ owned }) => owned));
      const roomy = after.filter(({ owned, limit }) => owned < limit);
      assert.ok(roomy.every(({ owned }) => owned + 2 > most));
      assert.ok(moves <= all.reduce((sum, { owned }) => sum + owned, 0));
      assert.equal(settle(after).moves, 0);
    }),
  );
});

test("one broker at most gives a server away", () => {
  fc.assert(
    fc.property(brokers, (all) => {
      const givers = all.filter(({ id }) => shouldGiveOne({ self: id, brokers: all }));
      assert.ok(givers.length <= 1);
    }),
  );
});
