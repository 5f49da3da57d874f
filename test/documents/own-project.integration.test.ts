import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { yard, yardDev, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { examplesOf, leafCommands } from "../../apps/cli/src/program/examples.ts";
import { buildProgram } from "../../apps/cli/src/program.ts";
import { shellWords } from "../../apps/cli/test-fixtures/shell-words.ts";
import { commandLineOf } from "./command-lines.ts";
import { markdownFiles, root } from "./markdown-files.ts";

/** A file that a document shows: its name, and the fenced block below. */
const SHOWN_FILE = /`my-project\/([\w./-]+)`[^\n]*\n\n```\w*\n([\s\S]*?)\n```/g;
const PACKAGE = "@modelcontextprotocol/server-filesystem";

const directory = await testDirectory();
const project = join(directory, "my-project");
const workspace = join(directory, "my-files");
const env = {
  ...yardEnvironment(join(directory, "state")),
  HOME: directory,
  XDG_CONFIG_HOME: directory,
};

// In the order of README.md: by `init` first, then the files by hand in the same folder.
const made = await yard(["init", project], env);
assert.equal(made.code, 0, made.stderr);
writeProject();

const dev = yardDev(["--project", project, "--workspace", workspace], env);

before(() => dev.printed("Ctrl-C stops everything"));

test("the project that README.md shows works as it says", async () => {
  const { code, stdout, stderr } = await yard(
    ["run", "reviewer", "How do the notes begin?", "--wait-for", "60"],
    env,
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^The notes begin with: # Release notes$/m);
  const helped = await yard(["run", "helper", "What is in the notes?"], env);
  assert.equal(helped.code, 0, `what init wrote works, too: ${helped.stderr}`);
  const tested = await yard(["policy", "test", join(project, "policies")], env);
  assert.equal(tested.code, 0, tested.stdout);
  assert.match(stdout, /^A copy: .*rule reviewers-read-only denies .*reviewers read$/m);
});

/** Lines of documents that need more than this project has; their commands are tested elsewhere. */
const NOT_RUN: readonly (readonly [line: RegExp, why: string])[] = [
  [/^(?:dev|init|chat|doctor|schedules|channels|keys)\b/, "has a test of its own"],
  [/^approvals watch|^audit tail/, "runs until it is stopped"],
  [/^context|^log(?:in|out)|--server /, "changes what later ones talk to, or is elsewhere"],
  [/…|<id>/, "an id of another installation"],
  [/anthropic|^skills run/, "a model that answers without a plan"],
  [
    /policies\/demo\.yaml|--from openclaw|--file (?:a\.ndjson|chart\.png)/,
    "a file of another project",
  ],
  [/^run demo "hello"$/, "an agent of the values that a chart was installed with"],
  [/^tools call memory_/, "what this project's policy denies"],
];

test("every command line of a document that names nothing foreign does what it says", async () => {
  const skill = join(project, "my-skills", "greet");
  mkdirSync(skill, { recursive: true });
  writeFileSync(
    join(skill, "SKILL.md"),
    "---\nname: greet\ndescription: Greets a person. Use when somebody is to be greeted.\n---\nGreet $ARGUMENTS.\n",
  );
  const imported = await yard(["skills", "import", "my-skills"], env, project);
  assert.equal(imported.code, 0, imported.stderr);
  for (const place of [project, directory])
    symlinkSync(join(root, "examples"), join(place, "examples"));
  // Those of the help are tried in apps/cli/src/commands/examples.integration.test.ts.
  const inHelp = new Set(
    leafCommands(buildProgram("0.0.0", () => Promise.resolve())).flatMap(({ path }) =>
      examplesOf(path),
    ),
  );
  const lines = new Set(
    markdownFiles().flatMap(({ code }) => code.flatMap((line) => commandLineOf(line) ?? [])),
  );
  const own = [...lines].filter(
    (line) => !inHelp.has(line) && !NOT_RUN.some(([pattern]) => pattern.test(line)),
  );
  assert.ok(own.length >= 20, `only ${own.length} are run`);
  const failed: string[] = [];
  for (const line of own) {
    const { code, stderr } = await yard(shellWords(line), env, project);
    if (code !== 0) failed.push(`${line}: ${code} ${stderr}`);
  }
  assert.deepEqual(failed, []);
});

/** The three files of README.md, and one to read. */
function writeProject(): void {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const names = [...readme.matchAll(SHOWN_FILE)].map(([, name = "", text = ""]) => {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
    return name;
  });
  assert.deepEqual(names, ["agents/reviewer.md", "mcp-servers.json", "policies/reviewer.yaml"]);
  // The program that npx would load is here already; a test loads nothing.
  const { mcpServers } = JSON.parse(readFileSync(join(project, "mcp-servers.json"), "utf8"));
  const [yes, name, ...folders] = mcpServers.files.args;
  assert.deepEqual([mcpServers.files.command, yes, name], ["npx", "-y", PACKAGE]);
  const program = join(root, "node_modules", PACKAGE, "dist/index.js");
  const files = { command: "node", args: [program, ...folders] };
  writeFileSync(join(project, "mcp-servers.json"), JSON.stringify({ mcpServers: { files } }));
  mkdirSync(join(workspace, "docs"), { recursive: true });
  writeFileSync(join(workspace, "docs/notes.md"), "# Release notes\n");
}
