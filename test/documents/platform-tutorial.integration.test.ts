import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { parseCommandLine } from "../../apps/cli/test-fixtures/parse-command-line.ts";
import { shellWords } from "../../apps/cli/test-fixtures/shell-words.ts";
import {
  STEP_MS,
  composition,
  docker,
  removeProject,
  whyNoComposition,
} from "../../deploy/test/composition.ts";
import { commandLineOf } from "./command-lines.ts";
import { root } from "./markdown-files.ts";
import { tutorialSteps } from "./tutorial-steps.ts";

const steps = tutorialSteps(
  readFileSync(join(root, "docs/tutorials.md"), "utf8"),
  "Platform engineer",
);
const lines = steps.flatMap((step) => (step.kind === "line" ? [step.line] : []));

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly profiles?: readonly string[] }>>;
}

test("each line of the platform engineer's tutorial names services and profiles of the composition and commands of yard", async () => {
  const { services }: ComposeFile = parse(readFileSync(join(root, "docker-compose.yml"), "utf8"), {
    merge: true,
  });
  const profiles = new Set(Object.values(services).flatMap((each) => each.profiles ?? []));
  assert.ok(lines.length >= 6, `only ${lines.length} lines were found`);
  for (const line of lines) {
    const [program, compose, ...words] = shellWords(line);
    assert.deepEqual([program, compose], ["docker", "compose"], line);
    if (words[0] === "--profile") assert.ok(profiles.has(words[1] ?? ""), line);
    if (words[0] === "run") assert.ok(words[2] !== undefined && words[2] in services, line);
    const typed = commandLineOf(line);
    if (words[0] === "run") assert.notEqual(typed, null, line);
    if (typed !== null) await parseCommandLine(...shellWords(typed));
  }
});

const skip = whyNoComposition();

test(
  "the tutorial of the platform engineer works line by line",
  { skip, timeout: 6 * STEP_MS },
  async (t) => {
    const world = await composition("tutorial");
    const image = process.env["SWITCHYARD_IMAGE"] ?? `${world.name}:dev`;
    const env = {
      ...process.env,
      ...world.env,
      COMPOSE_PROJECT_NAME: world.name,
      SWITCHYARD_IMAGE: image,
    };
    after(async () => {
      world.remove();
      if (process.env["SWITCHYARD_IMAGE"] === undefined) docker(["image", "rm", image]);
      await removeProject(world);
    });
    let printed = "";
    for (const step of steps) {
      if (step.kind === "line") {
        const startedAt = performance.now();
        const { status, stdout, stderr } = spawnSync("sh", ["-ec", step.line], {
          cwd: root,
          env,
          encoding: "utf8",
          timeout: STEP_MS,
        });
        assert.equal(status, 0, `${step.line}: ${stdout}${stderr}`);
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
        t.diagnostic(`${seconds} s: ${step.line}`);
        printed += stdout + stderr;
      } else if (step.kind === "prints") {
        for (const text of step.texts)
          assert.ok(printed.includes(text), `${text} is not in:\n${printed}`);
        printed = "";
      }
    }
    assert.deepEqual(world.remove(), []);
  },
);
