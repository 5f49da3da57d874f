import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { checkProject } from "./check-project.ts";
import type { Project } from "./project.ts";
import type { StackReport } from "./stack-report.ts";

const RULES =
  "version: 1\nrules:\n  - { id: reads, effect: allow, what: { tools: [read_file] } }\n";
const AGENT = "---\nname: helper\ntools: [read_file]\n---\nYou help.\n";

/** Returns the warnings about a project in a folder with a space in its name. */
async function check({ rules = RULES, agent = AGENT }): Promise<string[]> {
  const directory = join(tempDirectory(), "my project");
  for (const folder of ["agents", "policies"])
    mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, "policies", "rules.yaml"), rules);
  writeFileSync(join(directory, "agents", "helper.md"), agent);
  const warnings: string[] = [];
  const report = { warn: (text: string) => warnings.push(text) } as unknown as StackReport; // only warn is called
  const project = { directory, policyFile: join(directory, "policies") } as Project; // the others are not read
  await checkProject(project, report);
  return warnings;
}

test("a sound project has no warning; misspelt keys and built-in tools of an agent are named", async () => {
  assert.deepEqual(await check({}), []);
  const [key, tool] = await check({
    agent: AGENT.replace("tools: [read_file]", "modle: x\ntools: [read_fil]"),
  });
  assert.match(key ?? "", /agents\/helper\.md:3: .*"modle" is ignored: did you mean model\?/);
  assert.match(tool ?? "", /there is no tool read_fil; did you mean read_file\?/);
});

test("a faulty rule stops the start, with its place and a command that a shell takes as it is", async () => {
  await assert.rejects(check({ rules: RULES.replace("effect", "efect") }), {
    code: "invalid_project",
    message: /rules\.yaml:3:\d+: unknown key "efect" in rules\[0\]; did you mean "effect"\?/,
    hint: /\.\/yard policy test '[^']*my project\/policies'$/,
  });
});
