import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { assertGolden } from "../../test-fixtures/golden.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { yard, yardDev, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const base = tempDirectory();
const project = join(base, "project");
const files: Readonly<Record<string, string>> = {
  "mcp-servers.json": '{"mcpServers":{}}',
  "policies/rules.yaml": "version: 1\nrules: [{ id: no, effect: deny, what: { tools: ['*'] } }]\n",
  "agents/reviewer.md":
    "---\ndescription: Reviews.\nskills: [pdf]\nroles: [reviewer]\nlimits: { tokens: 500, depth: 2 }\napproval: always\ntemperature: 0.5\n---\nYou review.",
  "skills/pdf/SKILL.md":
    "---\nname: pdf\ndescription: Extracts tables from PDF files.\nargument-hint: '[file]'\nallowed-tools: [read_file]\ncontext: fork\nagent: reviewer\nplan: { answer: 'Read {{/input}}.' }\n---\nRead $ARGUMENTS.",
  "skills/pdf/scripts/read.sh": "#!/bin/sh\necho \u001b[2J",
  "skills/pdf/data.bin": "\0\u0001",
  "skills/old/skill.json": JSON.stringify({
    name: "old",
    description: "Renames files.",
    version: "1.2.3",
    variables: ["from"],
    "disable-model-invocation": true,
  }),
  "skills/old/prompt.md": "Rename $from: $ARGUMENTS",
  "skills/help/SKILL.md": "---\nname: help\ndescription: Helps.\n---\nHelp.",
  "else/broken.yaml": "temperature: 7\n",
  "else/foreign.yaml": "model: nobody/model-1\n",
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}
const env = yardEnvironment(join(base, "state"));
const dev = yardDev(["--project", project], env);

before(() => dev.printed("Ctrl-C stops everything"));

async function ok(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const { code, ...output } = await yard(args, env);
  assert.equal(code, 0, `${args.join(" ")}: ${output.stderr}`);
  return output;
}

test("lists and shows agents with what the seed asks for [D39, D40, D65]", async () => {
  const list = await ok("agents", "list");
  assert.match(list.stdout, /^NAME +DESCRIPTION +MODEL +SCOPE\n/);
  assert.match(list.stdout, /\nplanner +.*\(config default\) +built-in\n/);
  assert.match(list.stdout, /\nreviewer +Reviews\. +\(config default\) +project\n/);
  const json = (await ok("agents", "list", "--format", "json")).stdout;
  assert.equal(json, (await ok("agents", "list", "--json")).stdout);
  const { stdout } = await ok("agents", "show", "reviewer");
  for (const line of [
    /^agent +reviewer$/m,
    /^description +Reviews\.$/m,
    /^model +\(config default\)$/m,
    /^temperature +0\.5$/m,
    /^max tool iterations +20$/m,
    /^scope +project$/m,
    /^tools +all that the policy allows$/m,
    /^skills +pdf$/m,
    /^roles +reviewer$/m,
    /^limits +500 tokens, depth 2$/m,
  ]) {
    assert.match(stdout, line);
  }
});

test("lists and shows skills with what the seed asks for [D35, D36, D65]", async () => {
  const list = (await ok("skills", "list")).stdout;
  assert.match(list, /^NAME +DESCRIPTION +SCOPE +FORMAT\n/);
  assert.match(list, /\nold +Renames files\. +project +legacy\n/);
  assert.match(list, /\npdf +Extracts tables from PDF files\. +project +SKILL\.md\n/);
  assert.equal((await ok("skills", "list", "--scope", "project")).stdout, list);
  const none = await ok("skills", "list", "--scope", "user");
  assert.deepEqual([none.stdout, none.stderr.trim()], ["", "no skill has scope user"]);
  const json = await ok("skills", "list", "--scope", "all", "--format", "json");
  assert.equal(json.stdout, (await ok("skills", "list", "--json")).stdout);
  assert.equal(JSON.parse(json.stdout).data.skills.length, 3);
  assert.equal((await yard(["skills", "list", "--scope", "nobody"], env)).code, 2);
  const { stdout } = await ok("skills", "show", "old");
  for (const line of [
    /^skill +old$/m,
    /^description +Renames files\.$/m,
    /^version +1\.2\.3$/m,
    /^format +legacy$/m,
    /^scope +project \(skills\/old\)$/m,
    /^variables +from, ARGUMENTS$/m,
    /^argument hint +none$/m,
    /^user invocable +yes$/m,
    /^model invocable +no$/m,
    /^context +inline$/m,
    /^allowed tools +no restriction$/m,
  ]) {
    assert.match(stdout, line);
  }
  const pdf = (await ok("skills", "show", "pdf")).stdout;
  assert.match(pdf, /^context +fork, as the agent reviewer$/m);
  assert.match(pdf, /^argument hint +\[file\]$/m);
  assert.match(pdf, /^allowed tools +read_file$/m);
  assert.match(pdf, /^model invocable +yes$/m);
});

test("lists, views and rendered prompts are as they were, to the character [D32, D35, D36, D37, D39, D40, X32]", async () => {
  const views: Readonly<Record<string, readonly string[]>> = {
    "skills-list.txt": ["skills", "list"],
    "skills-show-pdf.txt": ["skills", "show", "pdf"],
    "skills-show-old.txt": ["skills", "show", "old"],
    "skills-render-pdf.txt": ["skills", "render", "pdf", "a b.pdf", "c"],
    "skills-render-old.txt": ["skills", "render", "old", "notes.txt", "all of them"],
    "skills-run-pdf.txt": ["skills", "run", "pdf", "a b.pdf", "--model", "scripted/plan"],
    "skills-import-pdf.txt": ["skills", "import", join(project, "skills/pdf"), "--dry-run"],
    "agents-list.txt": ["agents", "list"],
    "agents-show-reviewer.txt": ["agents", "show", "reviewer"],
    "agents-show-explore.txt": ["agents", "show", "explore"],
  };
  for (const [name, words] of Object.entries(views))
    assertGolden(name, (await ok(...words)).stdout, { [base]: "BASE" });
});

test("shows a file that lies with a skill, and a version of it", async () => {
  const script = await ok("skills", "show", "pdf", "--file", "scripts/read.sh");
  assert.equal(script.stdout, "#!/bin/sh\necho \\x1b[2J\n");
  const [, version = ""] = /^stored as +(\S+)$/m.exec(
    (await ok("skills", "show", "pdf")).stdout,
  ) ?? [""];
  assert.match((await ok("skills", "show", "pdf", "--version", version)).stdout, /^skill +pdf$/m);
  const json = await ok("skills", "show", "pdf", "--file", "data.bin", "--json");
  assert.equal(JSON.parse(json.stdout).data.base64, "AAE=");
  const binary = await yard(["skills", "show", "pdf", "--file", "data.bin"], env);
  assert.match(binary.stderr, /data\.bin has 2 bytes and is not text/);
  const none = await yard(["skills", "show", "pdf", "--file", "nothing"], env);
  assert.equal(none.code, 3);
});

test("validates agent files of this machine, their models included [D52, D57, X30, SEC-SKILL-05]", async () => {
  const good = await ok("agents", "validate", join(project, "agents"));
  assert.match(good.stdout, /agents\/reviewer\.md +reviewer +\(config default\) +yes/);
  const { code, stdout, stderr } = await yard(["agents", "validate", join(project, "else")], env);
  assert.equal(code, 1);
  assert.match(stdout, /else\/broken\.yaml +no/);
  assert.match(stderr, /error: else\/broken\.yaml:1: temperature: must be a number from 0 to 2/);
  assert.match(
    stderr,
    /model nobody\/model-1 is of no configured provider; configured are scripted/,
  );
  const missing = await yard(["agents", "validate", join(project, "nowhere")], env);
  assert.equal(missing.code, 3);
});

test("an agent whose tools do not exist cannot be used, with or without services", async () => {
  const typo = [join(project, "typo"), "tools: [read_fil, files.read_file]"] as const;
  mkdirSync(typo[0], { recursive: true });
  writeFileSync(join(typo[0], "typo.md"), `---\nname: typo\n${typo[1]}\n---\nYou read.\n`);
  const found = await yard(["agents", "validate", typo[0]], env);
  assert.equal(found.code, 1, found.stdout);
  assert.match(
    found.stderr,
    /tools: read_fil: there is no tool read_fil; did you mean read_file\?/,
  );
  assert.match(found.stderr, /tools: files\.read_file: there is no MCP server files/);
  const offline = await yard(
    ["agents", "validate", typo[0]],
    yardEnvironment(join(base, "none")),
    base,
  );
  assert.equal(offline.code, 1, offline.stdout);
  assert.match(offline.stderr, /did you mean read_file\?/);
  assert.doesNotMatch(offline.stderr, /no MCP server/, "which servers there are is not known");
});

test("the tools of an agent and of the installation are listed with what the policy says", async () => {
  const own = (await ok("agents", "tools", "explore")).stdout;
  assert.match(own, /^TOOL +FROM +POLICY +DEFINITION +RULE +WHY\n/);
  assert.match(own, /^read_file +built in +deny +– +no /m);
  assert.doesNotMatch(own, /^write_file /m, "its file does not select it");
  assert.match((await ok("tools", "list", "--all")).stdout, /^write_file +built in +deny/m);
  assert.equal((await yard(["agents", "tools", "nobody"], env)).code, 3);
});

test("the policy is not explained for tools and agents that do not exist", async () => {
  for (const [args, hint] of [
    [["explain", "read_fil"], /did you mean read_file\?/],
    [["explain", "files.read"], /there is no MCP server files/],
    [["explain", "read_file", "--agent", "reviever"], /did you mean reviewer\?/],
    [["explain", "read_fil", "--file", join(project, "policies")], /did you mean read_file\?/],
  ] as const) {
    const { code, stderr } = await yard(["policy", ...args], env);
    assert.equal(code, 3, args.join(" "));
    assert.match(stderr, hint);
  }
  await ok("policy", "explain", "read_file", "--agent", "reviewer");
});

test("a decision and who can call a tool come with a note about names that do not exist", async () => {
  for (const [args, code, note] of [
    [["check", "read_fil"], 4, /^there is no tool read_fil; did you mean read_file\?$/m],
    [
      ["check", "read_file", "--agent", "reviever"],
      4,
      /no agent reviever; did you mean reviewer\?/,
    ],
    [["check", "read_file", "--user", "clii"], 4, /no key is of a user clii; did you mean cli\?/],
    [["who-can", "read_fil"], 0, /there is no tool read_fil; did you mean read_file\?/],
    [["who-can", "read_file"], 0, /^$/],
  ] as const) {
    const answer = await yard(["policy", ...args], env);
    assert.equal(answer.code, code, `${args.join(" ")}: ${answer.stderr}`);
    assert.match(answer.stderr, note);
  }
});

test("the policy is explained for tools as tables show them", async () => {
  assert.match((await ok("policy", "explain", "search_fi…")).stdout, /search_files/);
  const several = await yard(["policy", "who-can", "read_…"], env);
  assert.equal(several.code, 2);
  assert.match(several.stderr, /tools begin with read_…: .*read_file/);
  assert.equal((await yard(["policy", "check", "no_such_…"], env)).code, 3);
});

test("imports agents of this machine, shows where they came from, and removes them", async () => {
  const elsewhere = join(base, "elsewhere");
  mkdirSync(join(elsewhere, "agents"), { recursive: true });
  writeFileSync(join(elsewhere, "policy.yaml"), "rules: []\n");
  writeFileSync(join(elsewhere, "agents/README.md"), "# Our agents");
  writeFileSync(join(elsewhere, "agents/helper.md"), "---\ntools: Read, Grep\n---\nYou help.");
  const dry = await ok("agents", "import", elsewhere, "--dry-run", "--json");
  const [one, summary] = dry.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual([one.type, one.name, one.change], ["agent", "helper", "new"]);
  assert.deepEqual(summary.counts, { found: 1, loaded: 1, skipped: 0, withheld: 0, reasons: {} });
  assert.equal((await yard(["agents", "show", "helper"], env)).code, 3);

  const done = await ok("agents", "import", elsewhere);
  assert.match(done.stdout, /^new {2}helper$/m);
  assert.match(done.stderr, /1 found, 1 loaded; 0 skipped/);
  assert.match((await ok("agents", "list")).stdout, /\nhelper +You help\. +.* +imported\n/);
  const shown = (await ok("agents", "show", "helper")).stdout;
  assert.match(shown, /^tools +read_file, search_files$/m);
  assert.match(shown, /^imported +\S+ by \S+ from .*elsewhere$/m);
  assert.match((await ok("agents", "versions", "helper")).stdout, /\nsha256:\w+ +current +clean/);

  const helper = join(elsewhere, "agents/helper.md");
  writeFileSync(helper, "---\ntools: Read, Bash\n---\nYou help more.");
  assert.match((await ok("agents", "import", helper)).stdout, /^changed {2}helper$/m);
  const diff = (await ok("agents", "diff", "helper")).stdout;
  assert.match(diff, /^\+ capability tool execute_command$/m);
  assert.match(diff, /^- capability tool search_files$/m);
  assert.match(diff, /^\+You help more\.$/m);
  assert.match((await ok("agents", "rollback", "helper")).stdout, /^helper is sha256:\w+ again$/m);
  assert.match((await ok("agents", "show", "helper")).stdout, /\nYou help\.\n/);

  writeFileSync(
    join(base, "odd.md"),
    `---\nname: odd\n---\nHi${String.fromCodePoint(0xe0041, 0xe0042, 0xe0043)}`,
  );
  const scan = await yard(["agents", "scan", join(base, "odd.md")], env);
  assert.equal(scan.code, 1);
  assert.match(scan.stdout, /^blocked {2}odd\n {2}critical AST\d\d \w+ /m);
  const clean = (await ok("agents", "scan", helper, "--json")).stdout.split("\n")[0] ?? "";
  assert.equal(JSON.parse(clean).scan.verdict, "clean");

  const file = join(elsewhere, "agents/broken.yaml");
  writeFileSync(file, "temperature: 7\n");
  const failed = await yard(["agents", "import", elsewhere], env);
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /^skipped {2}elsewhere\/agents\/broken\.yaml$/m);
  assert.match(failed.stderr, /2 found, 1 loaded; 1 skipped: 1 invalid_field/);

  assert.match((await ok("agents", "remove", "helper")).stdout, /helper is no longer listed/);
  assert.equal((await yard(["agents", "show", "helper"], env)).code, 3);
  assert.match((await yard(["agents", "remove", "coder"], env)).stderr, /comes with the importer/);
  assert.equal((await yard(["agents", "remove", "reviewer"], env)).code, 1);
});

test("finds the skill for a text, and shows what the list of skills costs [D10]", async () => {
  assert.match((await ok("skills", "match", "tables", "in a PDF")).stdout, /pdf +pdf tables/);
  assert.match((await ok("skills", "match", "weather")).stderr, /none of 3 skills fits/);
  const budget = await ok("skills", "list", "--budget", "--window", "8000");
  assert.match(budget.stdout, /^SKILL +TOKENS +DESCRIPTION\n/);
  assert.match(budget.stderr, /about \d+ of 80 tokens/);
});

test("shows skills as plugins, and warns of a shadowed command [B12, B13, D26]", async () => {
  const all = await ok("skills", "manifest");
  assert.match(all.stdout, /openclaw-skill-pdf +\/pdf \[file\] +pdf +met/);
  assert.match(all.stderr, /\/help is the built-in command \/help/);
  const { stdout } = await ok("skills", "manifest", "help", "--json");
  const [help] = JSON.parse(stdout).data.skills;
  assert.deepEqual([help.manifest.id, help.command.available], ["openclaw-skill-help", false]);
  assert.equal((await yard(["skills", "manifest", "absent"], env)).code, 3);
});

test("runs a skill through an agent, once [D37]", async () => {
  const model = ["--model", "scripted/plan"];
  const { stdout, stderr } = await ok("skills", "run", "pdf", "a b.pdf", ...model);
  assert.equal(stdout.trim(), "Read 'a b.pdf'.");
  assert.match(stderr, /pdf is active/);
  assert.match((await ok("skills", "run", "pdf", ...model)).stdout, /^Read/);
  assert.equal((await yard(["skills", "run", "absent"], env)).code, 3);
  const { runs } = JSON.parse((await ok("runs", "list", "--json")).stdout).data;
  await ok("policy", "explain", "read_file", "--run", `${runs[0].runId.slice(0, -3)}…`);
  const gone = await yard(["policy", "explain", "read_file", "--run", "01ZZZZ…"], env);
  assert.match(gone.stderr, /none of the newest runs begins with 01ZZZZ/);
});

test("reads skills and agents again when their files change", async () => {
  // Written one after the other: the import that skips the last one has read those before it.
  for (const [path, text] of [
    ["skills/fresh/SKILL.md", "---\nname: fresh\ndescription: Came later.\n---\nText."],
    ["agents/fresh.md", "---\ndescription: Came later.\n---\nYou came later."],
    ["skills/half-written/SKILL.md", "---\nname: half-written\n"],
  ] as const) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  await dev.printed("file=skills/half-written/SKILL.md");
  assert.match((await ok("skills", "show", "fresh")).stdout, /\nText\.\n/);
  assert.match((await ok("agents", "show", "fresh")).stdout, /\nYou came later\.\n/);
});
