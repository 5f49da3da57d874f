import type { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import { indexSkills } from "@switchyard/skill-importer/views/match-skills";
import { skillCatalogue } from "@switchyard/skill-importer/views/skill-budget";
import { renderSkill } from "@switchyard/skills/render/render";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";

/** Rendering one skill, and listing and searching 3,000, each by itself in this process. */
export function benchRender({ windowMs }: Bench): Promise<Report> {
  const usual = request(6 * 1024);
  const long = request(256 * 1024);
  const skills = Array.from({ length: 3_000 }, (_, n) => summary(n));
  const index = indexSkills(skills);
  const list = () => skillCatalogue({ skills, budgetTokens: 4_500, relevance: [] });
  const figures = [
    figure("render a skill of 6 KB", { ms: timeOf(() => renderSkill(usual), windowMs), goalMs: 1 }),
    figure("render a skill of 256 KB", { ms: timeOf(() => renderSkill(long), windowMs) }),
    figure("list 3,000 skills within a budget", { ms: timeOf(list, windowMs) }),
    figure("find a skill among 3,000", {
      ms: timeOf(() => index.match("extract the tables of kind 77 from a report", 10), windowMs),
    }),
    figure("index 3,000 skills", { ms: timeOf(() => indexSkills(skills), windowMs) }),
  ];
  return Promise.resolve({ name: "render", figures });
}

function figure(name: string, { ms, goalMs }: { ms: number; goalMs?: number }): Figure {
  const measured = { name, value: ms, unit: "ms" };
  return goalMs === undefined
    ? measured
    : { ...measured, goal: `below ${goalMs} ms`, met: ms < goalMs };
}

/** The median, in milliseconds, of as many as fit into the window after a warm-up of a quarter of it. */
function timeOf(work: () => unknown, windowMs: number): number {
  const times: number[] = [];
  const from = performance.now() + windowMs / 4;
  for (let now = performance.now(); now < from + windowMs || times.length === 0;) {
    const started = now;
    work();
    now = performance.now();
    if (started >= from) times.push(now - started);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

function request(bytes: number) {
  const paragraph =
    "Look at $ARGUMENTS[0] in {baseDir}/scripts, then write ${1}. It costs $100; keep \\$ARGUMENTS as text.\n";
  return {
    name: "usual",
    body: paragraph.repeat(Math.ceil(bytes / paragraph.length)),
    argumentNames: ["path", "kind"],
    arguments: "src/main.ts 'a report' --long",
    sessionId: "run-1",
    baseDirectory: "/skills/usual",
    files: ["scripts/run.sh", "references/a.md"],
  };
}

function summary(n: number): SkillSummary {
  return {
    name: `skill-${n}`,
    description: `Extracts things of kind ${n} from reports, tables and lists, and writes down what it found. Use it when a person asks for kind ${n}.`,
    digest: `sha256:${"a".repeat(64)}`,
    path: `skills/skill-${n}`,
    userInvocable: true,
    modelInvocable: true,
    allowedTools: null,
    argumentHint: null,
    diagnostics: [],
  };
}
