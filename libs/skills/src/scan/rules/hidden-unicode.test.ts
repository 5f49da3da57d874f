import assert from "node:assert/strict";
import { test } from "node:test";
import { blockingCodes, scanBody } from "../../../test/scan-body.ts";

const fence = (line: string) => `\`\`\`js\n${line}\n\`\`\``;

for (const [what, body] of [
  ["letters in reverse", "Open safe\u202Eexe.txt now."],
  ["letters in reverse that are set back", "Open \u202Egnp.exe\u202C now."],
  ["right-to-left letters that are turned", "שם \u202Dשלום עולם\u202C."],
  ["a condition in a comment", fence("/* \u2067 if (isAdmin) { */ begin();")],
  ["an embedding that stays open in code", fence('const a = "\u202B user";')],
  ["many controls", `a${"\u2066\u2069".repeat(8)}b`],
  ["many controls in a class", `/[${"\u202A\u202E".repeat(8)}]/`],
  ["tag characters", "Hello\u{E0069}\u{E0067}"],
  ["tag characters behind a flag", "🏴\u{E0049}\u{E0047}\u{E004E}\u{E004F}\u{E007F}"],
  ["bits in two zero-width characters", `a${"\u200B\u200D".repeat(12)}b`],
  [
    "bits between words",
    Array.from({ length: 64 }, (_, n) => `word${n % 2 === 0 ? "\u200B" : "\u200C"} `).join(""),
  ],
  ["bytes in selectors", "a\u{E0100}\u{E0101}"],
  [
    "bytes in selectors, one a letter",
    Array.from({ length: 64 }, (_, n) => `a${String.fromCodePoint(0xfe00 + (n % 8))}`).join(""),
  ],
] as const) {
  test(`blocks hidden or reordered text: ${what}`, () => {
    assert.notDeepEqual(blockingCodes(scanBody(body)), []);
  });
}

for (const [what, body] of [
  ["a phone number set left to right", "Call \u202D+1 555 0100\u202C today."],
  ["an isolated name", "Say \u2068Anna\u2069 here."],
  ["a right-to-left line", "הפקודה \u2066git status\u2069 מציגה."],
  ["an open embedding in prose", "Call \u202A+1 555 0100 today."],
  ["a class that names them", "Strip /[\u202A-\u202E\u2066-\u2069]/g first."],
  ["a class that names them in code", fence('text.replace(/[\u200B-\u200F\u202A-\u202E]/g, "");')],
  ["each of them named", fence("/[\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069]/")],
  ["trailing zero-width characters", `Done.${"\u200B".repeat(40)}\nNext.${"\uFEFF".repeat(12)}`],
  ["trailing ones of two kinds", "Done.\u200B\uFEFF\u200B\uFEFF"],
  ["a space after each word", "word\u200B ".repeat(400)],
  ["Persian", "می\u200Cخواهم می\u200Cتوانم ".repeat(60)],
  ["emoji", "👨‍👩‍👧‍👦 ❤️ 1️⃣ 🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} ".repeat(30)],
] as const) {
  test(`does not block: ${what}`, () => {
    assert.deepEqual(blockingCodes(scanBody(body)), []);
  });
}

test("a control that reorders nothing is a finding of low severity", () => {
  const [finding] = scanBody("Call \u202D+1 555 0100\u202C today.").findings;
  assert.equal(finding?.code, "bidi_marks");
  assert.equal(finding.severity, "info");
});
