import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readAuthenticationResults } from "./authentication-results.ts";

/** Returns the results, one line for each method. */
const linesOf = (value: string): readonly string[] | null | undefined =>
  readAuthenticationResults(value)?.results?.map(({ method, result, properties }) =>
    [`${method}=${result}`, ...properties.map(({ name, value: is }) => `${name}=${is}`)].join(" "),
  );

// https://www.rfc-editor.org/rfc/rfc8601#appendix-B, where lines are folded.
const EXAMPLES: [header: string, id: string, results: readonly string[]][] = [
  ["example.org 1; none", "example.org", []],
  [
    "example.com;\r\n          spf=pass smtp.mailfrom=example.net",
    "example.com",
    ["spf=pass smtp.mailfrom=example.net"],
  ],
  [
    "example.com;\r\n auth=pass (cram-md5) smtp.auth=sender@example.net;\r\n spf=fail smtp.mailfrom=example.net",
    "example.com",
    ["auth=pass smtp.auth=sender@example.net", "spf=fail smtp.mailfrom=example.net"],
  ],
  [
    'example.com; dkim=pass reason="good signature"\r\n header.i=@mail-router.example.net;\r\n dkim=fail reason="bad signature"\r\n header.i=@newyork.example.com',
    "example.com",
    [
      "dkim=pass reason=good signature header.i=@mail-router.example.net",
      "dkim=fail reason=bad signature header.i=@newyork.example.com",
    ],
  ],
  [
    "foo.example.net (foobar) 1 (baz);\r\n dkim (Because I like it) / 1 (One yay) = (wait for it) fail\r\n policy (A dot can go here) . (like that) expired\r\n (this surprised me) = (as I wasn't expecting it) 1362471462",
    "foo.example.net",
    ["dkim=fail policy.expired=1362471462"],
  ],
  // The headers as Gmail and Microsoft write them.
  [
    "mx.google.com;\r\n dkim=pass header.i=@x.test header.s=s1 header.b=AbC/d+e=;\r\n spf=pass (google.com: domain of a@x.test designates 192.0.2.1 as permitted sender) smtp.mailfrom=a@x.test;\r\n dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=x.test",
    "mx.google.com",
    [
      "dkim=pass header.i=@x.test header.s=s1 header.b=AbC/d+e=",
      "spf=pass smtp.mailfrom=a@x.test",
      "dmarc=pass header.from=x.test",
    ],
  ],
  [
    "mx.test; dmarc=pass action=none header.from=x.test;compauth=pass reason=100;",
    "mx.test",
    ["dmarc=pass action=none header.from=x.test", "compauth=pass reason=100"],
  ],
];
for (const [header, id, results] of EXAMPLES)
  test(`reads ${JSON.stringify(header)}`, () => {
    assert.equal(readAuthenticationResults(header)?.authservId, id);
    assert.deepEqual(linesOf(header), results);
  });

test("a separator in a quoted string or a comment does not separate", () => {
  for (const header of [
    'mx.test; spf=fail reason="x; dmarc=pass header.from=corp.test"',
    "mx.test; spf=fail (x; dmarc=pass header.from=corp.test)",
    'mx.test; spf=fail smtp.mailfrom="a; dmarc=pass header.from=corp.test"@evil.test',
    "mx.test; spf=fail (nested (; dmarc=pass) ; dmarc=pass \\) ; dmarc=pass)",
    'mx.test; spf=fail reason="\\"; dmarc=pass"',
  ])
    assert.deepEqual(
      readAuthenticationResults(header)?.results?.map(({ method }) => method),
      ["spf"],
      header,
    );
});

test("from a header that breaks off or violates the grammar only its server id counts", () => {
  for (const rest of [
    '; dmarc=pass reason="open',
    "; dmarc=pass (open",
    "; dmarc",
    "; =pass",
    "; dmarc=",
    "; dmarc=pass header.from",
    "; none; dmarc=pass",
    " dmarc=pass",
    "; dmarc=pass, spf=pass",
  ])
    assert.deepEqual(readAuthenticationResults(`MX.test${rest}`), {
      authservId: "mx.test",
      results: null,
    });
  for (const header of ["", "; dmarc=pass", "(open", '"open'])
    assert.equal(readAuthenticationResults(header), null, header);
});

test("whatever a header is, reading it ends", () => {
  const piece = fc.constantFrom(
    ";",
    "=",
    "(",
    ")",
    '"',
    "\\",
    " ",
    ".",
    "/",
    "a",
    "dmarc",
    "pass",
    "é",
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => void readAuthenticationResults(pieces.join(""))),
  );
});
