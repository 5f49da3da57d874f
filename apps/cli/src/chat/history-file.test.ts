import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { readHistory, writeHistory } from "./history-file.ts";

test("the history is for its owner alone and has no secrets", () => {
  const directory = join(tempDirectory(), "new");
  assert.deepEqual(readHistory(directory), []);
  const key = ["sk", "ant", "api03", "a1B2".repeat(12)].join("-");
  writeHistory(directory, ["hello", " not this", `use ${key} please`, "", "/skills"]);
  assert.deepEqual(readHistory(directory), ["hello", "/skills"]);
  assert.equal(statSync(join(directory, "chat-history")).mode & 0o777, 0o600);
});
