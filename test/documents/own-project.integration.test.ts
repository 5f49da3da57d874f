import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { yard, yardDev, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { root } from "./markdown-files.ts";

/** A file that a document shows: its name, and the fenced block below. */
const SHOWN_FILE = /`my-project\/([\w./-]+)`[^\n]*\n\n```\w*\n([\s\S]*?)\n```/g;
const PACKAGE = "@modelcontextprotocol/server-filesystem";

test("the project that README.md shows works as it says", async () => {
  const directory = await testDirectory();
  const project = join(directory, "my-project");
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const names = [...readme.matchAll(SHOWN_FILE)].map(([, name = "", text = ""]) => {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
    return name;
  });
  assert.deepEqual(names, ["agents/reviewer.md", "mcp-servers.json", "policies/rules.yaml"]);
  // The program that npx would load is here already; a test loads nothing.
  const { mcpServers } = JSON.parse(readFileSync(join(project, "mcp-servers.json"), "utf8"));
  const [yes, name, ...folders] = mcpServers.files.args;
  assert.deepEqual([mcpServers.files.command, yes, name], ["npx", "-y", PACKAGE]);
  const program = join(root, "node_modules", PACKAGE, "dist/index.js");
  const files = { command: "node", args: [program, ...folders] };
  writeFileSync(join(project, "mcp-servers.json"), JSON.stringify({ mcpServers: { files } }));
  const workspace = join(directory, "my-files");
  mkdirSync(join(workspace, "docs"), { recursive: true });
  writeFileSync(join(workspace, "docs/notes.md"), "# Release notes\n");

  const env = yardEnvironment(join(directory, "state"));
  const dev = yardDev(["--project", project, "--workspace", workspace], env);
  await dev.printed("Ctrl-C stops everything");
  const { code, stdout, stderr } = await yard(
    ["run", "reviewer", "How do the notes begin?", "--wait-for", "60"],
    env,
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^The notes begin with: # Release notes$/m);
  assert.match(stdout, /^A copy: .*rule no-writes denies .*reviewers read$/m);
});
