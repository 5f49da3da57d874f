import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nats, older, olderCode, redis, services } from "../build/images.ts";
import { startDocker } from "../build/docker.ts";
import type { Check } from "../check.ts";
import { eventually } from "../eventually.ts";
import { repository } from "../settings.ts";
import { runProgram, tryProgram } from "../run-program.ts";

/** The files of a clone that `docker compose` reads. */
const files = ["docker-compose.yml", "docker-compose.compact.yml", "deploy", "examples"];

/** The Docker of the lab, in a network of its own, which ends with the check. */
export const compose: Check = {
  name: "compose",
  title:
    "Docker Compose: up, upgrade (also from the version before, with runs in work), restart, kill, down with data kept, the compact file, and two projects side by side",
  minutes: 45,
  async run({ cache }) {
    const folder = join(cache, "run/compose");
    await mkdir(join(folder, "tmp"), { recursive: true });
    const docker = await startDocker(cache, { network: "own" });
    try {
      const env = {
        SWITCHYARD_IMAGE: services,
        NATS_IMAGE: nats,
        REDIS_IMAGE: redis,
        TMPDIR: join(folder, "tmp"),
      };
      const run = (command: readonly string[], cwd: string, more = {}): Promise<string> =>
        runProgram(docker.inNetwork(command), {
          cwd,
          env: { ...env, ...more },
          timeoutMs: 1_800_000,
        });
      const sides = await sideBySide(folder, run);
      const upgrade = await upgraded(folder, olderCode(cache), run);
      const options = ["--test", "--test-concurrency=1", "--test-reporter=tap"];
      const tests = ["up", "up-work", "up-crash"].map(
        (name) => `deploy/test/compose-${name}.integration.test.ts`,
      );
      const command = [process.execPath, ...options, ...tests];
      const { code, stdout: said } = await tryProgram(docker.inNetwork(command), {
        cwd: repository,
        env: { ...env, YARD_TEST_DOCKER: "1" },
        timeoutMs: 1_800_000,
      });
      if (code !== 0) throw new Error(failuresOf(said).join("\n"));
      const [passed, skipped] = ["pass", "skipped"].map((name) =>
        Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(said)?.[1]),
      );
      if (!(Number(passed) >= tests.length) || skipped !== 0)
        throw new Error(`deploy/test/compose-up: ${passed} passed, ${skipped} skipped`);
      return `${sides}; ${upgrade}; deploy/test/compose-up: ${passed} tests passed`;
    } finally {
      await docker.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Returns the lines of a report in TAP that name a failed test, its place and its error. */
function failuresOf(report: string): readonly string[] {
  const lines = report.split("\n");
  return lines.flatMap((line, index) =>
    /^\s*not ok /.test(line)
      ? lines
          .slice(index, index + 60)
          .filter((text) => /not ok |location:|error:|^ {6,}\S/.test(text))
      : [],
  );
}

type Run = (
  command: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
) => Promise<string>;

/** Two clones with two files, at the same time on one machine: each keeps its runs, and one that is taken down leaves the other alone. */
async function sideBySide(folder: string, run: Run): Promise<string> {
  const clones = await Promise.all(
    [
      { name: "one", file: "docker-compose.yml", ports: ["18321", "14222"] },
      { name: "two", file: "docker-compose.compact.yml", ports: ["28321", "24222"] },
    ].map(async ({ name, file, ports: [http = "", natsPort = ""] }) => {
      const cwd = await cloneOf(repository, join(folder, name));
      const settings = { COMPOSE_FILE: file, YARD_HTTP_PORT: http, YARD_NATS_PORT: natsPort };
      const inClone = (...args: string[]): Promise<string> =>
        run(["docker", "compose", ...args], cwd, settings);
      const yard = (...args: string[]): Promise<string> =>
        inClone("run", "--rm", "--no-TTY", "cli", ...args);
      return { name, inClone, yard };
    }),
  );
  const times: string[] = [];
  for (const { name, inClone, yard } of clones) {
    const began = performance.now();
    await inClone("up", "--detach", "--wait");
    times.push(`${name} up in ${Math.round((performance.now() - began) / 1_000)} s`);
    await yard("run", "demo", `hello ${name}`, "--label", `of=${name}`);
  }
  const [one, two] = clones;
  if (one === undefined || two === undefined) throw new Error("two clones are needed");
  await one.inClone("--profile", "cli", "down", "--timeout", "60");
  await two.yard("run", "demo", "still here");
  await one.inClone("up", "--detach", "--wait");
  const listed = await one.yard("runs", "list", "--json");
  if (!listed.includes("hello one") || listed.includes("hello two"))
    throw new Error(`the first project lists ${listed}`);
  for (const { inClone } of clones) await inClone("--profile", "cli", "down", "--volumes");
  return `${times.join(", ")}; each project kept its own runs`;
}

async function cloneOf(code: string, cwd: string): Promise<string> {
  await mkdir(cwd);
  for (const path of files) await cp(join(code, path), join(cwd, path), { recursive: true });
  return cwd;
}

/** An agent whose calls are in work while each of the services is replaced. */
const patient = `name: patient
description: Waits for a slow tool, twelve times.
model: scripted/plan
tools: [mcp__everything__trigger-long-running-operation]
plan:
  steps:
${"    - calls: [{ tool: mcp__everything__trigger-long-running-operation, with: { duration: 4, steps: 2 }, as: last }]\n".repeat(12)}  answer: "{{/results/last/text}}"
`;
const rule = `rules:
  - id: patient-waits
    effect: allow
    approval: auto
    who: { agents: [patient] }
    what: { tools: [mcp__everything__trigger-long-running-operation] }
`;

/** The version before as its own file starts it; then its folder has this version's files, as after a `git pull`, and is upgraded. */
async function upgraded(folder: string, before: string, run: Run): Promise<string> {
  if (!existsSync(join(before, "package.json"))) return "the version before is not here";
  const project = join(folder, "project");
  await cp(join(before, "examples"), project, { recursive: true });
  await writeFile(join(project, "agents/patient.yaml"), patient);
  const policy = join(project, "policies/demo.yaml");
  const rules = await readFile(policy, "utf8");
  await writeFile(policy, rules.replace("\nrules:\n", `\n${rule}`));
  const settings = {
    COMPOSE_PROJECT_NAME: "upgraded",
    YARD_PROJECT: project,
    YARD_HTTP_PORT: "38321",
    YARD_NATS_PORT: "34222",
  };
  const versions = [
    { cwd: await cloneOf(before, join(folder, "before")), image: older },
    { cwd: await cloneOf(repository, join(folder, "after")), image: services },
  ];
  const [ofBefore, ofNow] = versions.map(
    ({ cwd, image }) =>
      (...command: string[]) =>
        run(command, cwd, { ...settings, SWITCHYARD_IMAGE: image }),
  );
  if (ofBefore === undefined || ofNow === undefined) throw new Error("two versions are needed");
  await ofBefore("docker", "compose", "up", "--detach", "--wait");
  const create = ["cli", "keys", "api", "create", "me", "--role", "admin"];
  const key = /yk_[\w-]+/.exec(
    await ofBefore("docker", "compose", "run", "--rm", "--no-TTY", ...create),
  );
  const headers = [`authorization: Bearer ${key?.[0]}`, "content-type: application/json"];
  const curl = ["curl", "-sS", "--fail", ...headers.flatMap((header) => ["-H", header])];
  const http = (path: string, ...more: string[]): Promise<string> =>
    ofNow(...curl, `http://127.0.0.1:38321/api/v1${path}`, ...more);
  const ids = Array.from({ length: 12 }, (_, index) => `upgrade-${index}`);
  for (const runId of ids)
    await http("/runs", "-d", JSON.stringify({ agent: "patient", input: "wait", runId }));
  const began = performance.now();
  await ofNow("sh", "deploy/docker/upgrade.sh");
  const seconds = Math.round((performance.now() - began) / 1_000);
  for (const runId of ids) {
    const status = await eventually(
      `${runId} ends`,
      async () => {
        const answer: { run?: { status: string } } = JSON.parse(await http(`/runs/${runId}`));
        const found = answer.run?.status ?? "";
        return ["succeeded", "failed", "cancelled", "dead"].includes(found) ? found : null;
      },
      { timeoutMs: 180_000 },
    );
    if (status !== "succeeded")
      throw new Error(`${runId} ${status}: ${await http(`/runs/${runId}`)}`);
  }
  await ofNow("docker", "compose", "--profile", "cli", "down", "--volumes");
  return `from the version before in ${seconds} s, ${ids.length} runs in work succeeded`;
}
