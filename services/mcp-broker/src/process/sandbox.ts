import { findBubblewrap, sandboxed } from "@switchyard/service/process/sandbox";
import type { ResolvedServer } from "../declaration/env-references.ts";

/** A resolved server whose process is started in its sandbox, when it has one. Rejects with SandboxError. */
export async function inSandbox(
  resolved: ResolvedServer,
  { env, writable }: { readonly env: NodeJS.ProcessEnv; readonly writable: readonly string[] },
): Promise<ResolvedServer> {
  const { launch } = resolved;
  if (launch.transport !== "stdio" || launch.sandbox === null) return resolved;
  const search = { program: env["YARD_BWRAP_BIN"], path: env["PATH"] ?? "" };
  const sandbox = { ...launch.sandbox, writable: [...launch.sandbox.writable, ...writable] };
  const outer = sandboxed(launch, sandbox, await findBubblewrap(search));
  return { ...resolved, launch: { ...launch, ...outer } };
}
