// The source of NATS and Redis for tests. It is never a configured server, which may hold real data.

import {
  resolveServer,
  wantsContainers,
  type ResolvedServer,
  type ResolveStep,
} from "./resolve.ts";
import type { ServerKindName } from "./server-kinds.ts";

export type TestSource = Exclude<ResolvedServer, { how: "url" }>;

const PROGRAMS: readonly ResolveStep[] = ["binary", "packages"];
const CONTAINERS: readonly ResolveStep[] = ["docker"];

/** A program of this machine or out of its packages, or with `YARD_SERVERS=containers` an image. Rejects when there is none. */
export async function testSource(
  kind: ServerKindName,
  env: NodeJS.ProcessEnv = process.env,
): Promise<TestSource> {
  const steps = wantsContainers(env) ? CONTAINERS : PROGRAMS;
  const found = await resolveServer({ kind, env, log: () => {}, steps });
  if (found.how === "url") throw new Error(`${kind}: no configured server was requested`);
  return found;
}

/** A program, also where tests use containers: for tests that need a process of this machine. */
export async function testProgram(kind: ServerKindName): Promise<string> {
  const found = await testSource(kind, { ...process.env, YARD_SERVERS: "" });
  if (found.how !== "binary") throw new Error(`${kind} was found as ${found.how}`);
  return found.binary;
}
