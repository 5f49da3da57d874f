import assert from "node:assert/strict";
import { test } from "node:test";
import { cutWithNote } from "./cut-with-note.ts";

test("reports how many bytes are missing", () => {
  assert.equal(cutWithNote("äöü", 6), "äöü");
  assert.equal(cutWithNote("äöü", 5), "äö\n[cut: 2 more bytes are not shown]");
  assert.equal(cutWithNote("a\ud83d", 9), "a\ufffd");
});
