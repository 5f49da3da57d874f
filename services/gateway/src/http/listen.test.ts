import assert from "node:assert/strict";
import { test } from "node:test";
import { isOwnOrigin, knownHosts } from "./listen.ts";

const isKnownHost = knownHosts("0.0.0.0", ["switchyard.example.com"]);

test("the gateway is known by its configured names and by those of loopback, with any port", () => {
  for (const host of ["switchyard.example.com", "localhost:18321", "127.0.0.1:8321", "[::1]:80"])
    assert.equal(isKnownHost(host), true, host);
  for (const host of ["evil.example", "localhost.evil.example", "10.0.0.7:8321", ""])
    assert.equal(isKnownHost(host), false, host);
});

test("a page of a person's own machine may use a gateway there, and not one of another name", () => {
  const isOwn = (origin: string, host: string) => isOwnOrigin(origin, host, isKnownHost);
  assert.equal(isOwn("localhost:8321", "localhost:8321"), true);
  assert.equal(isOwn("switchyard.example.com", "switchyard.example.com"), true);
  assert.equal(isOwn("localhost:3000", "switchyard.example.com"), false);
  assert.equal(isOwn("evil.example", "localhost:8321"), false);
});

test("an address that others reach needs a configured name", () => {
  assert.throws(() => knownHosts("0.0.0.0", []), /YARD_HTTP_HOSTS/);
});
