import assert from "node:assert/strict";
import { test } from "node:test";
import { methodsAt } from "./app.ts";

test("the methods of a path are those of its operations, whose parameters stand for any segment", () => {
  const operations = [
    { method: "ALL", path: "/api/*" },
    { method: "ALL", path: "/runs/:id" },
    { method: "POST", path: "/runs/:id" },
    { method: "GET", path: "/runs/:id" },
    { method: "GET", path: "/runs/:id/events" },
  ];
  assert.deepEqual(methodsAt(operations, "/runs/a"), ["GET", "HEAD", "POST"]);
  assert.deepEqual(methodsAt(operations, "/runs"), []);
  assert.deepEqual(methodsAt(operations, "/api/x"), []);
});
