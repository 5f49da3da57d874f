import { readDefinitions } from "@switchyard/skill-importer/source/read-definitions";
import { scanDirectory } from "@switchyard/skill-importer/source/scan-directory";

// Finds and reads the definitions of one directory in a process that did nothing before, and prints how long it took.

const [root = ""] = process.argv.slice(2);
const started = performance.now();
const { skills, agents } = await readDefinitions(root, await scanDirectory(root, root));
const durationMs = performance.now() - started;
console.log(JSON.stringify({ skills: skills.length, agents: agents.length, durationMs }));
