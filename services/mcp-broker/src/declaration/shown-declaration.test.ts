import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { placeholdersIn, shownDeclaration } from "./shown-declaration.ts";

test("hides literal secrets and keeps references, names and harmless values [A31]", () => {
  assert.deepEqual(
    shownDeclaration({
      id: "a",
      env: { GITHUB_TOKEN: "abc", OTHER_TOKEN: "${T}", DEFAULTED_KEY: "${K:-abc}", MODE: "fast" },
      headers: { Authorization: "Bearer ${T}", "X-Api-Key": "abc", Accept: "text/plain" },
      args: ["--token=abc", "--api-key", "abc", "--root", "/data", "-v"],
      url: "https://me:abc@example.com/mcp?api_key=abc&page=1",
      maxConcurrency: 4,
    }),
    {
      id: "a",
      env: {
        GITHUB_TOKEN: "[redacted]",
        OTHER_TOKEN: "${T}",
        DEFAULTED_KEY: "[redacted]",
        MODE: "fast",
      },
      headers: { Authorization: "Bearer ${T}", "X-Api-Key": "[redacted]", Accept: "text/plain" },
      args: ["--token=[redacted]", "--api-key", "[redacted]", "--root", "/data", "-v"],
      url: "https://[redacted]@example.com/mcp?api_key=[redacted]&page=1",
      maxConcurrency: 4,
    },
  );
});

test("never shows a literal value under a secret name, and what was hidden is found again", () => {
  const secret = fc.stringMatching(/^[a-z0-9]{12,30}$/).map((text) => `S!${text}`);
  const name = fc.constantFrom("PASSWORD", "MY_SECRET", "x-api-key", "Cookie", "DB_PASS");
  fc.assert(
    fc.property(secret, name, fc.constantFrom("env", "headers"), (value, key, field) => {
      const shown = shownDeclaration({ id: "a", [field]: { [key]: value } });
      assert.ok(!JSON.stringify(shown).includes(value));
      assert.deepEqual(placeholdersIn(shown), [`${field}.${key}`]);
    }),
  );
});
