// Finds the NATS or Redis for a laptop or a test: the configured one, an installed program, a container, the distribution's packages, in
// that order. Every step reports its result in one line; when none works, the error repeats all of them.

import { checkConfiguredServer } from "./configured-server.ts";
import { findContainerEngine, type ContainerEngine } from "./container-engine.ts";
import { unpackDebianPackage } from "./debian-packages.ts";
import { findInstalledBinary } from "./installed-binary.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import { SERVER_KINDS, type ServerKind, type ServerKindName } from "./server-kinds.ts";

export type ResolvedServer =
  | { how: "url"; url: string; version: string }
  | { how: "binary"; binary: string; version: string; source: string }
  | { how: "docker"; engine: ContainerEngine; image: string };

export type ResolveStep = "url" | "binary" | "docker" | "packages";

export interface ResolveOptions {
  kind: ServerKindName;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
  /** The steps to take, in this order. Default: all. */
  steps?: readonly ResolveStep[];
  run?: RunCommand;
  /** Searched after PATH. */
  systemDirs?: readonly string[];
  /** The directory of `os-release` and `apt/`. */
  etcDir?: string;
  platform?: NodeJS.Platform;
}

export const RESOLVE_STEPS = [
  "url",
  "binary",
  "docker",
  "packages",
] as const satisfies readonly ResolveStep[];

/** No step found a server. The message lists each step's reason and the commands that help. */
export class UnresolvedServerError extends Error {
  readonly tried: readonly { step: ResolveStep; reason: string }[];

  constructor(kind: ServerKind, tried: readonly { step: ResolveStep; reason: string }[]) {
    const reasons = tried.map(({ step, reason }) => `  ${step}: ${reason}`);
    const instructions = kind.instructions.map((line) => `  ${line}`);
    super(
      [
        `${kind.name}: no usable server was found`,
        ...reasons,
        "Get one with",
        ...instructions,
      ].join("\n"),
    );
    this.name = "UnresolvedServerError";
    this.tried = tried;
  }
}

/**
 * Finds a server of `kind`. Rejects with {@link UnresolvedServerError} when every step fails, and with a plain Error when
 * something the user configured (a URL, a program) is unusable: that is never passed over.
 */
export async function resolveServer(options: ResolveOptions): Promise<ResolvedServer> {
  const { log, steps = RESOLVE_STEPS, run = runCommand } = options;
  const kind = SERVER_KINDS[options.kind];
  const tried: { step: ResolveStep; reason: string }[] = [];
  for (const step of steps) {
    const outcome = await TAKE[step]({ ...options, kind, run });
    if ("how" in outcome) {
      log(`${kind.name}: using ${describeServer(outcome)}`);
      return outcome;
    }
    log(`${kind.name}: ${outcome.reason}`);
    tried.push({ step, reason: outcome.reason });
  }
  throw new UnresolvedServerError(kind, tried);
}

type StepContext = Omit<ResolveOptions, "kind"> & { kind: ServerKind; run: RunCommand };

const TAKE: Readonly<
  Record<ResolveStep, (context: StepContext) => Promise<ResolvedServer | { reason: string }>>
> = {
  async url({ kind, env }) {
    const url = env[kind.urlVariable];
    if (url === undefined || url === "") return { reason: `${kind.urlVariable} is not set` };
    return { how: "url", ...(await checkConfiguredServer(kind, url)) };
  },
  async binary(context) {
    const found = await findInstalledBinary(context);
    return "reason" in found ? found : { how: "binary", ...found };
  },
  async docker(context) {
    const found = await findContainerEngine(context);
    return "reason" in found ? found : { how: "docker", ...found };
  },
  async packages(context) {
    const found = await unpackDebianPackage(context);
    return "reason" in found ? found : { how: "binary", ...found };
  },
};

/** The origin of a server, for people: a URL without its password, a file, or an image. */
export function describeServer(server: ResolvedServer): string {
  if (server.how === "url") {
    return `${server.url.replaceAll(/\/\/[^@/,]*@/g, "//")} (version ${server.version})`;
  }
  if (server.how === "binary") return `${server.binary} ${server.version} (${server.source})`;
  return `${server.engine} image ${server.image}`;
}
