import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { archivesOf, buildImages } from "./build/images.ts";
import { buildPrograms, missingPrograms } from "./build/programs.ts";
import { unpackDebian } from "./build/debian.ts";
import { checks } from "./checks.ts";
import { startLab, type Lab } from "./lab.ts";
import { Load } from "./load/load.ts";
import { junitOf, tableOf } from "./report.ts";
import { endPrograms } from "./run-program.ts";
import { runChecks } from "./run-checks.ts";
import { readSettings, usage, type Settings } from "./settings.ts";

/** `npm run test:cluster`: see the README beside this file. */
async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2));
  if (settings.does === "help") console.log(usage);
  if (settings.does === "list")
    for (const { name, title } of checks) console.log(`${name.padEnd(18)} ${title}`);
  if (settings.does === "help" || settings.does === "list") return 0;
  const unknown = [...(settings.only ?? [])].filter((name) => !checks.some((c) => c.name === name));
  if (unknown.length > 0) throw new TypeError(`--only: no check ${unknown.join(", ")} (--list)`);
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    throw new TypeError("the cluster needs Linux and root: it mounts and makes network namespaces");

  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), settings.minutes * 60_000);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => over.abort());
  try {
    return await runAll(settings, over.signal);
  } finally {
    clearTimeout(timer);
  }
}

async function runAll(settings: Settings, signal: AbortSignal): Promise<number> {
  const { cache, only } = settings;
  await mkdir(cache, { recursive: true });
  if (settings.builds) {
    await unpackDebian(cache, log);
    await buildPrograms(cache, log);
    await buildImages(cache, log);
  }
  if (settings.does === "build") return 0;

  const missing = await missingPrograms(cache);
  let lab: Lab | null = null;
  try {
    const images = await archivesOf(cache);
    lab = await startLab(settings, { images, missing: new Set(missing.keys()), log });
    const kubectl = lab.kubectl.in("switchyard");
    const world = {
      cache,
      lab,
      kubectl,
      load: new Load(lab.kubectl),
      missing,
    };
    const chosen = checks.filter(
      ({ name, isInstallation }) => isInstallation === true || (only?.has(name) ?? true),
    );
    const evidence = join(cache, "evidence");
    await rm(evidence, { recursive: true, force: true });
    const outcomes = await runChecks(chosen, { world, evidence, signal, log });
    await mkdir(dirname(settings.junit), { recursive: true });
    await writeFile(settings.junit, junitOf(outcomes));
    console.log(`\n${tableOf(outcomes)}\n\n${settings.junit}`);
    return outcomes.some(({ state }) => state === "failed") || signal.aborted ? 1 : 0;
  } finally {
    endPrograms();
    await lab?.stop();
  }
}

function log(line: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
}

let code = 2;
try {
  code = await main();
} catch (error) {
  console.error(error instanceof TypeError ? error.message : error);
}
// A check that ran out of time may still poll a cluster that is gone.
process.exit(code);
