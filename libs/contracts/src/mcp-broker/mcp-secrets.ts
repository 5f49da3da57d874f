import { z } from "zod";
import { rpc } from "../define.ts";
import { CallerName, ServerId, Timestamp } from "../ids.ts";

/** Secrets of MCP servers. The broker stores them encrypted; a declaration refers to one as `${secret:NAME}`. No reply contains a value. */

export const MAX_SECRETS = 256;
export const MAX_SECRET_VALUE = 16_384;

export const SecretName = z
  .string()
  .regex(/^[A-Za-z0-9][\w-]{0,63}$/, "must be 1 to 64 letters, digits, _ and -");

export const ServerSecret = z.object({
  name: SecretName,
  /** The user that stored the value. */
  owner: CallerName,
  updatedAt: Timestamp,
  /** The only servers that may use it; null for all. */
  servers: z.array(ServerId).nullable(),
  /** Servers whose declaration refers to it. */
  usedBy: z.array(ServerId),
});
export type ServerSecret = z.infer<typeof ServerSecret>;

const secretErrors = {
  forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
  registry_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
} as const;

const UnknownSecret = { data: z.object({ name: z.string() }) };

export const listServerSecrets = rpc({
  subject: "yard.rpc.{caller}.mcp.secrets.list",
  summary: "Lists the stored secrets of MCP servers by name; never their values.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({ secrets: z.array(ServerSecret) }),
  errors: secretErrors,
});

export const setServerSecret = rpc({
  subject: "yard.rpc.{caller}.mcp.secrets.set",
  summary: "Stores or replaces a secret of MCP servers; those that use it connect anew.",
  role: "admin",
  request: z.strictObject({
    name: SecretName,
    value: z
      .string()
      .min(1)
      .max(MAX_SECRET_VALUE)
      .refine((value) => !value.includes("\0"), { message: "must not contain NUL" }),
    /** The only servers that may use it; null for all. Left out: as before, or all for a new one. */
    servers: z.array(ServerId).max(256).nullable().optional(),
  }),
  reply: z.object({ secret: ServerSecret }),
  errors: {
    ...secretErrors,
    /** The broker has no key to encrypt it with. */
    secret_key_missing: { data: z.object({ setting: z.string() }) },
    too_many: { data: z.object({ limit: z.int() }) },
  },
});

export const deleteServerSecret = rpc({
  subject: "yard.rpc.{caller}.mcp.secrets.delete",
  summary: "Deletes a secret that no MCP server uses.",
  role: "admin",
  request: z.strictObject({ name: SecretName }),
  reply: z.object({ deleted: z.literal(true), name: z.string() }),
  errors: {
    ...secretErrors,
    unknown_secret: UnknownSecret,
    /** Declarations refer to it; change those first. */
    secret_in_use: { data: z.object({ name: z.string(), servers: z.array(z.string()) }) },
  },
});
