import assert from "node:assert/strict";
import { test } from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { openApi } from "./openapi.ts";

const recommended = await createConfig({ extends: ["recommended"] });

async function lint(document: Record<string, unknown>): Promise<string[]> {
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, config: recommended });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer ?? "?"}`,
  );
}

test("openapi.json passes all recommended rules of Redocly, warnings included", async () => {
  assert.deepEqual(await lint(openApi()), []);
});

test("the linter reports an invalid document", async () => {
  const [problem] = await lint({ ...openApi(), servers: [{ url: "/api/v1/" }] });
  assert.match(String(problem), /^no-server-trailing-slash: .* at #\/servers\/0\/url$/);
});
