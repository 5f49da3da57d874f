import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BUILT_IN_COMMANDS, readTypedLine } from "./typed-line.ts";

const known = {
  skills: [
    { name: "summarise-files", userInvocable: true },
    { name: "help", userInvocable: true },
    { name: "house-style", userInvocable: false },
  ],
  agents: [{ name: "demo" }, { name: "reviewer" }],
};
const read = (line: string) => readTypedLine(line, known);

function messageOf(line: string): string {
  const typed = read(line);
  return typed.kind === "unknown" ? typed.message : `not unknown but ${typed.kind}`;
}

test("/help asks for help, and for help on a topic, whatever skill has that name [D62, D26]", () => {
  assert.deepEqual(read("/help"), { kind: "help", topic: null });
  assert.deepEqual(read("/Help skills "), { kind: "help", topic: "skills" });
  assert.deepEqual(read("/skill help me"), { kind: "skill", skill: "help", arguments: "me" });
  assert.deepEqual(read("/use help me"), read("/skill help me"), "[DR6]");
});

test("/skills lists skills, or shows one of them [D62, D24]", () => {
  assert.deepEqual(read("/skills"), { kind: "skills", skill: null });
  assert.deepEqual(read("/skill  "), { kind: "skills", skill: null });
  assert.deepEqual(read("/skills house-style"), { kind: "skills", skill: "house-style" });
});

test("an unknown command, skill or agent names where to look and what was probably meant [D62, D57]", () => {
  assert.equal(
    messageOf("/weather"),
    "Unknown command: /weather. Type /help for available commands, or // for a text that begins with a slash.",
  );
  assert.match(messageOf("/sumarise-files a b"), / Did you mean \/summarise-files\?$/);
  assert.match(messageOf("/agnt demo"), / Did you mean \/agent\?$/);
  assert.equal(
    messageOf("/skill nothing-like-it"),
    "Skill 'nothing-like-it' not found. Run /skills to see available skills.",
  );
  assert.equal(
    messageOf("/agent reviewr"),
    "Agent 'reviewr' not found. Run /agents to see available agents. Did you mean /agent reviewer?",
  );
  assert.match(messageOf("/house-style"), /is for agents alone/);
  assert.match(messageOf("/skill house-style"), /is for agents alone/);
});

test("what is not a command is a text, paths and comments among it [D62, D25]", () => {
  for (const text of [
    "hello",
    "",
    " /help",
    "/",
    "/ help",
    "/etc/hosts is wrong",
    "/* x */",
    "a /help",
  ]) {
    assert.deepEqual(read(text), { kind: "text", text });
  }
  assert.deepEqual(read("//help"), { kind: "text", text: "/help" });
});

test("a skill is a command, with its arguments as they were typed [D62, D26]", () => {
  const skill = "summarise-files";
  assert.deepEqual(read("/summarise-files"), { kind: "skill", skill, arguments: "" });
  assert.deepEqual(read('/summarise-files  a "b  c" \n'), {
    kind: "skill",
    skill,
    arguments: ' a "b  c" \n',
  });
  assert.deepEqual(read("/skill summarise-files\nx"), { kind: "skill", skill, arguments: "x" });
});

test("/agent switches to an agent, and without a name lists them [D62, D29]", () => {
  assert.deepEqual(read("/agent reviewer"), { kind: "agent", agent: "reviewer" });
  assert.deepEqual(read("/agent"), { kind: "agents" });
  assert.deepEqual(read("/agents"), { kind: "agents" });
});

test("/skill off and on switch a skill, for people or for models [DR13]", () => {
  for (const skill of ["summarise-files", "house-style"])
    assert.deepEqual(read(`/skill off ${skill} `), { kind: "skill-switch", skill, isOn: false });
  assert.deepEqual(read("/skill on gone"), { kind: "skill-switch", skill: "gone", isOn: true });
  assert.equal(
    messageOf("/skill off nothing-like-it"),
    "Skill 'nothing-like-it' not found. Run /skills to see available skills.",
  );
  assert.match(messageOf("/skill off help me"), /^Skill 'off' not found/);
});

test("other built-in commands are left to where they were typed", () => {
  assert.deepEqual(read("/model x/y"), { kind: "other", command: "model", arguments: "x/y" });
});

test("no argument loses or gains a character, and no built-in command reaches a skill", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const typed = read(`/summarise-files ${text}`);
      assert.deepEqual(typed, { kind: "skill", skill: "summarise-files", arguments: text });
      const escaped = read(`//${text}`);
      assert.deepEqual(escaped, { kind: "text", text: `/${text}` });
      for (const name of BUILT_IN_COMMANDS) {
        const skills = [{ name, userInvocable: true }];
        const { kind } = readTypedLine(`/${name} ${text}`, { skills, agents: [] });
        if (name !== "skill" && name !== "use") assert.notEqual(kind, "skill");
      }
    }),
  );
});
