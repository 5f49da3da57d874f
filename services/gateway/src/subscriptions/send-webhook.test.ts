import assert from "node:assert/strict";
import type { lookup } from "node:dns";
import { test } from "node:test";
import type { KeptWebhook } from "../routes/webhook-operations.ts";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { sendWebhook } from "./send-webhook.ts";

const webhook: KeptWebhook = {
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
      { secret, webhook: { ...webhook, url } },
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
      { secret: "whsec_AAAA", webhook },
      { id: "m", body: "{}" },
    );
    errors.push("error" in sent ? sent.error : "");
  }
  assert.equal(new Set(errors).size, 1, errors.join());
});
