import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, test } from "node:test";
import { publishEvent } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  callsStopped,
  listStops,
  releaseCall,
  type Stop,
} from "@switchyard/contracts/policy/policy-budgets";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { NotSentError } from "./call-once.ts";
import { createCallsInWork } from "./calls-in-work.ts";

const nats = await testNats();
const policy = await testBus(nats, "policy");
const broker = await testBus(nats, "broker");
await ensureStreams(policy);
/** The stops that the policy lists. */
const stops: Stop[] = [];
const service = serve(policy, {
  name: "policy",
  version: "1.0.0",
  description: "Knows what is stopped",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(listStops, () => ({ stops }));
/** The reservations that were released, and whether their calls were made. */
const released = new Map<string, boolean>();
service.handle(releaseCall, ({ reservation, isMade = true }) => {
  released.set(reservation, isMade);
  return { released: true };
});
const calls = createCallsInWork(broker);
after(() => calls.stop());
await policy.flush();
await broker.flush();

function callOf(runId: string) {
  const principal = { user: "cli", agent: "demo", runId };
  return { principal, ref: mcpToolRef("files", "read_file"), token: undefined };
}

/** Does the work of a decided call, as a provider does. */
async function during<T>(
  { principal, ref, token }: ReturnType<typeof callOf>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { deadline, correlationId, traceparent } = WAITS;
  const requester = { onBehalfOf: "cli", token, deadline, signal, correlationId, traceparent };
  const call = calls.begin({ requester, callId: undefined, server: "files" });
  try {
    call.begin(principal, ref);
    return await work(call.signal);
  } catch (error) {
    throw call.failureOf(error);
  } finally {
    call.end();
  }
}

const WAITS = {
  deadline: Date.now() + 600_000,
  correlationId: "c",
  traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
};

function stopOf(runId: string): Stop {
  const scope = { kind: "run", name: runId } as const;
  return { scope, reason: "test", by: "admin", at: "2026-01-01T00:00:00.000Z" };
}

/** Work that ends in this error when its signal aborts, and never otherwise. */
function endless(error: Error): (signal: AbortSignal) => Promise<never> {
  return (signal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(error), { once: true }),
    );
}

test("the event of a stop ends the matching calls in progress, and no others", async () => {
  const other = new AbortController();
  const goesOn = during(callOf("run-other"), other.signal, endless(new Error("over")));
  await Promise.all([
    assert.rejects(goesOn, { message: "over" }),
    (async () => {
      const stopped = during(
        callOf("run-told"),
        new AbortController().signal,
        endless(new Error("aborted")),
      );
      await Promise.all([
        assert.rejects(stopped, { code: "stopped" }),
        publishEvent(policy, callsStopped, { scope: "run" }, stopOf("run-told")),
      ]);
      other.abort();
    })(),
  ]);
});

test("a stop whose event was lost is seen by the next look at the list", async () => {
  stops.push(stopOf("run-lost"));
  const { signal } = new AbortController();
  const stopped = during(callOf("run-lost"), signal, endless(new Error("aborted")));
  await assert.rejects(stopped, { code: "stopped" });
  assert.equal(
    getEventListeners(signal, "abort").length,
    0,
    "a call that is over receives nothing",
  );
});

test("a call that was stopped before it was sent reports that, and not that it may have had its effect", async () => {
  stops.push(stopOf("run-unsent"));
  const notSent = new NotSentError(new ServiceError("overloaded", "it waited for a place"));
  const { signal } = new AbortController();
  await assert.rejects(during(callOf("run-unsent"), signal, endless(notSent)), notSent);
});

test("a reservation is released at the end of its call, which was made unless it was provably not sent", async () => {
  const requester = {
    onBehalfOf: "cli",
    token: undefined,
    signal: new AbortController().signal,
    ...WAITS,
  };
  const { principal, ref } = callOf("run-reserved");
  const begun = (reservation: string) => {
    const call = calls.begin({ requester, callId: undefined, server: "files" });
    call.requester.onReserved?.(reservation);
    return call;
  };
  begun("never-begun").end();
  const made = begun("made");
  made.begin(principal, ref);
  made.failureOf(new Error("its result was lost"));
  made.end();
  const unsent = begun("unsent");
  unsent.begin(principal, ref);
  unsent.failureOf(new NotSentError(new ServiceError("overloaded", "it waited for a place")));
  unsent.end();
  await until(() => released.size === 3);
  assert.deepEqual(Object.fromEntries(released), {
    "never-begun": false,
    made: true,
    unsent: false,
  });
});

test("a caller that gives up is not a stop", async () => {
  const caller = new AbortController();
  const gone = during(callOf("run-gone"), caller.signal, endless(new Error("given up")));
  caller.abort();
  await assert.rejects(gone, { message: "given up" });
});
