// The source of NATS and Redis for tests. It is never a configured server, which may hold real data.

import {
  describeServer,
  resolveServer,
  type ResolvedServer,
  type ResolveStep,
} from "@switchyard/local-servers/resolve";
import type { ServerKindName } from "@switchyard/local-servers/server-kinds";

type Program = Extract<ResolvedServer, { how: "binary" }>;
export type TestSource = Program | { how: "container"; image: string; engine: string };

const PROGRAMS: readonly ResolveStep[] = ["binary", "packages"];

/**
 * A program of this machine or out of its packages, or with `YARD_TEST_CONTAINERS=1` an image for testcontainers. Rejects when there is none.
 */
export async function testSource(
  kind: ServerKindName,
  env: NodeJS.ProcessEnv = process.env,
): Promise<TestSource> {
  if (env["YARD_TEST_CONTAINERS"] !== "1") return program(kind, env);
  const { containerImage } = await import("./test-containers.ts");
  return { how: "container", ...(await containerImage(kind)) };
}

/** A program, also where tests use containers: for tests that need a process of this machine. */
export async function testProgram(kind: ServerKindName): Promise<string> {
  return (await program(kind, process.env)).binary;
}

/** The origin of a server of tests, for people. */
export function describeTestSource(source: TestSource): string {
  return source.how === "container"
    ? `image ${source.image} (${source.engine})`
    : describeServer(source);
}

async function program(kind: ServerKindName, env: NodeJS.ProcessEnv): Promise<Program> {
  const found = await resolveServer({ kind, env, log: () => {}, steps: PROGRAMS });
  if (found.how !== "binary") throw new Error(`${kind} was found as ${found.how}`);
  return found;
}
