import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { StartError } from "@switchyard/service/start-error";
import { readHooks, type Hooks } from "./hooks-file.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-hooks-"));
after(() => rm(directory, { recursive: true, force: true }));

const BYTES = Buffer.alloc(32, 1);
const env = {
  KEY: "yk_canary",
  STANDARD: `whsec_${BYTES.toString("base64")}`,
  GITHUB: "a secret for GitHub",
  SHORT: "short-canary",
  EMPTY: "",
};
const hook = { agent: "triage", key: "${KEY}", secrets: ["${STANDARD}"] };

async function read(content: unknown): Promise<Hooks> {
  const file = join(directory, "hooks.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return readHooks(file, env);
}

test("without a file there are no hooks", async () => {
  assert.equal((await readHooks(undefined, env)).size, 0);
});

test("reads hooks with secrets from variables and from files beside it", async () => {
  await writeFile(join(directory, "ci.key"), "yk_of-a-file\n");
  const hooks = await read({
    hooks: {
      plain: hook,
      ci: {
        agent: "triage",
        key: { file: "ci.key" },
        signature: "github",
        secrets: ["${GITHUB}"],
        events: ["issues.opened"],
        input: "Look at {{/body/issue/url}} and {{ no pointer }}",
      },
    },
  });
  const plain = hooks.get("plain") ?? assert.fail();
  assert.deepEqual(
    [plain.key, plain.form, plain.events, plain.input],
    ["yk_canary", "standard", null, { $from: "/body" }],
  );
  assert.deepEqual(plain.secrets, [BYTES]);
  const ci = hooks.get("ci") ?? assert.fail();
  assert.deepEqual(
    [ci.key, ci.form, [...(ci.events ?? [])]],
    ["yk_of-a-file", "github", ["issues.opened"]],
  );
  assert.deepEqual(ci.secrets, [Buffer.from(env.GITHUB)]);
});

test("an error names its position in the file, and no secret", async () => {
  const cases: [unknown, RegExp][] = [
    ["{", /^hooks\.json is not valid JSON/],
    [{}, /^hooks\.json: hooks: /],
    [{ hooks: { "Not A Name": hook } }, /Not A Name: .*1-32 characters/],
    [{ hooks: { a: { ...hook, agnet: "x" } } }, /hooks\.a: .*agnet/],
    [{ hooks: { a: { ...hook, agent: undefined } } }, /hooks\.a\.agent: /],
    [{ hooks: { a: { ...hook, key: "yk_canary" } } }, /hooks\.a\.key: .*holds no secret/],
    [{ hooks: { a: { ...hook, key: "${GITHUB}" } } }, /hooks\.a\.key: is no API key/],
    [{ hooks: { a: { ...hook, key: "${MISSING}" } } }, /hooks\.a\.key: .*MISSING is not set/],
    [{ hooks: { a: { ...hook, key: "${EMPTY}" } } }, /EMPTY is not set/],
    [{ hooks: { a: { ...hook, key: { file: "none" } } } }, /hooks\.a\.key: cannot read .*ENOENT/],
    [{ hooks: { a: { ...hook, secrets: [] } } }, /hooks\.a\.secrets: /],
    [{ hooks: { a: { ...hook, secrets: ["${GITHUB}"] } } }, /secrets\.0: must be whsec_/],
    [
      { hooks: { a: { ...hook, signature: "github", secrets: ["${SHORT}"] } } },
      /secrets\.0: is shorter than 16/,
    ],
    [{ hooks: { a: { ...hook, signature: "none" } } }, /hooks\.a\.signature: /],
    [{ hooks: { a: { ...hook, events: [] } } }, /hooks\.a\.events: /],
    [{ hooks: { a: { ...hook, input: 7 } } }, /hooks\.a\.input: must be a text/],
    [{ hooks: { a: { ...hook, input: "{{/issue/url}}" } } }, /pointer \/issue\/url finds nothing/],
    [{ hooks: { a: { ...hook, input: { u: { $from: "/bodyx" } } } } }, /\/bodyx finds nothing/],
    [
      { hooks: { a: { ...hook, key: "${NO_A}" }, b: { ...hook, key: "${NO_B}" } } },
      /NO_A .*; hooks\.b\.key: .*NO_B/,
    ],
  ];
  for (const [content, expected] of cases)
    await assert.rejects(read(content), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /canary|whsec_A/);
      return true;
    });
  await assert.rejects(readHooks(join(directory, "nowhere.json"), env), /YARD_HOOKS_FILE cannot/);
});
