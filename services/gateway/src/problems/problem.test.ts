import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { problemOf } from "./problem.ts";

test("details name services instead of subjects of the bus", () => {
  const subject = "yard.rpc.gateway.broker.tools.list.files";
  for (const [code, message, detail] of [
    [
      "no_responders",
      `no service answers ${subject}: it is not running`,
      "the broker service does not answer: it is not running, or no replica has the server or run of the request",
    ],
    [
      "disconnected",
      `not connected to NATS, so ${subject} was not sent`,
      "the broker service cannot be reached: the gateway has lost its connection and restores it by itself",
    ],
    [
      "timeout",
      `no answer to ${subject} within 50 ms; the request may have been carried out`,
      "no answer of the broker service within 50 ms; the request may have been carried out",
    ],
    [
      "overloaded",
      `too many requests wait for ${subject}; try again`,
      "too many requests wait for the broker service; try again",
    ],
    ["internal", "no subject is named", "no subject is named"],
  ] as const)
    assert.equal(problemOf(new ServiceError(code, message))?.message, detail);
});
