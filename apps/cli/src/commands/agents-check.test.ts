import assert from "node:assert/strict";
import { test } from "node:test";
import { modelProblem } from "./agents-check.ts";

const models = {
  default: "local/small",
  providers: [
    { name: "scripted", type: "scripted", hasKey: true },
    { name: "local", type: "openai-compatible", hasKey: true },
    { name: "cloud", type: "anthropic", hasKey: false, keyVariable: "CLOUD_KEY" },
  ],
};
const plan = { steps: [], answer: "x" };

for (const [model, given, code] of [
  [null, null, undefined],
  ["local/any/model:1", null, undefined],
  ["cloud/large", null, "model_key_missing"],
  ["nobody/large", null, "unknown_model"],
  ["scripted/plan", plan, undefined],
  ["scripted/plan", null, "plan_missing"],
  ["scripted/other", plan, "unknown_model"],
] as const) {
  test(`judges the model ${model} ${given === null ? "without" : "with"} a plan [D52]`, () => {
    assert.equal(modelProblem({ model, plan: given }, models)?.code, code);
  });
}

test("names the providers that there are", () => {
  assert.match(
    modelProblem({ model: "nobody/x", plan: null }, models)?.message ?? "",
    /configured are scripted, local, cloud/,
  );
});

test("a missing key is reported with the variable that has to hold it", () => {
  const problem = modelProblem({ model: "cloud/m", plan: null }, models);
  assert.equal(problem?.code, "model_key_missing");
  assert.match(problem.message, /no key for cloud\/m: set CLOUD_KEY where they start$/);
});
