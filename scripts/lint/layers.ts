import { join } from "node:path/posix";

const SERVICE_LIBRARIES = ["contracts", "topology", "bus", "service", "audit"];
const PROVIDER_LIBRARIES = [...SERVICE_LIBRARIES, "tool-provider"];
const SERVICES = [
  "policy",
  "mcp-broker",
  "skill-importer",
  "agent-runner",
  "toolbox",
  "channels",
  "scheduler",
  "gateway",
];

interface Layer {
  /** The folder of the package, from the root of the repository. */
  readonly folder: string;
  /** Packages of this repository, without their scope, that its source may import. */
  readonly imports: readonly string[];
  /** The files that it may import of a package; without an entry all. */
  readonly only?: Readonly<Record<string, readonly string[]>>;
}

/** Every package and what it may import, from the lowest to the highest. ARCHITECTURE.md explains the order. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  contracts: { folder: "libs/contracts", imports: [] },
  "local-servers": { folder: "libs/local-servers", imports: [] },
  client: { folder: "libs/client", imports: [] },
  topology: { folder: "libs/topology", imports: ["contracts"] },
  bus: { folder: "libs/bus", imports: ["contracts", "topology"] },
  service: { folder: "libs/service", imports: ["contracts", "topology", "bus"] },
  audit: { folder: "libs/audit", imports: ["contracts", "bus", "service"] },
  "tool-provider": {
    folder: "libs/tool-provider",
    imports: ["contracts", "bus", "service", "audit"],
  },
  testing: {
    folder: "libs/testing",
    imports: ["contracts", "topology", "bus", "service", "local-servers"],
  },
  rules: { folder: "libs/rules", imports: ["contracts", "service"] },
  skills: { folder: "libs/skills", imports: ["contracts", "service"] },
  project: { folder: "libs/project", imports: ["contracts", "topology", "service"] },
  policy: {
    folder: "services/policy",
    imports: [...SERVICE_LIBRARIES, "rules", "tool-provider"],
  },
  "mcp-broker": { folder: "services/mcp-broker", imports: [...PROVIDER_LIBRARIES, "project"] },
  "skill-importer": {
    folder: "services/skill-importer",
    imports: [...SERVICE_LIBRARIES, "skills"],
  },
  "agent-runner": { folder: "services/agent-runner", imports: PROVIDER_LIBRARIES },
  toolbox: { folder: "services/toolbox", imports: PROVIDER_LIBRARIES },
  channels: { folder: "services/channels", imports: SERVICE_LIBRARIES },
  scheduler: { folder: "services/scheduler", imports: [...SERVICE_LIBRARIES, "project"] },
  gateway: { folder: "services/gateway", imports: [...SERVICE_LIBRARIES, "client"] },
  console: { folder: "apps/console", imports: ["contracts", "client"] },
  "mcp-stdio": { folder: "apps/mcp-stdio", imports: [...SERVICE_LIBRARIES, "client"] },
  cli: {
    folder: "apps/cli",
    imports: [
      ...SERVICE_LIBRARIES,
      "rules",
      "skills",
      "project",
      "client",
      "local-servers",
      "console",
      "mcp-stdio",
    ],
  },
  switchyard: {
    folder: "apps/switchyard",
    imports: [...SERVICE_LIBRARIES, ...SERVICES],
    // The composition root knows the definition of a service and nothing else of it.
    only: Object.fromEntries(SERVICES.map((name) => [name, ["service"]])),
  },
};

/**
 * Returns what is wrong with an import of another package of this repository, by its name or by a path; null when it is allowed.
 * `file` is the importing file's path from the root.
 */
export function forbiddenImport(file: string, specifier: string): string | null {
  const own = packageAt(file);
  if (own === null) return null;
  const target = targetOf(file, specifier);
  if (target === null || target.name === own) return null;
  const layer = LAYERS[own];
  if (layer === undefined || !layer.imports.includes(target.name))
    return `${folderOf(own)} may not import ${folderOf(target.name)}: ${explain(target.name)}`;
  const files = layer.only?.[target.name];
  if (files !== undefined && !files.includes(target.path))
    return `${folderOf(own)} may import ${files.join(", ")} of ${folderOf(target.name)} and nothing else of it.`;
  return null;
}

function targetOf(file: string, specifier: string): { name: string; path: string } | null {
  const scoped = /^@switchyard\/([^/]+)(?:\/(.+))?$/.exec(specifier);
  if (scoped !== null) return { name: scoped[1] ?? "", path: scoped[2] ?? "" };
  if (!specifier.startsWith(".")) return null;
  const path = join(file, "..", specifier);
  const name = packageAt(path);
  return name === null ? null : { name, path };
}

function packageAt(path: string): string | null {
  const found = Object.entries(LAYERS).find(([, { folder }]) => path.startsWith(`${folder}/`));
  return found?.[0] ?? null;
}

function folderOf(name: string): string {
  return LAYERS[name]?.folder ?? `@switchyard/${name}`;
}

function explain(name: string): string {
  if (SERVICES.includes(name)) return "a service is called by its contracts.";
  if (name === "local-servers") return "local servers are for `yard dev` and for tests.";
  return "scripts/lint/layers.ts lists what each package may import.";
}
