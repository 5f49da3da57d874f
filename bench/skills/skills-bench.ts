import { parseSkillFile } from "@switchyard/skills/skill/skill-file";
import { parse } from "yaml";
import { compared, type Report } from "../lib/figure.ts";
import type { Bench } from "../lib/bench.ts";
import { scanFigures } from "./scan-figures.ts";

/** Files like the public ones: half of them below 5 KB, one in a hundred above 33 KB. */
const FILES = 5_000;

/** Parsing and judging SKILL.md files already in memory, against `yaml.parse` of their frontmatter alone. */
export function benchSkills({ rounds }: Bench): Promise<Report> {
  const frontmatters = Array.from({ length: FILES }, (_, n) => frontmatter(n));
  const files = frontmatters.map((text, n) => Buffer.from(`---\n${text}---\n${body(n)}`));
  const ours: number[] = [];
  const baseline: number[] = [];
  let loaded = 0;
  for (let round = 0; round <= rounds; round += 1) {
    loaded = 0;
    const mine = timed(() => {
      for (const [n, file] of files.entries()) {
        if (parseSkillFile(file, `skill-${n}`).skill !== null) loaded += 1;
      }
    });
    const yaml = timed(() => {
      for (const text of frontmatters) parse(text);
    });
    if (round === 0) continue; // the first warms the compiler up
    ours.push(FILES / mine);
    baseline.push(FILES / yaml);
  }
  if (loaded !== FILES) throw new Error(`${FILES - loaded} generated skills did not load`);
  const figure = {
    name: "SKILL.md files parsed and judged",
    unit: "files/s",
    value: median(ours),
    baseline: median(baseline),
  };
  return Promise.resolve({
    name: "skills",
    figures: [
      compared(figure),
      {
        name: "36,000 files would take",
        value: 36_000 / median(ours),
        unit: "s",
        goal: "≤ 2 s",
        met: 36_000 / median(ours) <= 2,
      },
      {
        name: "one thread",
        value: median(ours),
        unit: "files/s",
        goal: "≥ 10,000/s",
        met: median(ours) >= 10_000,
      },
      ...scanFigures(files, rounds),
    ],
  });
}

function timed(work: () => void): number {
  const started = performance.now();
  work();
  return (performance.now() - started) / 1000;
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function frontmatter(n: number): string {
  const lines = [
    `name: skill-${n}`,
    `description: "Handles case ${n}. Use it when ${"a matter of this kind comes up, ".repeat(1 + (n % 8))}and not else."`,
    "license: MIT",
  ];
  if (n % 4 === 0) lines.push("allowed-tools: Read, Grep, Bash(git:*)");
  if (n % 8 === 0)
    lines.push(`metadata: {"openclaw":{"requires":{"bins":["git","jq"]},"emoji":"x"}}`);
  // One in ten is written in a way that only the YAML library reads.
  if (n % 10 === 3) lines.push("metadata:", "  {", '    "hermes": { "tags": ["a", "b"], },', "  }");
  if (n % 5 === 0) lines.push("version: 1.0.2", "author: an author", "tags: [one, two, three]");
  return `${lines.join("\n")}\n`;
}

function body(n: number): string {
  const paragraph =
    "Do this first, then look at the result, and only then continue with the next part.\n";
  const kilobytes = n % 100 === 0 ? 34 : 1 + (n % 9);
  return `# Skill ${n}\n\n${paragraph.repeat(Math.ceil((kilobytes * 1024) / paragraph.length))}`;
}
