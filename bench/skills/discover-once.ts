import { agentFactsOf } from "@switchyard/skill-importer/agents/agent-facts";
import { JudgePool } from "@switchyard/skill-importer/judge/judge-pool";
import { readDefinitions } from "@switchyard/skill-importer/source/read-definitions";
import { scanDirectory } from "@switchyard/skill-importer/source/scan-directory";

// Finds and reads the definitions of one directory in a process that did nothing before, and prints how long it took.

const [root = ""] = process.argv.slice(2);
// As the importer does it: read here, parsed and judged in a thread that it starts with itself.
const judges = new JudgePool({ size: 1, deadlineMs: 1_000 });
await judges.agent({
  bytes: new Uint8Array(),
  facts: agentFactsOf("agent.yaml", "warm"),
  scan: null,
});
const started = performance.now();
const { skills, agents } = await readDefinitions(root, await scanDirectory(root, root), { judges });
const durationMs = performance.now() - started;
await judges.close();
console.log(JSON.stringify({ skills: skills.length, agents: agents.length, durationMs }));
