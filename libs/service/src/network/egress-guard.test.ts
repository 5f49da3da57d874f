import assert from "node:assert/strict";
import type { lookup } from "node:dns";
import { test } from "node:test";
import fc from "fast-check";
import {
  createEgressGuard,
  EgressError,
  isSpecialAddress,
  parsePrivateHosts,
} from "./egress-guard.ts";

const nothing = parsePrivateHosts("");

/** The guard's result for a URL: the error, or null. */
function verdict(url: string, setting = ""): string | null {
  try {
    createEgressGuard({ permitted: parsePrivateHosts(setting), setting: "YARD_TEST" }).checkUrl(
      new URL(url),
    );
    return null;
  } catch (error) {
    assert.ok(error instanceof EgressError);
    return error.message;
  }
}

const REFUSED = [
  "http://127.0.0.1/",
  "http://127.1/",
  "http://0x7f000001/",
  "http://0177.0.0.1/",
  "http://2130706433/",
  "http://0/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://192.168.1.1/",
  "http://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://0xa9fea9fe/",
  "http://168.63.129.16/",
  "http://100.100.100.200/",
  "http://192.0.0.192/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://[::]/",
  "http://[::1]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:169.254.169.254]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::169.254.169.254]/",
  "http://[64:ff9b::a00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[2002:a9fe:a9fe::1]/",
  "http://[fe80::1]/",
  "http://[fc00::1]/",
  "http://[fd00:ec2::254]/",
  "http://[ff02::1]/",
  "http://[2001:db8::1]/",
  "http://[::ffff:0:127.0.0.1]/",
  "http://[::ffff:0:a9fe:a9fe]/",
  "http://[::ffff:0:808:808]/",
  "http://[3fff::1]/",
  "http://[3fff:fff:ffff::1]/",
  "http://[5f00::1]/",
  "http://[100::1]/",
  "http://[100:0:0:1::1]/",
  "http://[64:ff9b:1::1]/",
  "http://[2001::1]/",
  "http://[2001:20::1]/",
  "http://[2620:4f:8000::1]/",
  "http://[fec0::1]/",
  "http://[1fff::1]/",
  "http://[4000::1]/",
  "http://[8000::1]/",
  "http://192.31.196.1/",
  "http://192.52.193.1/",
  "http://192.88.99.1/",
  "http://192.175.48.1/",
];

const OPEN = [
  "http://93.184.216.34/",
  "http://172.15.255.255/",
  "http://172.32.0.1/",
  "http://[2606:2800:220:1::1]/",
  "http://[64:ff9b::5db8:d822]/",
  "http://[2002:5db8:d822::1]/",
  "http://[::ffff:5db8:d822]/",
  "http://[2a00::1]/",
  "http://[3ffe::1]/",
];

test("refuses every notation of an address that is not public, and no public one", () => {
  for (const url of REFUSED) assert.match(verdict(url) ?? "permitted", /not a public address/, url);
  for (const url of OPEN) assert.equal(verdict(url), null, url);
});

/** Every block of the IANA special-purpose address registries, first address and the last. Those that carry an IPv4 address are judged by it. */
const REGISTRY = `
0.0.0.0 0.255.255.255 · 10.0.0.0 10.255.255.255 · 100.64.0.0 100.127.255.255 · 127.0.0.0 127.255.255.255
169.254.0.0 169.254.255.255 · 172.16.0.0 172.31.255.255 · 192.0.0.0 192.0.0.255 · 192.0.2.0 192.0.2.255
192.31.196.0 192.31.196.255 · 192.52.193.0 192.52.193.255 · 192.88.99.0 192.88.99.255 · 192.168.0.0 192.168.255.255
192.175.48.0 192.175.48.255 · 198.18.0.0 198.19.255.255 · 198.51.100.0 198.51.100.255 · 203.0.113.0 203.0.113.255
240.0.0.0 255.255.255.255
:: ::1 · 64:ff9b:1:: 64:ff9b:1:ffff:ffff:ffff:ffff:ffff · 100:: 100::ffff:ffff:ffff:ffff
100:0:0:1:: 100:0:0:1:ffff:ffff:ffff:ffff · 2001:: 2001:0:ffff:ffff:ffff:ffff:ffff:ffff
2001:1::1 2001:1::3 · 2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff · 2001:3:: 2001:3:ffff:ffff:ffff:ffff:ffff:ffff
2001:4:112:: 2001:4:112:ffff:ffff:ffff:ffff:ffff · 2001:10:: 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff
2001:20:: 2001:2f:ffff:ffff:ffff:ffff:ffff:ffff · 2001:30:: 2001:3f:ffff:ffff:ffff:ffff:ffff:ffff
2001:1ff:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff · 2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff · 3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
5f00:: 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff · fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
fe80:: febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`;

test("no address of a special-purpose block is public, from its first to its last", () => {
  const blocks = REGISTRY.trim().split(/\s*[·\n]\s*/);
  assert.equal(blocks.length, 36);
  for (const address of blocks.flatMap((block) => block.split(" ")))
    assert.ok(isSpecialAddress(address), address);
});

test("permits what the setting names and nothing beside it", () => {
  assert.equal(verdict("http://127.0.0.1:80/", "loopback"), null);
  assert.equal(verdict("http://[::1]/", "loopback"), null);
  assert.equal(verdict("http://[::ffff:127.0.0.1]/", "loopback"), null);
  assert.ok(verdict("http://10.0.0.1/", "loopback"));
  assert.equal(verdict("http://10.9.8.7/", "private"), null);
  assert.equal(verdict("http://10.1.2.3/", "10.1.0.0/16, loopback"), null);
  assert.ok(verdict("http://10.2.0.1/", "10.1.0.0/16,loopback"));
});

test("a metadata service is permitted by its own address alone", () => {
  for (const setting of ["private", "loopback", "private,loopback"]) {
    assert.ok(verdict("http://169.254.169.254/", setting));
    assert.ok(verdict("http://100.100.100.200/", setting));
    assert.ok(verdict("http://[fd00:ec2::254]/", setting));
  }
  assert.equal(verdict("http://169.254.169.254/", "169.254.169.254"), null);
});

test("a setting that cannot be read is an error that names the word", () => {
  for (const word of ["localhost", "10.0.0.0/33", "1.2.3", "::1/129", "10.0.0.0/8/8", "*"])
    assert.throws(
      () => parsePrivateHosts(`loopback,${word}`),
      (error) => error instanceof Error && error.message.startsWith(JSON.stringify(word)),
    );
});

test("an IPv4 address is judged alike in IPv6 clothes", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      assert.equal(isSpecialAddress(`::ffff:${address}`), isSpecialAddress(address));
      assert.equal(isSpecialAddress(`64:ff9b::${address}`), isSpecialAddress(address));
    }),
  );
});

test("the name of an interface behind an address changes nothing", () => {
  for (const address of ["fe80::1%eth0", "::1%lo", "::ffff:127.0.0.1%lo", "2002:7f00:1::%1"])
    assert.ok(isSpecialAddress(address), address);
  assert.ok(!isSpecialAddress("2606:2800:220:1::1%eth0"));
});

/** Resolves through the guard a name that has these addresses. */
function resolve(addresses: readonly string[], all: boolean): Promise<unknown> {
  const answer = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  // A resolver of its own: no name of the public DNS may decide a test.
  const resolver = ((_name: string, _options: object, callback: (...args: unknown[]) => void) =>
    callback(null, answer)) as unknown as typeof lookup;
  const guard = createEgressGuard({ permitted: nothing, setting: "YARD_TEST", resolve: resolver });
  return new Promise((done, fail) => {
    guard.lookup("rebind.example", { all }, (error, found) =>
      error === null ? done(found) : fail(error),
    );
  });
}

test("a name reaches its public addresses alone, and none when it has no public one", async () => {
  assert.deepEqual(await resolve(["10.0.0.1", "93.184.216.34"], true), [
    { address: "93.184.216.34", family: 4 },
  ]);
  assert.equal(await resolve(["::1", "93.184.216.34"], false), "93.184.216.34");
  await assert.rejects(
    resolve(["127.0.0.1", "fe80::1"], true),
    /rebind\.example \(127\.0\.0\.1, fe80::1\)/,
  );
});
