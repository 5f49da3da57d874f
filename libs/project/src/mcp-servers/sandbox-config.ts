import { z } from "zod";

/** The parts of the machine that a server's process may access. */
export interface ServerSandbox {
  readonly profile: "default" | "strict";
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
}

const Paths = z.array(z.string().min(1)).max(64).default([]);

/**
 * The isolation of a server's process from the machine. `default`: the whole file system read-only except keys and credentials,
 * with the network; `strict`: only the system's programs, the server's own and the listed paths, without the network. `off`: with
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
      /** Files and directories that appear empty inside the sandbox. */
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
