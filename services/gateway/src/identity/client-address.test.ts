import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress, limitedAddress } from "./client-address.ts";

test("as many addresses from the end as there are trusted proxies are trusted, and none that a client wrote before them", () => {
  const cases: readonly [socket: string, header: string | undefined, hops: number, is: string][] = [
    ["10.0.0.1", "203.0.113.9", 0, "10.0.0.1"],
    ["10.0.0.1", undefined, 1, "10.0.0.1"],
    ["10.0.0.1", "203.0.113.9", 1, "203.0.113.9"],
    ["10.0.0.1", "1.2.3.4, 203.0.113.9", 1, "203.0.113.9"],
    ["10.0.0.1", "1.2.3.4, 203.0.113.9, 10.0.0.7", 2, "203.0.113.9"],
    ["10.0.0.1", "203.0.113.9", 2, "203.0.113.9"],
    ["10.0.0.1", "somebody", 1, "10.0.0.1"],
    ["10.0.0.1", "", 1, "10.0.0.1"],
    ["::ffff:10.0.0.1", undefined, 0, "10.0.0.1"],
    ["10.0.0.1", "[2001:db8::1]:443", 1, "2001:db8::1"],
    ["10.0.0.1", "203.0.113.9:5000", 1, "203.0.113.9"],
  ];
  for (const [socket, header, hops, is] of cases)
    assert.equal(clientAddress(socket, header, hops), is, `${header} behind ${hops}`);
});

test("limits of an address count under IPv4 addresses and under networks of IPv6", () => {
  const cases = {
    "203.0.113.9": "203.0.113.9",
    "2001:db8:0:1:a:b:c:d": "2001:db8:0:1::/64",
    "2001:0db8:0000:0001::1": "2001:db8:0:1::/64",
    "2001:db8::1": "2001:db8:0:0::/64",
    "::1": "0:0:0:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
    "no address": "no address",
  };
  for (const [address, limited] of Object.entries(cases))
    assert.equal(limitedAddress(address), limited, address);
});
