import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSkillFile } from "./skill-file.ts";
import { normalOs, readRequirements } from "./skill-requirements.ts";

const NOTHING = {
  bins: [],
  anyBins: [],
  env: [],
  config: [],
  os: [],
  always: false,
  primaryEnv: null,
  install: [],
};

test("reads every requirement, as lists or as text with commas [B6, BR11]", () => {
  const { requirements, findings } = readRequirements({
    openclaw: {
      requires: { bins: ["git", "jq"], anyBins: "rg, grep", env: ["API_KEY"], config: ["a.b"] },
      os: ["win32", "macos", "darwin", "linux", "Plan9"],
      always: "true",
      primaryEnv: "API_KEY",
      install: [{ kind: "pip", package: "x" }],
    },
  });
  assert.deepEqual(requirements, {
    bins: ["git", "jq"],
    anyBins: ["rg", "grep"],
    env: ["API_KEY"],
    config: ["a.b"],
    os: ["windows", "darwin", "linux", "plan9"],
    always: true,
    primaryEnv: "API_KEY",
    install: [{ kind: "pip", package: "x" }],
  });
  assert.deepEqual(findings, []);
});

for (const alias of ["openclaw", "clawdbot", "moltbot", "clawdis"]) {
  test(`reads them under ${alias} [BR11]`, () => {
    const { requirements } = readRequirements({ [alias]: { requires: { bins: ["x"] } } });
    assert.deepEqual(requirements, { ...NOTHING, bins: ["x"] });
  });
}

test("merges the aliases field by field, and reports where they differ", () => {
  const { requirements, findings } = readRequirements({
    clawdbot: { requires: { bins: ["old"], env: ["A"] }, primaryEnv: "A" },
    openclaw: { requires: { bins: ["new"] }, primaryEnv: "A" },
  });
  assert.deepEqual(requirements, { ...NOTHING, bins: ["new"], env: ["A"], primaryEnv: "A" });
  assert.deepEqual(
    findings.map(({ code, message }) => [code, message]),
    [
      [
        "metadata_conflict",
        "metadata.openclaw.requires.bins and metadata.clawdbot.requires.bins differ; openclaw counts",
      ],
    ],
  );
});

test("a file whose aliases differ loads with a finding at its metadata", () => {
  const text =
    "---\ndescription: d\nmetadata:\n  openclaw: { os: [linux] }\n  clawdis: { os: [macos] }\n---\nx";
  const { skill, findings } = parseSkillFile(Buffer.from(text), "my-skill");
  assert(skill);
  assert.deepEqual(
    findings.map(({ code, line }) => [code, line]),
    [["metadata_conflict", 4]],
  );
});

test("reports nothing for metadata of other clients, and tolerates values of a wrong type [B7]", () => {
  assert.equal(readRequirements({ hermes: { requires: { bins: ["x"] } } }).requirements, null);
  assert.equal(readRequirements({ openclaw: "x" }).requirements, null);
  const odd = {
    requires: { bins: [1, null, { a: 1 }], env: 7 },
    install: "x",
    os: null,
    primaryEnv: [],
  };
  assert.deepEqual(readRequirements({ openclaw: odd }).requirements, NOTHING);
});

for (const [written, expected] of [
  ["win32", "windows"],
  ["Windows", "windows"],
  ["macOS", "darwin"],
  ["mac", "darwin"],
  ["Linux", "linux"],
  ["BeOS", "beos"],
] as const) {
  test(`calls ${written} ${expected} [X20]`, () => assert.equal(normalOs(written), expected));
}

for (const json of [
  `{"openclaw":{"requires":{"bins":["jq",],},},}`,
  `{'openclaw': {'requires': {'bins': ['jq']}}}`,
  `{openclaw: {requires: {bins: [jq]}}}`,
]) {
  test(`reads metadata text that is nearly JSON: ${json} [B7, BR13]`, () => {
    const file = `---\ndescription: d\nmetadata: '${json.replaceAll("'", "''")}'\n---\nx`;
    const { metadata, findings } = parseSkillFile(Buffer.from(file), "my-skill");
    assert.deepEqual(findings, []);
    assert.deepEqual(readRequirements(metadata ?? {}).requirements, { ...NOTHING, bins: ["jq"] });
  });
}
