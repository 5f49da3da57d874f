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

test("a host that parsers read differently is unclear", () => {
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
    "https://a.example#@evil",
    "https://a.example?@evil",
    "https://a%2eexample/",
    "https://\uff41.example/",
    "https://a.exa\u00admple/",
    "file:///a.example",
    "data:text/plain,a.example",
    "",
    `https://a.example/${"x".repeat(8_192)}`,
  ])
    assert.equal(verdict(text), "unclear", text);
});

test("an address that parsers read differently is unclear, unless a pattern names it", () => {
  const ofAddress = (text: string) => hostIn(["127.0.0.1", "[64:ff9b::a]"], text);
  for (const text of ["127.0.0.1", "http://127.0.0.1:80/", "http://127.0.0.1?x", "127.0.0.1."])
    assert.equal(ofAddress(text), "inside", text);
  assert.equal(ofAddress("http://[64:ff9b::a]/"), "inside");
  for (const text of [
    "http://127.1/",
    "http://0177.0.0.1/",
    "http://0x7f.0.0.1/",
    "2130706433",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
  ])
    assert.equal(ofAddress(text), "unclear", text);
  for (const text of ["http://10.0.0.1/", "http://[::1]/", "http://[2001:db8::1]/"])
    assert.equal(ofAddress(text), "outside", text);
});

test("a name in other letters than ASCII is compared as URLs have it", () => {
  assert.equal(hostIn(["xn--bcher-kva.example"], "https://b\u00fccher.example/"), "inside");
  assert.equal(verdict("https://b\u00fccher.example/"), "outside");
});

test("a pattern is a host as URLs have it", () => {
  for (const pattern of ["a.example", "*.b.example", "10.0.0.1", "[::1]"])
    assert.ok(isHostPattern(pattern), pattern);
  for (const pattern of ["A.example", "https://a.example", "a.example:80", "*.10.0.0.1", "0x7f.1"])
    assert.ok(!isHostPattern(pattern), pattern);
});
