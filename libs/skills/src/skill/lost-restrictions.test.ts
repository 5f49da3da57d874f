import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSkillFile } from "./skill-file.ts";

const HEAD = "name: demo\ndescription: Does one thing.\n";
const FIELDS = `${HEAD}allowed-tools: Read\nuser-invocable: false\n`;
const BODY = "\n# Demo\n\nText.\n";
const block = (fields: string) => `---\n${fields}---\n${BODY}`;
const between = (rule: string, end = rule) => `${rule}\n${FIELDS}${end}\n${BODY}`;

/** Each file has a restriction that another client, or an earlier reader, lost silently. */
const FILES: Readonly<Record<string, string>> = {
  "no opening rule": `${FIELDS}---\n${BODY}`,
  "no rule at all": `${FIELDS}${BODY}`,
  "four hyphens": between("----"),
  "four hyphens and three": between("----", "---"),
  "two hyphens": between("--"),
  "a rule behind a space": between(" ---"),
  "a rule behind a tab and a no-break space": between("\t\u00A0---", "---"),
  "em dashes": between("———"),
  "one em dash": between("—"),
  "en dashes": between("–––", "---"),
  "minus signs": between("−−−"),
  "equals signs": between("==="),
  asterisks: between("***"),
  "a second byte order mark": `\uFEFF\uFEFF${block(FIELDS)}`,
  "a zero-width space": `\u200B${block(FIELDS)}`,
  TOML: `+++\nname = "demo"\nallowed-tools = ["Read"]\nuser-invocable = false\n+++\n${BODY}`,
  "JSON on lines": `{\n  "name": "demo",\n  "allowed-tools": ["Read"],\n  "user-invocable": false\n}\n${BODY}`,
  "JSON on one line": `{"name": "demo", "allowed-tools": "Read", "user-invocable": "no"}\n${BODY}`,
  "a long licence": `<!--\n${"Licence text.\n".repeat(60)}-->\n${block(FIELDS)}`,
  "a long licence behind hashes": `${"# Licence text.\n".repeat(60)}${block(FIELDS)}`,
  "a title": `# Demo\n\n${FIELDS}\nText.\n`,
  "a list": `# Demo\n\n- name: demo\n- allowed-tools: Read\n- user-invocable: false\n`,
  "bold words": `# Demo\n\n**Allowed tools:** Read\n**User invocable:** false\n`,
  "a quotation": `> allowed-tools: Read\n> user-invocable: false\n`,
  "keys with blanks": block(`${HEAD}allowed tools: Read\nuser invocable: false\n`),
  "keys with blanks and capitals": block(`${HEAD}Allowed Tools: Read\nUser Invocable: false\n`),
  "keys with dots": block(`${HEAD}allowed.tools: Read\nuser.invocable: false\n`),
  "keys with no-break hyphens": block(
    `${HEAD}allowed\u2011tools: Read\nuser\u2011invocable: false\n`,
  ),
  "keys with dashes": block(`${HEAD}allowed–tools: Read\nuser—invocable: false\n`),
  "keys with unseen characters": block(
    `${HEAD}allowed\u00AD-tools: Read\nuser-\u200Binvocable: false\n`,
  ),
  "keys of full width": block(`${HEAD}ａｌｌｏｗｅｄ－ｔｏｏｌｓ: Read\nuser－invocable: false\n`),
  "keys with Cyrillic letters": block(`${HEAD}аllowed-tools: Read\nuser-invоcable: false\n`),
  "keys with slips": block(`${HEAD}allowed-tool: Read\nuser-invokeable: false\n`),
  "keys below metadata": block(
    `${HEAD}metadata:\n  allowed-tools: Read\n  user-invocable: false\n`,
  ),
  "keys below a client's name": block(
    `${HEAD}metadata:\n  openclaw:\n    allowed-tools: [Read]\n    user-invocable: "false"\n`,
  ),
  "keys in metadata on one line": block(
    `${HEAD}metadata: {"openclaw": {}, "allowed-tools": "Read", "user-invocable": false}\n`,
  ),
  "keys in metadata of text": block(
    `${HEAD}metadata: '{"allowed-tools": "Read", "user-invocable": "false"}'\n`,
  ),
  "keys below an unknown field": block(
    `${HEAD}permissions:\n  allowed-tools: [Read]\n  user-invocable: false\n`,
  ),
  "keys in a block of text": block(
    `name: demo\ndescription: >\n  Text.\n  allowed-tools: Read\n  user-invocable: false\n`,
  ),
  "values in typographic quotes": block(`${HEAD}allowed-tools: “Read”\nuser-invocable: ‘false’\n`),
  "keys in typographic quotes": block(
    `${HEAD}“allowed-tools”: “Read”\n„user-invocable“: «false»\n`,
  ),
  "full-width colons": block(`${HEAD}allowed-tools： Read\nuser-invocable： false\n`),
  "equals signs for colons": block("name = demo\nallowed-tools = Read\nuser-invocable = false\n"),
  "a second block": `---\n${HEAD}---\n---\nallowed-tools: Read\nuser-invocable: false\n---\n${BODY}`,
  "fields below the block": `---\n${HEAD}---\n\nallowed-tools: Read\nuser-invocable: false\n${BODY}`,
  "no closing rule, and a rule below": `---\n${FIELDS}\n# Demo\n\nUse it: so.\n\n---\n\nMore.\n`,
  "no closing rule, and fields below a heading": `---\n${HEAD}\n# Demo\n\nallowed-tools: Read\nuser-invocable: false\n\n---\n\nMore.\n`,
};

for (const [what, file] of Object.entries(FILES)) {
  test(`a restriction is kept and reported: ${what} [complaint-8]`, () => {
    const { skill, findings } = parseSkillFile(Buffer.from(file), "demo-directory");
    assert.ok(skill !== null);
    assert.ok(skill.allowedTools !== null, "allowed-tools");
    assert.ok(
      skill.allowedTools.every((tool) => tool === "Read"),
      skill.allowedTools.join(" "),
    );
    assert.equal(skill.userInvocable, false, "user-invocable");
    assert.ok(findings.some(({ severity }) => severity === "warning"));
  });
}

test("a forbidden tool in typographic quotes is forbidden", () => {
  const file = block(`${HEAD}disallowed-tools: “Bash, Write”\ndisable-model-invocation: “yes”\n`);
  const { skill } = parseSkillFile(Buffer.from(file), "demo");
  assert.deepEqual(skill?.record?.disallowedTools, ["Bash", "Write"]);
  assert.equal(skill?.modelInvocable, false);
});

test("a restriction below metadata that differs from the one at the margin counts in its strictest reading", () => {
  const file = block(`${HEAD}allowed-tools: Read\nmetadata:\n  allowed-tools: Bash\n`);
  assert.deepEqual(parseSkillFile(Buffer.from(file), "demo").skill?.allowedTools, []);
});

test("fields in the text of a file without frontmatter are reported, also where none restricts", () => {
  const { skill, findings } = parseSkillFile(
    Buffer.from("# Demo\n\nName: demo\nDescription: Does one thing.\n\nText.\n"),
    "demo",
  );
  assert.deepEqual(
    findings.map(({ code }) => code),
    ["frontmatter_not_recognised"],
  );
  assert.equal(skill?.allowedTools, null);
});

for (const [what, file] of Object.entries({
  "a comment": block(`${HEAD}# allowed-tools: Read\n`),
  "a word in a description": block("name: demo\ndescription: Explains allowed-tools and hooks.\n"),
  "an example in code": `# Demo\n\nText.\n\n\`\`\`yaml\nallowed-tools: Read\n\`\`\`\n`,
  "a sentence of the body": `---\n${HEAD}---\n\n# Demo\n\nallowed-tools: Read is what you write.\n`,
})) {
  test(`no capability is lost by ${what}`, () => {
    const { skill, findings } = parseSkillFile(Buffer.from(file), "demo");
    assert.equal(skill?.allowedTools, null);
    assert.equal(skill?.needsReview, undefined);
    assert.deepEqual(findings, []);
  });
}
