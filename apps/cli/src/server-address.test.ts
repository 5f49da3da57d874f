import assert from "node:assert/strict";
import { test } from "node:test";
import { serverAddress } from "./server-address.ts";

test("an address is kept without a slash at its end", () => {
  assert.equal(serverAddress("https://a.example/"), "https://a.example");
  assert.equal(serverAddress("https://a.example/yard/"), "https://a.example/yard");
  assert.equal(serverAddress("http://127.0.0.1:8321"), "http://127.0.0.1:8321");
  assert.equal(serverAddress("http://[::1]:1/?x=1#y"), "http://[::1]:1");
});

test("what is not a gateway's address, or would send a key in the clear, is refused, and no password repeated", () => {
  for (const text of ["", "a.example", "nats://a.example", "ftp://a.example", "http://a.example"])
    assert.throws(() => serverAddress(text), { code: "usage" }, text);
  assert.throws(
    () => serverAddress("https://ann:s3cret@a.example"),
    (error: Error) => !error.message.includes("s3cret"),
  );
});
