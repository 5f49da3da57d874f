import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedFieldIn, withoutFields } from "./refused-fields.ts";

test("recognizes the optional field that a provider refuses", () => {
  const refused = (text: string, status = 400, body = "") => refusedFieldIn({ status, text }, body);
  const mistral = '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}';
  assert.equal(refused("Unprocessable", 422, mistral), "stream_options");
  const renamed =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  assert.equal(refused(renamed), "max_tokens");
  const only = "Unsupported value: 'temperature' does not support 0.2 with this model.";
  assert.equal(refused(only), "temperature");
  assert.equal(refused("`temperature` and `top_p` cannot both be specified"), "top_p");
  assert.equal(refused("temperature must be at most 2"), null);
  assert.equal(refused("Unsupported parameter: 'tools'"), null);
  assert.equal(refused(only, 500), null);
});

test("leaves the fields out and keeps the limit of output tokens under its newer name", () => {
  const json = '{"model":"m","max_tokens":9,"temperature":1}';
  assert.equal(withoutFields(json, []), json);
  assert.deepEqual(JSON.parse(withoutFields(json, ["max_tokens", "temperature"])), {
    model: "m",
    max_completion_tokens: 9,
  });
});
