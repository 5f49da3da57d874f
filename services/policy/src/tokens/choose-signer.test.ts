import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chooseSigner, useOf } from "./choose-signer.ts";

const none = (): boolean => false;

test("a new key is accepted first, and signs when every replica has had the time to read it", () => {
  const kids = ["new", "old"];
  const early = chooseSigner(kids, { isRevoked: none, isLeadOver: false });
  assert.equal(early, 1);
  assert.deepEqual(
    kids.map((_, index) => useOf(index, early)),
    ["next", "signs"],
  );
  const later = chooseSigner(kids, { isRevoked: none, isLeadOver: true });
  assert.equal(later, 0);
  assert.deepEqual(
    kids.map((_, index) => useOf(index, later)),
    ["signs", "accepted"],
  );
});

test("the only key signs at once", () => {
  assert.equal(chooseSigner(["only"], { isRevoked: none, isLeadOver: false }), 0);
});

test("a revoked key never signs, and the next one replaces it at once", () => {
  const isRevoked = (kid: string): boolean => kid === "old";
  assert.equal(chooseSigner(["new", "old"], { isRevoked, isLeadOver: false }), 0);
  assert.equal(chooseSigner(["old"], { isRevoked, isLeadOver: true }), null);
});

test("whatever is revoked, a key signs that is not, as long as there is one", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(5)),
      fc.boolean(),
      (kids, stopped, isLeadOver) => {
        const revoked = new Set(stopped.map((index) => kids[index]));
        const isRevoked = (kid: string): boolean => revoked.has(kid);
        const chosen = chooseSigner(kids, { isRevoked, isLeadOver });
        if (chosen === null) return kids.every(isRevoked);
        return !isRevoked(kids[chosen] ?? "");
      },
    ),
  );
});
