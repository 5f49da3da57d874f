import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { mock, test } from "node:test";
import { openKeys } from "./keys-pressed.ts";

function keyboard() {
  const said: string[] = [];
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const stdout = new PassThrough();
  const ending = new AbortController();
  const end = (word: string) => () => {
    said.push(word);
    ending.abort();
  };
  const keys = openKeys({ leave: end("leave"), interrupt: end("interrupt") }, { stdin, stdout });
  return { stdin, stdout, keys, said, signal: ending.signal };
}

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

test("a key counts only while it is requested, and only one of the letters", async () => {
  const { stdin, keys, signal } = keyboard();
  stdin.write("a"); // before anything was shown
  const chosen = keys.oneOf("adn", signal);
  stdin.write("x");
  stdin.write("d");
  assert.equal(await chosen, "d");
  keys.close();
});

test("it is quiet when no key was pressed for so long, and not while one is held down", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  try {
    const { stdin, keys, signal } = keyboard();
    let isQuiet = false;
    const pass = async (ms: number): Promise<void> => {
      mock.timers.tick(ms);
      await new Promise(setImmediate);
    };
    const waiting = keys.quiet(1_000, signal).then(() => (isQuiet = true));
    for (let held = 0; held < 100; held += 1) {
      stdin.write("a");
      await pass(held === 0 ? 700 : 30);
    }
    assert.equal(isQuiet, false);
    await pass(900);
    assert.equal(isQuiet, false);
    await pass(200);
    await waiting;
    keys.close();
  } finally {
    mock.timers.reset();
  }
});

for (const { key, name, word } of [
  { key: "q", name: "q", word: "leave" },
  { key: CTRL_D, name: "Ctrl-D", word: "leave" },
  { key: CTRL_C, name: "Ctrl-C", word: "interrupt" },
]) {
  test(`${name} works while a key is requested and while none is`, async () => {
    const idle = keyboard();
    idle.stdin.write(key);
    idle.stdin.end();
    await new Promise((resolve) => idle.stdin.once("end", resolve));
    assert.equal(idle.said[0], word);
    idle.keys.close();

    const asked = keyboard();
    const chosen = asked.keys.oneOf("adn", asked.signal);
    asked.stdin.write(key);
    assert.equal(await chosen, null);
    assert.deepEqual(asked.said, [word]);
    asked.keys.close();
  });
}

test("a line may hold any letter, and a person who leaves instead gives none", async () => {
  const { stdin, keys, said, signal } = keyboard();
  const line = keys.line("reason: ", signal);
  stdin.write("quick and dirty\n");
  assert.equal(await line, "quick and dirty");
  assert.deepEqual(said, []);
  const left = keys.line("reason: ", signal);
  stdin.end();
  assert.equal(await left, null);
  assert.equal(said[0], "leave");
  keys.close();
});
