import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { openApi } from "./openapi.ts";

/** Unicode classes, lookarounds, back references and escapes with `u`: Go, Rust or Python cannot compile them. Nor can Go repeat anything more than 1,000 times. */
const NOT_PORTABLE = /\\[pPku]|\(\?(?![:)])|\\[1-9]|\{(?:\d*,)?\d{4,}\}/;

function patternsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === "pattern" && typeof one === "string" ? [one] : patternsIn(one),
  );
}

test("every pattern of the schemas compiles in the languages of clients", async () => {
  const asyncApi = await readFile(
    new URL("../../../../docs/asyncapi.json", import.meta.url),
    "utf8",
  );
  for (const document of [openApi(), JSON.parse(asyncApi) as unknown]) {
    const patterns = patternsIn(document);
    assert.ok(patterns.length > 100);
    assert.deepEqual(
      patterns.filter((pattern) => NOT_PORTABLE.test(pattern)),
      [],
    );
  }
});
