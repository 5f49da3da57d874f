import type { Sandbox } from "@switchyard/service/process/sandbox";
import { z } from "zod";

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
