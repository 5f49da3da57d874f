import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ClosedConnectionError,
  InvalidArgumentError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import { infrastructureError, isStreamFull, jetStreamError } from "./infrastructure-errors.ts";
import { numericCode } from "./service-error-code.ts";

const SUBJECT = "yard.rpc.cli.policy.check";

test("each failure of the NATS client has one standard code", () => {
  const violation = new PermissionViolationError("Permissions Violation", "publish", SUBJECT);
  const cases: [unknown, string][] = [
    [new RequestError("x", { cause: new NoRespondersError(SUBJECT) }), "no_responders"],
    [new RequestError("x", { cause: violation }), "forbidden"],
    [violation, "forbidden"],
    [new TimeoutError(), "timeout"],
    [new ClosedConnectionError(), "disconnected"],
    [new InvalidArgumentError("'payload' max_payload size exceeded"), "payload_too_large"],
  ];
  for (const [error, code] of cases) {
    const mapped = infrastructureError(error, "cli", SUBJECT);
    assert.ok(mapped instanceof ServiceError);
    assert.equal(mapped.code, code);
    assert.match(mapped.message, /yard\.rpc\.cli\.policy\.check/);
  }
});

test("a bug stays what it is", () => {
  const bug = new TypeError("x is not a function");
  assert.equal(infrastructureError(bug, "cli", SUBJECT), bug);
});

test("a full stream may be tried again, a message that is too large may not", () => {
  const full = jetStreamError("yard.cmd.cli.run.start.a", {
    code: 503,
    err_code: 10_077,
    description: "maximum bytes exceeded",
  });
  assert.deepEqual([full.code, full.retryable], ["overloaded", true]);
  const large = jetStreamError("yard.cmd.cli.run.start.a", {
    code: 400,
    err_code: 10_054,
    description: "message size exceeds maximum allowed",
  });
  assert.deepEqual([large.code, large.retryable], ["payload_too_large", false]);
  const electing = jetStreamError("x", { code: 503, err_code: 10_008, description: "temporarily" });
  assert.equal(electing.code, "overloaded");
  assert.deepEqual([full, large, electing, null].map(isStreamFull), [true, false, false, false]);
});

test("error codes have numbers for NATS tools", () => {
  const codes = [
    "invalid_request",
    "denied",
    "unknown_tool",
    "overloaded",
    "internal",
    "call_id_conflict",
    "constructor",
  ];
  assert.deepEqual(codes.map(numericCode), [400, 403, 404, 429, 500, 409, 409]);
});
