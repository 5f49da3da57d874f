import assert from "node:assert/strict";
import { test } from "node:test";
import { hostIn, isHostPattern } from "./host-in.ts";

const verdict = (text: string) => hostIn(["a.example", "*.b.example", "[::1]"], text);

test("the host of a URL decides, however the URL is written", () => {
  for (const text of [
    "a.example",
    "A.EXAMPLE:8080",
    "a.example.",
    "https://a.example.",
    "https://a.example/x?y#z",
    "wss://a.example",
    "https://c.b.example",
    "https://d.c.b.example",
    "http://[0:0:0:0:0:0:0:1]/",
    "[::1]:80",
  ])
    assert.equal(verdict(text), "inside", text);
  for (const text of ["b.example", "https://xa.example", "https://a.example.evil", "xb.example"])
    assert.equal(verdict(text), "outside", text);
});

test("what readers take for different hosts is unclear", () => {
  for (const text of [
    "https://evil@a.example",
    "https://evil:pw@a.example",
    "https://a.example@evil",
    "https:a.example",
    "https:/a.example",
    "https:///a.example",
    "https://a.example\\@evil",
    " https://a.example",
    "https://a.exa\tmple",
    "file:///a.example",
    "data:text/plain,a.example",
    "",
    `https://a.example/${"x".repeat(8_192)}`,
  ])
    assert.equal(verdict(text), "unclear", text);
});

test("a pattern is a host as URLs have it", () => {
  for (const pattern of ["a.example", "*.b.example", "10.0.0.1", "[::1]"])
    assert.ok(isHostPattern(pattern), pattern);
  for (const pattern of ["A.example", "https://a.example", "a.example:80", "*.10.0.0.1", "0x7f.1"])
    assert.ok(!isHostPattern(pattern), pattern);
});
