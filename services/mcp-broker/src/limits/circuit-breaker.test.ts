import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  admit,
  closedCircuit,
  createCircuitBreaker,
  FAILURES_TO_OPEN,
  pauseMs,
  settle,
  type Circuit,
  type Verdict,
} from "./circuit-breaker.ts";

const fail = (circuit: Circuit, now: number): Circuit =>
  settle(circuit, { verdict: "bad", isProbe: false }, now);

function opened(now: number): Circuit {
  let circuit = closedCircuit;
  for (let n = 0; n < FAILURES_TO_OPEN; n += 1) circuit = fail(circuit, now);
  return circuit;
}

test("opens after failures in a row, and an answer in between starts the count anew", () => {
  let circuit = closedCircuit;
  for (let n = 1; n < FAILURES_TO_OPEN; n += 1) circuit = fail(circuit, 0);
  assert.equal(circuit.state, "closed");
  circuit = settle(circuit, { verdict: "good", isProbe: false }, 0);
  for (let n = 1; n < FAILURES_TO_OPEN; n += 1) circuit = fail(circuit, 0);
  assert.equal(circuit.state, "closed");
  assert.equal(fail(circuit, 0).state, "open");
});

test("an open circuit returns when to retry, admits one call then, and refuses the others until it ends", () => {
  const circuit = opened(100);
  const early = admit(circuit, 100).admission;
  assert.deepEqual(early, { admitted: false, retryAfterMs: pauseMs(1) });
  const probing = admit(circuit, 100 + pauseMs(1));
  assert.deepEqual(probing.admission, { admitted: true, isProbe: true });
  assert.equal(probing.circuit.state, "half_open");
  assert.equal(admit(probing.circuit, 1e9).admission.admitted, false);
});

test("the try decides: closed after an answer, open for longer after a failure", () => {
  const now = pauseMs(1);
  const { circuit } = admit(opened(0), now);
  assert.deepEqual(settle(circuit, { verdict: "good", isProbe: true }, now), closedCircuit);
  const again = settle(circuit, { verdict: "bad", isProbe: true }, now);
  assert.deepEqual(again, { state: "open", until: now + pauseMs(2), openings: 2 });
  assert.ok(pauseMs(2) > pauseMs(1) && pauseMs(50) === pauseMs(60));
});

test("a cancelled probe leaves its slot to the next call", () => {
  const now = pauseMs(1);
  const { circuit } = admit(opened(0), now);
  const back = settle(circuit, { verdict: "none", isProbe: true }, now);
  assert.deepEqual(admit(back, now).admission, { admitted: true, isProbe: true });
});

test("whatever comes in whatever order: at most one call tries, and only a try closes the circuit", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("enter" as const), after: fc.nat(70_000) }),
    fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(),
      verdict: fc.constantFrom<Verdict>("good", "bad", "none"),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let now = 0;
      let circuit: Circuit = closedCircuit;
      const inWork: { isProbe: boolean }[] = [];
      for (const next of steps) {
        const before = circuit;
        if (next.kind === "enter") {
          now += next.after;
          const entered = admit(circuit, now);
          circuit = entered.circuit;
          if (entered.admission.admitted) inWork.push(entered.admission);
          else assert.ok(entered.admission.retryAfterMs > 0 && before.state !== "closed");
        } else if (inWork.length > 0) {
          const [call] = inWork.splice(next.which % inWork.length, 1);
          assert.ok(call !== undefined);
          circuit = settle(circuit, { ...call, verdict: next.verdict }, now);
          if (before.state !== "closed" && circuit.state === "closed")
            assert.ok(call.isProbe && next.verdict === "good");
        }
        const probes = inWork.filter(({ isProbe }) => isProbe).length;
        assert.equal(probes, circuit.state === "half_open" ? 1 : 0);
      }
    }),
  );
});

test("a breaker in use refuses, tries and closes again", () => {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  const end = (verdict: Verdict): void => {
    const entered = breaker.enter();
    assert.ok("settle" in entered);
    entered.settle(verdict);
  };
  for (let n = 0; n < FAILURES_TO_OPEN; n += 1) end("bad");
  assert.equal(breaker.state, "open");
  assert.deepEqual(breaker.enter(), { retryAfterMs: pauseMs(1) });
  assert.equal(breaker.refusedForMs(), pauseMs(1));
  now = pauseMs(1);
  assert.equal(breaker.refusedForMs(), null);
  end("good");
  assert.equal(breaker.state, "closed");
});

test("every lost connection counts, and once, however many calls it takes along", () => {
  const breaker = createCircuitBreaker(() => 0);
  const enter = () => {
    const entered = breaker.enter();
    assert.ok("settle" in entered);
    return entered;
  };
  const together = Array.from({ length: 2 * FAILURES_TO_OPEN }, enter);
  for (const { settle: end } of together) end("lost");
  assert.equal(breaker.state, "closed");
  for (let n = 2; n < FAILURES_TO_OPEN; n += 1) enter().settle("lost");
  assert.equal(breaker.state, "closed");
  enter().settle("lost");
  assert.equal(breaker.state, "open");
});

test("a try that is lost opens the circuit for longer, whatever else was lost meanwhile", () => {
  let now = 0;
  const breaker = createCircuitBreaker(() => now);
  const enter = () => {
    const entered = breaker.enter();
    assert.ok("settle" in entered);
    return entered;
  };
  const early = [enter(), enter()];
  for (let n = 0; n < FAILURES_TO_OPEN; n += 1) enter().settle("lost");
  assert.equal(breaker.state, "open");
  now = pauseMs(1);
  const probe = enter();
  for (const { settle: end } of early) end("lost");
  probe.settle("lost");
  assert.equal(breaker.refusedForMs(), pauseMs(2));
});
