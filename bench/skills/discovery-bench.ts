import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";

const run = promisify(execFile);
const ONCE = fileURLToPath(new URL("discover-once.ts", import.meta.url));

/** Finding, reading, parsing and judging definitions on disk, each time in a new process; against reading the bytes alone. */
export async function benchDiscovery({ stage, rounds }: Bench): Promise<Report> {
  const figures: Figure[] = [];
  for (const { count, goalMs } of [
    { count: 100, goalMs: 100 },
    { count: 3_000, goalMs: 1_500 },
  ]) {
    const root = await stage.directory();
    await writeSkills(root, count);
    figures.push(await measured(`${count} skills found and read`, { root, rounds, count, goalMs }));
  }
  const root = await stage.directory();
  await mkdir(join(root, "agents"));
  await writeFile(join(root, "agents", "reviewer.md"), AGENT);
  figures.push(await measured("one agent found and read", { root, rounds, count: 1, goalMs: 50 }));
  return { name: "discovery", figures };
}

async function measured(
  name: string,
  { root, rounds, count, goalMs }: { root: string; rounds: number; count: number; goalMs: number },
): Promise<Figure> {
  const ours: number[] = [];
  const bytesOnly: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { stdout } = await run(process.execPath, [ONCE, root]);
    const { skills, agents, durationMs } = JSON.parse(stdout);
    if (skills + agents !== count) throw new Error(`${skills + agents} of ${count} were read`);
    ours.push(durationMs);
    bytesOnly.push(await timeToReadBytes(root));
  }
  const value = median(ours);
  const baseline = median(bytesOnly);
  const goal = `below ${goalMs} ms`;
  const ratio = value / baseline;
  return { name, value, unit: "ms", baseline, ratio, goal, met: value < goalMs };
}

async function timeToReadBytes(root: string): Promise<number> {
  const started = performance.now();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await readFile(join(entry.parentPath, entry.name));
  }
  return performance.now() - started;
}

async function writeSkills(root: string, count: number): Promise<void> {
  const directories = Array.from({ length: count }, (_, n) =>
    join(root, `group-${n % 50}`, `skill-${n}`),
  );
  for (const [n, directory] of directories.entries()) {
    await mkdir(directory, { recursive: true });
    const paragraph = "Do this first, then look at the result, and only then continue.\n";
    const head = `---\nname: skill-${n}\ndescription: Does one thing of kind ${n}, and reports it. Use it for such tasks.\nallowed-tools: Read, Grep\n---\n`;
    await writeFile(
      join(directory, "SKILL.md"),
      `${head}# Skill ${n}\n\n${paragraph.repeat(20 + 15 * (n % 9))}`,
    );
  }
}

const AGENT = `---
description: Reviews changes.
model: anthropic/claude-sonnet-4-5
tools: [mcp__files__read_*, mcp__files__list_*]
skills: [summarise-files]
limits: { tool_calls: 50, tokens: 200000, wall_time: 10m }
---

${"You review changes and report what is wrong, where, and how to fix it.\n".repeat(60)}`;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
