import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { createCallOnce, NotSentError, type EarlierCall } from "./call-once.ts";
import type { CallIdentity, CallOutcome, CallRecord, CallStore, PickUp } from "./call-store.ts";

const ref = builtinToolRef("read_file");
const owner = { caller: "runner", token: "a-token" };
const call: CallIdentity = { fingerprint: "f1", ref, ...owner };
const other: CallIdentity = { fingerprint: "f2", ref, ...owner };
const outcome: CallOutcome = { kind: "failed", reason: "no such file" };
const notSent = new NotSentError(new ServiceError("overloaded", "no place is free"));

/** Several providers on one store, each with its own calls in progress. */
function lab(options: { finish?: () => Promise<void> } = {}) {
  const records = new Map<string, CallRecord>();
  let newest = 0;
  const admit = async ({ epoch }: PickUp): Promise<boolean> => {
    if (epoch < newest) return false;
    newest = epoch;
    return true;
  };
  const store: CallStore = {
    admit,
    read: async (callId) => records.get(callId) ?? null,
    async forbid(callId) {
      const found = records.get(callId) ?? null;
      if (found === null) records.set(callId, { state: "cancelled", owners: [] });
      return found;
    },
    async claim(callId, identity, pickUp = null) {
      if (pickUp !== null && !(await admit(pickUp))) return { state: "stale" };
      const found = records.get(callId);
      if (found !== undefined) return found;
      records.set(callId, { state: "claimed", claimId: "c", ...identity });
      return {
        state: "new",
        async finish(ended) {
          await options.finish?.();
          records.set(callId, { state: "done", outcome: ended, ...identity });
        },
        release: async () => void records.delete(callId),
      };
    },
  };
  const notStored: unknown[] = [];
  /** Claims calls and makes them, as a provider does. */
  const provider = () => {
    const once = createCallOnce({ store, onNotStored: (error) => void notStored.push(error) });
    return {
      async run(
        callId: string,
        identity: CallIdentity,
        execute: () => Promise<CallOutcome>,
        pickUp: PickUp | null = null,
      ): Promise<EarlierCall & { readonly replayed?: boolean }> {
        const claimed = await once.claim(callId, identity, pickUp);
        if (claimed.kind === "outcome") return { ...claimed, replayed: true };
        if (claimed.kind !== "turn") return claimed;
        try {
          const ended = await execute();
          await claimed.finish(ended);
          return { kind: "outcome", outcome: ended, replayed: false };
        } catch (error) {
          await claimed.fail(error);
          throw error;
        }
      },
    };
  };
  let made = 0;
  const make = async (): Promise<CallOutcome> => {
    made += 1;
    return outcome;
  };
  return { provider, store, notStored, make, made: () => made };
}

test("a repeat gets the stored outcome, at whichever provider, and the call was made once", async () => {
  const { provider, make, made } = lab();
  const once = provider();
  assert.deepEqual(await once.run("id", call, make), { kind: "outcome", outcome, replayed: false });
  for (const again of [once, provider()])
    assert.deepEqual(await again.run("id", call, make), {
      kind: "outcome",
      outcome,
      replayed: true,
    });
  assert.equal(made(), 1);
});

test("repeats in the same turn join the call in work", async () => {
  const { provider, make, made } = lab();
  const once = provider();
  const results = await Promise.all([1, 2, 3].map(() => once.run("id", call, make)));
  assert.deepEqual(
    results.map((result) => result.kind === "outcome" && result.replayed),
    [false, true, true],
  );
  assert.equal(made(), 1);
});

test("a repeat of a call that fails gets the same failure", async () => {
  const { provider } = lab();
  const once = provider();
  const lost = new Error("the connection was lost");
  const both = await Promise.allSettled([
    once.run("id", call, () => Promise.reject(lost)),
    once.run("id", call, () => assert.fail("it was made twice")),
  ]);
  assert.deepEqual(both, [
    { status: "rejected", reason: lost },
    { status: "rejected", reason: lost },
  ]);
});

test("an older pick-up of the run makes nothing, and a newer one does not get its refusal", async () => {
  const { provider, store, make, made } = lab();
  await store.admit({ runId: "r1", epoch: 2 });
  const once = provider();
  const of = (epoch: number) => once.run("id", call, make, { runId: "r1", epoch });
  const results = await Promise.all([of(1), of(3)]);
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ["stale", "outcome"],
  );
  assert.equal((await of(2)).kind, "stale");
  assert.equal(made(), 1);
});

test("an id is of one call: another one with it is a conflict, in work and afterwards", async () => {
  const { provider, make, made } = lab();
  const once = provider();
  const results = await Promise.all([once.run("id", call, make), once.run("id", other, make)]);
  assert.deepEqual(
    results.map(({ kind }) => kind),
    ["outcome", "conflict"],
  );
  assert.equal((await provider().run("id", other, make)).kind, "conflict");
  assert.equal(made(), 1);
});

test("a call that was provably not sent leaves its id free", async () => {
  const { provider, make } = lab();
  const once = provider();
  await assert.rejects(
    once.run("id", call, () => Promise.reject(notSent)),
    notSent,
  );
  assert.equal((await once.run("id", other, make)).kind, "outcome");
});

test("a call that ended in anything else may have happened: it is unknown and not made again", async () => {
  const { provider, make, made } = lab();
  const lost = new Error("the connection was lost");
  await assert.rejects(
    provider().run("id", call, () => Promise.reject(lost)),
    lost,
  );
  assert.deepEqual(await provider().run("id", call, make), { kind: "unknown" });
  assert.equal(made(), 0);
});

test("an outcome that cannot be stored is still returned, and unknown to a repeat", async () => {
  const full = new Error("out of memory");
  const { provider, notStored, make } = lab({ finish: () => Promise.reject(full) });
  assert.equal((await provider().run("id", call, make)).kind, "outcome");
  assert.deepEqual(notStored, [full]);
  assert.deepEqual(await provider().run("id", call, make), { kind: "unknown" });
});

test("a call that was cancelled before it came is not made", async () => {
  const { provider, store, make, made } = lab();
  await store.forbid("id", owner);
  assert.deepEqual(await provider().run("id", call, make), { kind: "cancelled" });
  assert.equal(made(), 0);
});
