import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { StoreError } from "./store-error.ts";
import { isOfOutage } from "./unhandled-rejection.ts";

test("distinguishes a lost connection, a late reply and an abort from a mistake of the program", () => {
  const socket = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  const outages = [
    new Error("Connection is closed."),
    new Error("Command timed out"),
    new StoreError("Redis cannot be reached"),
    Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
    new TypeError("fetch failed", { cause: socket }),
    new ServiceError("disconnected", "not connected to NATS"),
    new DOMException("This operation was aborted", "AbortError"),
  ];
  const mistakes = [
    new TypeError("a is undefined"),
    new ServiceError("invalid_request", "a field is missing"),
    new Error("WRONGTYPE", { cause: "Connection is closed." }),
    "Connection is closed.",
    undefined,
  ];
  for (const reason of outages) assert.equal(isOfOutage(reason), true, String(reason));
  for (const reason of mistakes) assert.equal(isOfOutage(reason), false, String(reason));
});
