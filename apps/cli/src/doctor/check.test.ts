import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../cli-error.ts";
import { checked } from "./check.ts";

test("what an error says to do comes before what the check would say", async () => {
  const knowing = await checked("redis", "start it", () => {
    throw new CliError("forbidden", "Redis wants a password", { hint: "name its file" });
  });
  assert.deepEqual(knowing, {
    id: "redis",
    status: "failed",
    summary: "Redis wants a password",
    fix: "name its file",
  });
  const plain = await checked("redis", "start it", () => Promise.reject(new Error("refused")));
  assert.equal(plain.fix, "start it");
});
