import { findBubblewrap, sandboxed, type Sandbox } from "@switchyard/service/process/sandbox";
import { z } from "zod";
import type { ResolvedServer } from "../registry/env-references.ts";

/**
 * Keeps a server's process in a bubblewrap sandbox: the whole file system read-only but for what is
 * listed, a /tmp of its own, processes of its own, and no network unless it is allowed.
 */
export const SandboxConfig = z
  .union([
    z.enum(["none", "bubblewrap"]),
    z.strictObject({
      type: z.literal("bubblewrap"),
      /** Files and directories that may be written. They must exist. */
      writable: z.array(z.string().min(1)).max(64).default([]),
      /** Files and directories that look empty inside. */
      hidden: z.array(z.string().min(1)).max(64).default([]),
      network: z.boolean().default(false),
    }),
  ])
  .transform((value): Sandbox | null => {
    if (value === "none") return null;
    return value === "bubblewrap" ? { writable: [], hidden: [], network: false } : value;
  });

/** A resolved server whose process is started in its sandbox, when it has one. Rejects with SandboxError. */
export async function inSandbox(
  resolved: ResolvedServer,
  { env, writable }: { readonly env: NodeJS.ProcessEnv; readonly writable: readonly string[] },
): Promise<ResolvedServer> {
  const { launch } = resolved;
  if (launch.transport !== "stdio" || launch.sandbox === null) return resolved;
  const place = { program: env["YARD_BWRAP_BIN"], path: env["PATH"] ?? "" };
  const sandbox = { ...launch.sandbox, writable: [...launch.sandbox.writable, ...writable] };
  const outer = sandboxed(launch, sandbox, await findBubblewrap(place));
  return { ...resolved, launch: { ...launch, ...outer } };
}
