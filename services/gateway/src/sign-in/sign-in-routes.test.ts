import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { returnPath, signInPage } from "./sign-in-routes.ts";

test("after signing in a person stays at the gateway, whatever the address is", () => {
  assert.equal(returnPath("/runs/r1?tab=events#e4"), "/runs/r1?tab=events#e4");
  const elsewhere = [
    undefined,
    "",
    "runs",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/%zz\u0000//evil.example".replace("%zz\u0000", "."),
  ];
  for (const given of elsewhere) assert.equal(returnPath(given), "/", String(given));
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("/", "\\", ".", "..", "a", "\t", "\n", ":", "@", "%2f", " ")),
      (parts) => {
        const from = new URL("https://switchyard.example/auth/callback");
        const to = new URL(returnPath(`/${parts.join("")}`), from);
        assert.equal(to.origin, from.origin);
      },
    ),
    { numRuns: 2_000 },
  );
});

test("a page escapes texts of others", () => {
  const evil = `"><script>alert('1')</script>&`;
  const page = signInPage({ title: evil, text: evil, href: evil, link: evil, goesOn: true });
  assert.doesNotMatch(page, /<script|'1'/);
});
