import { readDefinitions } from "@switchyard/skill-importer/imports/read-definitions";
import { ThreadAnalyzer } from "@switchyard/skills/analysis/thread-analyzer";
import { scanDirectory } from "@switchyard/skills/source/scan-directory";

// Finds and reads the definitions of one directory in a process that did nothing before, and prints how long it took.

const [root = ""] = process.argv.slice(2);
// Works like the importer: read here, parsed and judged in a thread that it starts with itself.
const analyzer = new ThreadAnalyzer({ deadlineMs: 1_000 });
await analyzer.analyze({
  kind: "agent",
  mainFile: "agent.yaml",
  directoryName: "warm",
  files: new Map([["agent.yaml", new Uint8Array()]]),
  version: null,
  now: new Date(0),
});
const started = performance.now();
const { found } = await readDefinitions(root, await scanDirectory(root, root), { analyzer });
const countOf = (kind: string) => found.filter((one) => one.kind === kind).length;
const durationMs = performance.now() - started;
await analyzer.close();
console.log(JSON.stringify({ skills: countOf("skill"), agents: countOf("agent"), durationMs }));
