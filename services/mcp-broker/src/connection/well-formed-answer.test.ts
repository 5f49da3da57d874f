import assert from "node:assert/strict";
import { test } from "node:test";
import { isJSONRPCErrorResponse, isJSONRPCResultResponse } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { MALFORMED_ANSWER, wellFormedAnswer } from "./well-formed-answer.ts";

/** From JSON, where a message may be anything. */
const read = (message: object) => wellFormedAnswer(JSON.parse(JSON.stringify(message)));

test("an answer is passed on as it is", () => {
  const result = { jsonrpc: "2.0" as const, id: 1, result: { content: [] } };
  assert.equal(wellFormedAnswer(result), result);
  const error = { jsonrpc: "2.0" as const, id: "a", error: { code: -1, message: "no", data: 1 } };
  assert.equal(wellFormedAnswer(error), error);
  const request = { jsonrpc: "2.0" as const, id: 1, method: "ping" };
  assert.equal(wellFormedAnswer(request), request);
});

test("a result with something beside it counts, and without it", () => {
  assert.deepEqual(read({ jsonrpc: "2.0", id: 1, result: {}, took: 5 }), {
    jsonrpc: "2.0",
    id: 1,
    result: {},
  });
});

test("whatever has an id and no method is an answer that the protocol layer takes", () => {
  const part = fc.option(
    fc.oneof(
      fc.json().map((text) => JSON.parse(text)),
      fc.record({ code: fc.integer(), message: fc.string() }, { requiredKeys: [] }),
    ),
    { nil: undefined },
  );
  fc.assert(
    fc.property(part, part, part, (result, error, more) => {
      const answer = read({ jsonrpc: "2.0", id: 7, result, error, more });
      assert.ok(
        isJSONRPCResultResponse(answer) || isJSONRPCErrorResponse(answer),
        JSON.stringify(answer),
      );
    }),
  );
  const both = read({ jsonrpc: "2.0", id: 7, result: {}, error: { code: 1, message: "no" } });
  assert.ok("error" in both && both.error.message === MALFORMED_ANSWER);
});
