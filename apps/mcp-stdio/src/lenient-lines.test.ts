import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { lenientLines } from "./lenient-lines.ts";

test("lines pass unchanged, with null members left out, or get an error, however their bytes arrive", async () => {
  const output = new PassThrough();
  const lines = lenientLines(output);
  const ping = '{ "jsonrpc":"2.0", "id":1, "method":"ping" }\n';
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list", params: { cursor: null } };
  const bad = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "ä", arguments: 5 } };
  const sent = Buffer.from(
    `${ping}${JSON.stringify(list)}\n${JSON.stringify(bad)}\nno JSON\n{"jsonrpc":`,
  );
  const passed = text(lines);
  for (const byte of sent) lines.write(Buffer.from([byte]));
  lines.end();
  const expected = `${ping}${JSON.stringify({ ...list, params: {} })}\nno JSON\n{"jsonrpc":`;
  assert.equal(await passed, expected);
  output.end();
  const { id, error } = JSON.parse(await text(output));
  assert.deepEqual([id, error.code], [3, -32_602]);
  assert.match(error.message, /params\.arguments/);
});
