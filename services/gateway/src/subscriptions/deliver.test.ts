import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
import { afterAttempt, type AttemptFailure, sendWebhook } from "./deliver.ts";
import type { lookup } from "node:dns";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";

const HOUR = 3_600_000;
const webhook: KeptWebhook = {
  id: "whk-0000000000000000",
  url: "https://example.com/",
  events: ["run.*"],
  agent: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  status: "enabled",
  reason: null,
  failingSince: null,
  lastError: null,
};
const failed: AttemptFailure = { error: "answered 500", isGone: false };

/** Returns the webhook after attempts, each at an hour of the day. */
function after(...attempts: [hour: number, failure: AttemptFailure][]): KeptWebhook {
  return attempts.reduce((one, [hour, failure]) => {
    const now = Date.parse("2026-01-01T00:00:00.000Z") + hour * HOUR;
    return afterAttempt(one, failure, { now, disableAfterMs: 24 * HOUR }) ?? one;
  }, webhook);
}

test("a webhook is disabled by the first failure after nothing has succeeded for the whole time", () => {
  const before = after([1, failed], [24.9, failed]);
  assert.deepEqual(
    [before.status, before.reason, before.failingSince, before.lastError],
    ["enabled", null, "2026-01-01T01:00:00.000Z", "answered 500"],
  );
  const then = after([1, failed], [24.9, failed], [25, failed]);
  assert.deepEqual([then.status, then.reason], ["disabled", "failing"]);
});

test("a success in between restarts the time", () => {
  assert.deepEqual(after([1, failed], [20, null]), webhook);
  const again = after([1, failed], [20, null], [25, failed], [48, failed]);
  assert.deepEqual([again.status, again.failingSince], ["enabled", "2026-01-02T01:00:00.000Z"]);
});

test("a receiver that is gone disables it at once, and an attempt that was under way enables nothing", () => {
  const gone = after([1, { error: "answered 410", isGone: true }]);
  assert.deepEqual([gone.status, gone.reason], ["disabled", "gone"]);
  const late = after([1, { error: "answered 410", isGone: true }], [2, failed]);
  assert.deepEqual([late.status, late.reason], ["disabled", "gone"]);
  assert.equal(
    afterAttempt(webhook, null, { now: 0, disableAfterMs: HOUR }),
    null,
    "a success of one that is well changes nothing",
  );
});

const target: KeptWebhook = {
  id: "whk-0000000000000000",
  url: "http://hooks.example.com/",
  events: ["run.*"],
  agent: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  status: "enabled",
  reason: null,
  failingSince: null,
  lastError: null,
};

test("a name is resolved at each attempt, and one with a private address gets no request", async () => {
  let asked = 0;
  const resolve = ((_name: string, _options: object, callback: (...found: unknown[]) => void) => {
    asked += 1;
    callback(null, [{ address: asked === 1 ? "10.0.0.1" : "169.254.169.254", family: 4 }]);
  }) as unknown as typeof lookup; // This is the one overload that is called.
  const guard = createEgressGuard({
    permitted: parsePrivateHosts(""),
    setting: "YARD_TEST",
    resolve,
  });
  const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
  for (const url of ["http://hooks.example.com/", "https://hooks.example.com/"]) {
    const sent = await sendWebhook(
      guard,
      { secret, webhook: { ...target, url } },
      { id: "msg_1", body: "{}" },
    );
    assert.equal(sent.outcome, "failed");
    assert.equal(
      "error" in sent && sent.error,
      "hooks.example.com cannot be reached from here",
      url,
    );
  }
  assert.equal(asked, 2);
});

test("an internal name, a name that does not exist and one without addresses look the same to the owner of a webhook", async () => {
  const answers = [
    [null, [{ address: "10.0.0.1", family: 4 }]],
    [Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })],
    [null, []],
  ];
  const errors = [];
  for (const answer of answers) {
    const resolve = ((_name: string, _options: object, callback: (...found: unknown[]) => void) =>
      callback(...answer)) as unknown as typeof lookup; // This is the one overload that is called.
    const guard = createEgressGuard({ permitted: parsePrivateHosts(""), setting: "X", resolve });
    const sent = await sendWebhook(
      guard,
      { secret: "whsec_AAAA", webhook: target },
      { id: "m", body: "{}" },
    );
    errors.push("error" in sent ? sent.error : "");
  }
  assert.equal(new Set(errors).size, 1, errors.join());
});
