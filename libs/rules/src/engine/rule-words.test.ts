import assert from "node:assert/strict";
import { test } from "node:test";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { BundleFile } from "../schema/bundle.ts";
import { rulesInWords } from "./rule-words.ts";

const { rules = [], ...file } = BundleFile.parse({
  version: 1,
  rules: [
    {
      id: "docs",
      effect: "allow",
      approval: "session",
      who: { agents: ["reviewer", "writer-*"], users: ["ann"] },
      what: { tools: ["files.read_*"], labels: { not: ["secret"] } },
      when: [
        { arg: "/path", op: "pathWithin", value: "docs" },
        { arg: "/limit", op: "lte", value: 10, required: true },
        { arg: "/force", op: "absent" },
        { arg: "/amount", op: "lt", than: "/balance" },
        { not: { arg: "/to", op: "matches", value: "x.*" } },
        { window: { sum: "/amount", per: "user", within: "1h", lte: 5000 } },
        { neverAfter: { tools: ["mail.read"], in: "family" } },
        { at: { zone: "Europe/Berlin", days: ["mon-fri"], hours: "08:00-18:00" } },
      ],
    },
    { id: "any", effect: "allow" },
    { id: "closed", effect: "deny", note: "for now" },
    { id: "notes", effect: "allow", what: { resources: ["docs.file:///notes/*"] } },
  ],
});
const bundle = compileBundle({ ...file, rules });

test("rules are described in words: for which principals, about which tools, with which arguments", () => {
  const all = rulesInWords(bundle, { limit: 10 });
  assert.equal(all.next, null);
  assert.deepEqual(all.rules, [
    { id: "any", effect: "allow", who: "everybody", what: "every tool", when: [], note: null },
    {
      id: "closed",
      effect: "deny",
      who: "everybody",
      what: "everything",
      when: [],
      note: "for now",
    },
    {
      id: "docs",
      effect: "allow",
      tier: "session",
      who: "agent reviewer or writer-*, and user ann",
      what: "files.read_* without the label secret",
      when: [
        '/path lies within "docs"',
        "/limit is at most 10, and it is given",
        "/force is not given",
        "/amount is less than /balance",
        'it is not so that /to matches "x.*"',
        "sum of /amount per user in 1h is at most 5000",
        "number of earlier calls of mail.read in the family is less than 1",
        "time is within mon-fri 08:00-18:00 Europe/Berlin",
      ],
      note: null,
    },
    {
      id: "notes",
      effect: "allow",
      who: "everybody",
      what: "resource docs.file:///notes/*",
      when: [],
      note: null,
    },
  ]);
});

test("a long list of rules comes in pages", () => {
  const first = rulesInWords(bundle, { limit: 3 });
  assert.deepEqual(
    [first.rules.map(({ id }) => id), first.next],
    [["any", "closed", "docs"], "docs"],
  );
  const second = rulesInWords(bundle, { after: "docs", limit: 3 });
  assert.deepEqual([second.rules.map(({ id }) => id), second.next], [["notes"], null]);
});
