import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type {
  SkillDependencies,
  SkillRequirements,
} from "@switchyard/contracts/skill-importer/skills";
import { normalOs } from "./skill-requirements.ts";

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The platform's name in Node, such as `linux`. */
  readonly platform: string;
}

/** The name comes from an untrusted file, so it may contain no path, no option and no shell syntax. */
const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * Checks a skill's requirements on this machine. A missing one is only a warning; another operating system is one too, and does
 * not count as unmet. No program and no shell is run, and only the presence of a variable is reported.
 */
export async function checkDependencies(
  requirements: SkillRequirements,
  machine: Machine,
): Promise<SkillDependencies> {
  const { always } = requirements;
  const checks: SkillDependencies["checks"] = [];
  const warnings: string[] = [];
  let met = true;
  const unmet = (warning: string) => {
    warnings.push(warning);
    met = false;
  };
  const statusOf = (isFound: boolean) =>
    always ? ("not_applicable" as const) : isFound ? ("found" as const) : ("missing" as const);

  const found = await programsIn(machine, [...requirements.bins, ...requirements.anyBins]);
  for (const name of requirements.bins) {
    checks.push({ kind: "bin", name, status: statusOf(found.has(name)) });
    if (!always && !found.has(name)) unmet(`Required binary not found in PATH: ${name}`);
  }
  for (const name of requirements.anyBins) {
    checks.push({ kind: "anyBin", name, status: statusOf(found.has(name)) });
  }
  const { anyBins } = requirements;
  if (!always && anyBins.length > 0 && !anyBins.some((name) => found.has(name))) {
    unmet(`None of these binaries found in PATH: ${anyBins.join(", ")}`);
  }
  for (const name of requirements.env) {
    const isSet =
      VARIABLE.test(name) && Object.hasOwn(machine.env, name) && machine.env[name] !== "";
    checks.push({ kind: "env", name, status: statusOf(isSet) });
    if (!always && !isSet) unmet(`Required environment variable not set: ${name}`);
  }
  for (const name of requirements.config) {
    checks.push({ kind: "config", name, status: "not_applicable" });
  }
  const current = normalOs(machine.platform);
  for (const name of requirements.os) {
    checks.push({ kind: "os", name, status: name === current ? "found" : "missing" });
  }
  if (requirements.os.length > 0 && !requirements.os.includes(current)) {
    warnings.push(`Skill requires OS: ${requirements.os.join(", ")} (current: ${current})`);
  }
  return { met, requirements, checks, warnings };
}

async function programsIn(machine: Machine, names: readonly string[]): Promise<Set<string>> {
  const directories = (machine.env["PATH"] ?? "")
    .split(delimiter)
    .filter((path) => isAbsolute(path));
  const wanted = [...new Set(names)].filter((name) => PROGRAM.test(name));
  const found = new Set<string>();
  for (const name of wanted) {
    for (const directory of directories) {
      // Files are checked one at a time: a skill may name many programs, and the disk is shared.
      if (await isProgram(join(directory, name))) {
        found.add(name);
        break;
      }
    }
  }
  return found;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
