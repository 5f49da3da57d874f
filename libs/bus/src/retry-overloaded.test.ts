import assert from "node:assert/strict";
import { test } from "node:test";
import { rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { z } from "zod";
import type { CallOptions } from "./call-options.ts";
import { retryOverloaded } from "./retry-overloaded.ts";

const contract = rpc({
  subject: "yard.rpc.{caller}.test.list",
  summary: "Lists.",
  request: z.object({}),
  reply: z.object({}),
});
const REPLY = {};

test("a call that an overloaded service rejects is retried until the service has room", async () => {
  const service = failing(["overloaded", "overloaded"]);
  assert.equal(await service.call(), REPLY);
  assert.equal(service.calls(), 3);
});

test("any other error ends the call at once", async () => {
  const service = failing(["timeout"]);
  await assert.rejects(service.call(), { code: "timeout" });
  assert.equal(service.calls(), 1);
});

test("a call to a service that stays overloaded fails", async () => {
  const service = failing(Array.from({ length: 8 }, () => "overloaded"));
  await assert.rejects(service.call(), { code: "overloaded" });
  assert.equal(service.calls(), 8);
});

test("a call with an attachment is not retried, since its bytes may come only once", async () => {
  const service = failing(["overloaded"]);
  await assert.rejects(service.call({ attachment: [] }), { code: "overloaded" });
  assert.equal(service.calls(), 1);
});

test("an abort ends the pause with the reason of the signal", async () => {
  const service = failing(["overloaded"]);
  const signal = AbortSignal.abort(new Error("left"));
  await assert.rejects(service.call({ signal }), { message: "left" });
  assert.equal(service.calls(), 1);
  const later = new AbortController();
  const slow = failing(["overloaded"], 1_000_000);
  const pausing = slow.call({ signal: later.signal });
  setImmediate(() => later.abort(new Error("left later")));
  await assert.rejects(pausing, { message: "left later" });
});

/** A service that fails with these codes, one after the other, and replies then. */
function failing(codes: readonly string[], random = -0.5) {
  let calls = 0;
  const next = retryOverloaded(() => random)(async () => {
    const code = codes[calls];
    calls += 1;
    if (code !== undefined) throw new ServiceError(code, "no");
    return REPLY;
  });
  const call = (options: CallOptions = {}) => next({ contract, request: {}, options });
  return { call, calls: () => calls };
}
