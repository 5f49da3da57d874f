import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { until } from "@switchyard/local-servers/until";
import { testDirectory } from "@switchyard/testing/test-servers";
import { yard, yardDev, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { examplesOf, leafCommands } from "../../apps/cli/src/program/examples.ts";
import { buildProgram } from "../../apps/cli/src/program.ts";
import { shellWords } from "../../apps/cli/test-fixtures/shell-words.ts";
import { commandLineOf } from "./command-lines.ts";
import { markdownFiles, root } from "./markdown-files.ts";
import { tutorialSteps } from "./tutorial-steps.ts";

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
  [/…|<id>|APPROVAL/, "an id of another installation"],
  [/\b(?:counter|write_file)\b|under review|^policy resume/, "a step of a tutorial, below"],
  [/anthropic|^skills run/, "a model that answers without a plan"],
  [
    /policies\/demo\.yaml|--from openclaw|--file (?:audit\.ndjson|chart\.png)|bank\.(?:cedar|dw)/,
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

const tutorials = readFileSync(join(root, "docs/tutorials.md"), "utf8");

for (const role of ["Agent author", "Application developer", "Security owner"])
  test(`the tutorial of the ${role.toLowerCase()} works line by line`, async (t) => {
    copyFileSync(join(project, "files/notes.md"), join(workspace, "notes.md"));
    // A line above may have brought another bundle into force.
    await yard(["policy", "activate", "--follow-files"], env, project);
    let printed = "";
    let isCompared = false;
    for (const step of tutorialSteps(tutorials, role)) {
      if (step.kind === "file") {
        mkdirSync(dirname(join(project, step.name)), { recursive: true });
        writeFileSync(join(project, step.name), step.text);
      } else if (step.kind === "line") {
        await inForce();
        if (isCompared) printed = "";
        isCompared = false;
        if (isHere(step.line)) printed += await outputOf(step.line);
        else t.diagnostic(`a program is missing here: ${step.line}`);
      } else if (printed !== "") {
        isCompared = true;
        for (const text of step.texts)
          assert.ok(printed.includes(text), `${text} is not in:\n${printed}`);
      }
    }
  });

/** Resolves when the services have read the agents and rules of the project's files, and no other rules. */
async function inForce(): Promise<void> {
  const files = globSync("policies/*.yaml", { cwd: project });
  const rules = files
    .filter((file) => !file.endsWith(".test.yaml"))
    .map((file) => readFileSync(join(project, file), "utf8"))
    .flatMap((text) => [...text.matchAll(/^ *- id: ([\w-]+)/gm)].map(([, id = ""]) => id));
  const agents = globSync("agents/*.md", { cwd: project }).map((file) => basename(file, ".md"));
  const read = async (...words: string[]): Promise<Record<string, Named[]>> =>
    JSON.parse((await yard([...words, "--json"], env, project)).stdout).data;
  await until(
    async () => (await read("policy", "rules"))["rules"]?.map(({ id = "" }) => id).toSorted(),
    (ids) => ids?.join() === rules.toSorted().join(),
  );
  await until(
    async () => (await read("agents", "list"))["agents"]?.map(({ name }) => name),
    (names) => agents.every((name) => names?.includes(name)),
  );
}

interface Named {
  readonly id?: string;
  readonly name?: string;
}

/** False for a line that begins a program which this machine lacks. */
function isHere(line: string): boolean {
  const probe = { curl: ["--version"], python3: ["-c", "import httpx"] }[line.split(" ")[0] ?? ""];
  return probe === undefined || spawnSync(line.split(" ")[0] ?? "", probe).status === 0;
}

/** Types a line of a tutorial and returns what it prints. */
async function outputOf(line: string): Promise<string> {
  if (line.startsWith("export ")) return "";
  if (line.startsWith("yard ")) {
    const words = shellWords(line.slice("yard ".length));
    const approval = words.indexOf("APPROVAL");
    if (approval !== -1) words[approval] = await waiting();
    const { code, stdout, stderr } = await yard(words, env, project);
    assert.equal(code, 0, `${line}: ${stdout}${stderr}`);
    return stdout + stderr;
  }
  // The tutorial names what `yard dev` prints.
  const [, token = "", url = ""] =
    /Bearer ([^']+)' (http:\S+)\/api\/v1\/agents/.exec(dev.output()) ?? [];
  const { stdout } = await promisify(execFile)("sh", ["-ec", line], {
    cwd: project,
    timeout: 60_000,
    env: {
      ...process.env,
      YARD_HTTP: url,
      YARD_HTTP_TOKEN: token,
      PYTHONPATH: [join(root, "clients/python/src"), process.env["PYTHONPATH"] ?? ""].join(":"),
      PYTHONDONTWRITEBYTECODE: "1",
    },
  });
  return stdout;
}

/** The id of the approval that waits. */
async function waiting(): Promise<string> {
  const found = await until(
    async () => {
      const { stdout } = await yard(["approvals", "list", "--json"], env, project);
      return JSON.parse(stdout).data.approvals;
    },
    (approvals: { id: string }[]) => approvals.length === 1,
  );
  return found[0]?.id ?? assert.fail();
}

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
