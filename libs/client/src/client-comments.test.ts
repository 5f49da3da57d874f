import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createClient } from "./client.ts";

test("every method of the client, and the function that makes it, is documented with an example and its errors", async () => {
  const text = await readFile(new URL("client.ts", import.meta.url), "utf8");
  const names = Object.keys(createClient({ baseUrl: "" }));
  assert.ok(names.length >= 4);
  for (const name of ["createClient", ...names]) {
    const declared = new RegExp(
      String.raw`/\*\*((?:(?!\*/)[^])*)\*/\n *(?:export function )?${name}[<(]`,
    ).exec(text);
    assert.match(
      declared?.[1] ?? "",
      /@example\n[^]*@throws /,
      `${name} has no example or no @throws`,
    );
  }
});
