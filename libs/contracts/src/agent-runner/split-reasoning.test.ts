import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerIn, ReasoningSplitter, type SplitOptions } from "./split-reasoning.ts";

interface Split {
  readonly reasoning: string;
  readonly text: string;
}

/** The two parts of a text that comes in these pieces. */
function split(pieces: readonly string[], options: SplitOptions & { isCut?: boolean } = {}): Split {
  const splitter = new ReasoningSplitter(options);
  const segments = pieces.flatMap((piece) => splitter.push(piece));
  const { rest, corrected } = splitter.end(options);
  const all = corrected ?? [...segments, ...rest];
  const join = (type: string) =>
    all.map((segment) => (segment.type === type ? segment.text : "")).join("");
  return { reasoning: join("reasoning"), text: join("text") };
}

/** Every way in which a stream may cut a text must come to the same. */
function same(text: string, expected: Split, options: SplitOptions & { isCut?: boolean } = {}) {
  for (const size of [text.length || 1, 1, 2, 3, 7]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    assert.deepEqual(split(pieces, options), expected, `${JSON.stringify(text)} by ${size}`);
  }
}

const SEPARATED: readonly (readonly [
  how: string,
  text: string,
  reasoning: string,
  answer: string,
])[] = [
  ["a closed block", "<think>plan</think>answer", "plan", "answer"],
  ["blanks and lines around", "\n <think>\nplan\n</think>\n\nanswer\n", "\nplan\n", "answer\n"],
  ["blanks inside of the tags", "< think >plan</ think >answer", "plan", "answer"],
  ["blanks behind the slash", "<think>plan< / think>answer", "plan", "answer"],
  ["attributes", '<think reason="x" depth=2>plan</think>answer', "plan", "answer"],
  ["upper case", "<THINK>plan</Think>answer", "plan", "answer"],
  ["another name", "<thinking>plan</thinking>answer", "plan", "answer"],
  ["a name with a prefix", "<seed:think>plan</seed:think>answer", "plan", "answer"],
  ["several blocks", "<think>a</think>\n<think>b</think>\nanswer", "ab", "answer"],
  ["an empty block", "<think>\n\n</think>\n\nanswer", "\n\n", "answer"],
  ["a block that is closed at once", "<think/>answer", "", "answer"],
  ["no answer", "<think>plan</think>", "plan", ""],
  ["no end", "<think>plan\nand more", "plan\nand more", ""],
  ["no end of the tag's name", "<think>plan</thi", "plan</thi", ""],
  ["a nested block", "<think>a<think>b</think>c</think>answer", "abc", "answer"],
  [
    "an opening tag that is written twice",
    "<think>\n<think>\na\n</think>\nanswer",
    "\n\na\n",
    "answer",
  ],
  [
    "a tag that the reasoning names",
    "<think>a `</think>` b</think>answer",
    "a `</think>` b",
    "answer",
  ],
  [
    "a tag that the reasoning quotes",
    '<think>a "</think>" b</think>answer',
    'a "</think>" b',
    "answer",
  ],
  ["a closing tag at the very beginning", "</think>\n\nanswer", "", "answer"],
  [
    "a closing tag alone on its line",
    "secret plan…\n</think>\n\nThe answer",
    "secret plan…",
    "The answer",
  ],
  [
    "a closing tag at the end of a line",
    "secret plan</think>\nThe answer",
    "secret plan",
    "The answer",
  ],
  ["a closing tag at the end", "secret plan</think>", "secret plan", ""],
  [
    "a closing tag right before the answer",
    "secret plan</think>The answer",
    "secret plan",
    "The answer",
  ],
  [
    "a closing tag at the beginning of a line",
    "secret plan\n</think> The answer",
    "secret plan",
    "The answer",
  ],
  ["a closing tag, and a block behind it", "a</think>\n<think>b</think>\nanswer", "a", "answer"],
];
for (const [how, text, reasoning, answer] of SEPARATED)
  test(`reasoning is separated: ${how}`, () => same(text, { reasoning, text: answer }));

const KEPT: readonly string[] = [
  "answer",
  " \n answer \n",
  "",
  "   ",
  "Models write <think> before they answer, and </think> after.",
  "Write `<think>` and `</think>`.",
  "Put it between <think> and\n</think>\nas tags.",
  "```\n<think>\nplan\n</think>\n```\nThat is how it looks.",
  "```html\nplan\n</think>\n```",
  "The tag </think> closes it.",
  "It is closed by </think>, and (</think>) too: </think>.",
  "In a line of code: `x </think>\n",
  "answer <think>late</think> more",
  "<thinker>x</thinker>",
  "<b>think</b>",
  "< 5 and > 3",
  "<",
  "<thi",
  "a <think",
];
for (const text of KEPT)
  test(`an answer keeps its words: ${JSON.stringify(text)}`, () =>
    same(text, { reasoning: "", text }));

test("where the template opens the block, nothing is an answer before it is closed", () => {
  const options = { startsInReasoning: true };
  same("plan\n</think>\n\nanswer", { reasoning: "plan\n", text: "answer" }, options);
  same("<think>plan</think>answer", { reasoning: "plan", text: "answer" }, options);
  same(
    "plan</think>answer </think>\nmore",
    { reasoning: "plan", text: "answer </think>\nmore" },
    options,
  );
  same(" only an answer", { reasoning: "", text: " only an answer" }, options);
  same(
    "plan that breaks off",
    { reasoning: "plan that breaks off", text: "" },
    { ...options, isCut: true },
  );
  const splitter = new ReasoningSplitter(options);
  assert.deepEqual(splitter.push("secret "), []);
  assert.deepEqual(splitter.push("plan</think>Answer"), [
    { type: "reasoning", text: "secret plan" },
    { type: "text", text: "Answer" },
  ]);
});

test("a splitter knows whether a text began inside of reasoning", () => {
  const startedInside = (text: string, options: SplitOptions = {}) => {
    const splitter = new ReasoningSplitter(options);
    splitter.push(text);
    splitter.end();
    return splitter.startedInReasoning;
  };
  for (const options of [{}, { startsInReasoning: true }]) {
    assert.equal(startedInside("plan\n</think>\nanswer", options), true);
    assert.equal(startedInside("<think>plan</think>answer", options), false);
    assert.equal(startedInside("answer", options), false);
  }
});

test("an answer is passed on as it comes, and half a character waits for its other half", () => {
  const splitter = new ReasoningSplitter();
  assert.deepEqual(splitter.push("a\ud83d"), [{ type: "text", text: "a" }]);
  assert.deepEqual(splitter.push("\ude00b"), [{ type: "text", text: "😀b" }]);
  assert.deepEqual(splitter.push("\ud83d"), []);
  assert.deepEqual(splitter.end().rest, [{ type: "text", text: "\ufffd" }]);
});

test("the answer of a whole text", () => {
  assert.equal(answerIn("plan\n</think>\nyes"), "yes");
  assert.equal(answerIn("<think>plan"), "");
  assert.equal(answerIn("yes"), "yes");
});

test("however a stream cuts a text, its parts are the same", () => {
  const piece = fc.constantFrom(
    "<think>",
    "</think>",
    "< think a=b >",
    "<",
    ">",
    "/",
    "think",
    "`",
    "\n",
    " ",
    "x",
    "😀",
    "```\n",
  );
  const cut = fc.array(fc.nat(8), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.array(piece), cut, fc.boolean(), (parts, sizes, startsInReasoning) => {
      const text = parts.join("");
      const pieces: string[] = [];
      for (let at = 0, n = 0; at < text.length; n += 1) {
        const size = (sizes[n % sizes.length] ?? 0) + 1;
        pieces.push(text.slice(at, at + size));
        at += size;
      }
      assert.deepEqual(split(pieces, { startsInReasoning }), split([text], { startsInReasoning }));
    }),
    { numRuns: 2_000 },
  );
});

// A pattern that looks at blanks again and again would take hours here.
test("a text of blanks behind the beginning of a tag is read to its end", () => {
  const text = `<${" ".repeat(200_000)}think`;
  assert.equal(split([text]).text, text);
  assert.equal(split([`<think>${text}`]).reasoning, text);
});
