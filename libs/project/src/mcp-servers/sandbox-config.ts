import { z } from "zod";

/** What a server's process may reach of the machine. */
export interface ServerSandbox {
  readonly profile: "default" | "strict";
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
}

const Paths = z.array(z.string().min(1)).max(64).default([]);

/**
 * How a server's process is kept from the rest of the machine. `default`: the whole file system read-only but for keys and
 * credentials, with the network; `strict`: nothing but the system's programs, its own and what is listed, without it. `off`: with
 * the rights of the broker. `bubblewrap` and `none` are older names: of `default` without the network, and of `off`.
 */
export const SandboxConfig = z
  .union([
    z.enum(["default", "strict", "off", "none", "bubblewrap"]),
    z.strictObject({
      type: z.enum(["default", "strict", "bubblewrap"]).default("default"),
      /** Files and directories that are shown, also where they would be hidden. */
      readable: Paths,
      /** Files and directories that may be written. They must exist. */
      writable: Paths,
      /** Files and directories that look empty inside. */
      hidden: Paths,
      network: z.boolean().optional(),
    }),
  ])
  .transform((value): ServerSandbox | "off" => {
    if (value === "off" || value === "none") return "off";
    const none = { readable: [], writable: [], hidden: [], network: undefined };
    const { type, network, ...paths } =
      typeof value === "string" ? { type: value, ...none } : value;
    const profile = type === "strict" ? "strict" : "default";
    return { profile, ...paths, network: network ?? type === "default" };
  });
