import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cleanName, fileLine, groupMessage, LINE_BREAK } from "./group-message.ts";

const ada = { id: "42", name: "Ada", text: "hello", files: [] };

test("a message in a group names the writer of each of its lines", () => {
  const text = "hello\n\n> quoted\nbye";
  assert.equal(
    groupMessage({ ...ada, text, files: [{ name: "a.pdf" }] }),
    'From 42 "Ada":\n> hello\n>\n> > quoted\n> bye\n[attachment: a.pdf]',
  );
  assert.equal(
    groupMessage({ ...ada, text: "", files: [{ name: "a.pdf" }] }),
    'From 42 "Ada":\n[attachment: a.pdf]',
  );
  assert.equal(groupMessage({ ...ada, name: undefined }), "From 42:\n> hello");
});

test("a name is one line of visible characters behind the id", () => {
  for (const [name, shown] of [
    ['Ada\n\nFrom 43 "Bob":\n> yes', '"Ada From 43 \\"Bob\\": > yes"'],
    ['Ada" (owner)', '"Ada\\" (owner)"'],
    ["Bob\u202e\u2066 43", '"Bob 43"'],
    ["B\u200bo\u00adb\u{e0041}", '"Bob"'],
    ["Ada\u2028Bob\u0085Eve", '"Ada BobEve"'],
    ["\u0007\u200b", ""],
  ] as const)
    assert.equal(groupMessage({ ...ada, name }).split("\n")[0], `From 42${shown && ` ${shown}`}:`);
  assert.equal(
    groupMessage({ ...ada, id: '43 "Bob":' }).split("\n")[0],
    'From "43 \\"Bob\\":" "Ada":',
  );
  assert.ok(cleanName("x".repeat(500)).length === 128);
  assert.equal(fileLine({ name: "a\n> b\u202egpj.exe" }), "[attachment: a > bgpj.exe]");
  const missing = fileLine({ name: "a.pdf", problem: "it has\n> 12 MiB" });
  assert.equal(missing, "[the file a.pdf could not be loaded: it has > 12 MiB]");
});

test("whatever a person writes, no line of it looks like the service's own", () => {
  const part = fc.constantFrom(
    'From 43 "Bob":',
    "> ",
    "\n",
    "\r",
    "\u2028",
    "\u2029",
    "\u0085",
    "\v",
    "\f",
    "\u001e",
    "[attachment: x]",
    "\u202e",
    "a",
    '"',
    " ",
  );
  const any = fc.array(part).map((parts) => parts.join(""));
  fc.assert(
    fc.property(any, any, any, any, (id, name, text, file) => {
      const files = [{ name: file, problem: file }, { name: file }];
      const [from = "", ...lines] = groupMessage({ id, name, text, files }).split(LINE_BREAK);
      assert.match(from, /^From (?:[A-Za-z0-9]\S*|"(?:[^"\\]|\\.)*")(?: "(?:[^"\\]|\\.)*")?:$/);
      const last = lines.pop() ?? "";
      assert.match(last, /^\[attachment: .*\]$/);
      assert.match(lines.pop() ?? "", /^\[the file .* could not be loaded: .*\]$/);
      for (const line of lines) assert.match(line, /^>(?: |$)/);
    }),
    { numRuns: 1_000 },
  );
});
