import type { SkillRequirements } from "@switchyard/contracts/skill-importer/skills";
import { warningFinding, type Finding } from "../finding.ts";

/** The names under which OpenClaw's part of the metadata is found, the one that counts most first. */
export const METADATA_ALIASES = ["openclaw", "clawdbot", "moltbot", "clawdis"] as const;

type Mapping = Readonly<Record<string, unknown>>;

const REQUIRES = ["bins", "anyBins", "env", "config"] as const;
const FIELDS = ["os", "always", "primaryEnv", "install"] as const;
const MAX_ITEMS = 64;
const OS_NAMES: Readonly<Record<string, string>> = {
  windows: "windows",
  win32: "windows",
  win: "windows",
  macos: "darwin",
  mac: "darwin",
  osx: "darwin",
  darwin: "darwin",
  linux: "linux",
};

/** Maps a system to one name: `win32` is `windows`, `macos` is `darwin`. Unknown ones stay as written. */
export function normalOs(name: string): string {
  return OS_NAMES[name.toLowerCase()] ?? name.toLowerCase();
}

/** True for YAML's own true and for the usual words for it. */
export function isTrue(value: unknown): boolean {
  return value === true || (typeof value === "string" && /^(?:true|yes|on|1)$/i.test(value));
}

/**
 * Reads a skill's requirements. Of several aliases the first that has a field counts for it; a differing value in another alias
 * gives a finding, because other clients read them in another order. Null when none of the aliases is present.
 */
export function readRequirements(metadata: Mapping): {
  requirements: SkillRequirements | null;
  findings: Finding[];
} {
  const found = METADATA_ALIASES.flatMap((alias) => {
    const part = mappingOf(metadata[alias]);
    return part === null ? [] : [{ alias, part }];
  });
  if (found.length === 0) return { requirements: null, findings: [] };
  const findings: Finding[] = [];

  function pick(path: string, read: (part: Mapping) => unknown): unknown {
    const given = found.flatMap(({ alias, part }) => {
      const value = read(part);
      return value === undefined ? [] : [{ alias, value }];
    });
    const [first] = given;
    if (first === undefined) return null;
    const other = given.find(({ value }) => JSON.stringify(value) !== JSON.stringify(first.value));
    if (other !== undefined) {
      const message = `metadata.${first.alias}.${path} and metadata.${other.alias}.${path} differ; ${first.alias} counts`;
      findings.push(warningFinding("metadata_conflict", message));
    }
    return first.value;
  }

  const [bins, anyBins, env, config] = REQUIRES.map((name) =>
    words(pick(`requires.${name}`, (part) => mappingOf(part["requires"])?.[name])),
  );
  const [os, always, primaryEnv, install] = FIELDS.map((name) => pick(name, (part) => part[name]));
  const requirements: SkillRequirements = {
    bins: bins ?? [],
    anyBins: anyBins ?? [],
    env: env ?? [],
    config: config ?? [],
    os: [...new Set(words(os).map((name) => normalOs(name)))],
    always: isTrue(always),
    primaryEnv: typeof primaryEnv === "string" && primaryEnv !== "" ? primaryEnv : null,
    install: Array.isArray(install) ? install.slice(0, MAX_ITEMS) : [],
  };
  return { requirements, findings };
}

function mappingOf(value: unknown): Mapping | null {
  const isMapping = typeof value === "object" && value !== null && !Array.isArray(value);
  return isMapping ? Object.fromEntries(Object.entries(value)) : null;
}

/** Returns the items of a list, or of a text with commas; at most 64, because each is checked on the machine. */
function words(value: unknown): string[] {
  const items = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return items
    .filter((item) => typeof item === "string")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .slice(0, MAX_ITEMS);
}
