// Records what versions leave behind, made by their own code, which has to be in the history of this clone:
//
//   node test/compatibility/record.ts

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { checkOut } from "../lib/old-checkout.ts";
import { leaveRuns, writeInstallation } from "./left-runs.ts";
import { record } from "./recording.ts";
import { BEFORE_OWNERS, LAST_VERSION } from "./versions.ts";

const recorded = join(import.meta.dirname, "recorded");

for (const version of [BEFORE_OWNERS, LAST_VERSION])
  test(`record ${version}`, async () => {
    const directory = await testDirectory();
    const installation = await writeInstallation(directory);
    const code = join(directory, "code");
    await mkdir(code);
    await checkOut(version, code);
    if (version === LAST_VERSION) await keepContracts(code);
    await leaveRuns(installation, code);
    const file = join(recorded, `${version}.json`);
    await record(file, { version, directory, stateDir: installation.stateDir });
  });

/** The schemas of all messages, without texts for people. */
async function keepContracts(code: string): Promise<void> {
  const text = await readFile(join(code, "docs/asyncapi.json"), "utf8");
  const { channels, components } = JSON.parse(text) as Record<string, unknown>;
  const kept = JSON.stringify({ channels, components }, (key, value: unknown) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );
  await writeFile(join(recorded, `${LAST_VERSION}.asyncapi.json`), `${kept}\n`);
}
