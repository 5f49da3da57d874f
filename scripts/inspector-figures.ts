// Measures the inspectors of arguments and results (docs/policy.md#inspectors): the recall for each form of the labelled texts, the false alarms in
// harmless ones and in the READMEs below the given directories (node_modules without one), and the speed. node scripts/inspector-figures.ts

import { glob, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Finding } from "@switchyard/contracts/policy/findings";
import { findInText } from "@switchyard/service/inspect/find-in-text";
import { MAX_INSPECTED_CHARS } from "@switchyard/service/inspect/texts-of";
import { ATTACKS, HARMLESS } from "../libs/service/test/injection-texts.ts";

const isFound = (text: string, kind: Finding) => findInText(text, [kind]).length > 0;
const print = (line: string) => process.stdout.write(`${line}\n`);

const [...given] = process.argv.slice(2);
const directories = given.length === 0 ? ["node_modules"] : given;

for (const [form, texts] of Object.entries(ATTACKS))
  print(`${texts.filter((text) => isFound(text, "injection")).length} of ${texts.length}  ${form}`);
print(
  `${HARMLESS.filter((text) => isFound(text, "injection")).length} of ${HARMLESS.length}  harmless`,
);

const readmes: string[] = [];
for (const directory of directories)
  for await (const file of glob("**/*.md", { cwd: directory }))
    if (/^readme/i.test(basename(file)))
      readmes.push((await readFile(join(directory, file), "utf8")).slice(0, MAX_INSPECTED_CHARS));
const bytes = readmes.reduce((sum, text) => sum + text.length, 0);
print(`${readmes.length} READMEs, ${(bytes / 1e6).toFixed(1)} million characters`);
for (const kind of Finding.options) {
  const startedAt = process.cpuUsage();
  const found = readmes.filter((text) => isFound(text, kind)).length;
  const { user, system } = process.cpuUsage(startedAt);
  const msPerMillion = (user + system) / 1e3 / (bytes / 1e6);
  print(`${kind}: found in ${found}, ${msPerMillion.toFixed(1)} ms for a million characters`);
}
