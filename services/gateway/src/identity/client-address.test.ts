import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress } from "./client-address.ts";

test("as many addresses from the end as there are trusted proxies are believed, and nothing that a client wrote before them", () => {
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
