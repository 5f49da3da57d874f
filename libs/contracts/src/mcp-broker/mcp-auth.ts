import { z } from "zod";
import { rpc } from "../define.ts";
import { Timestamp } from "../ids.ts";
import { ServerInfo } from "./mcp-servers.ts";
import { storeUnavailable } from "../store-errors.ts";

const Server = { data: z.object({ server: z.string() }) };

const loginErrors = {
  forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
  unknown_server: Server,
  /** The server is a process, has a header of its own, or `oauth` is false. */
  login_not_supported: Server,
  /** The broker has no key to store a login with. */
  login_key_missing: { data: z.object({ setting: z.string() }) },
  /** The server or its authorization server refused, or gave an invalid answer. */
  login_failed: { data: z.object({ server: z.string(), reason: z.string() }) },
} as const;

/** Discovery, registration and the exchange of the code are several requests each. */
const LOGIN_TIMEOUT_MS = 60_000;

/** The address is on the machine of the person who logs in: a code that went elsewhere would be another person's login. */
const LoopbackUrl = z
  .url({ protocol: /^http$/ })
  .max(500)
  .refine((text) => ["127.0.0.1", "[::1]", "localhost"].includes(URL.parse(text)?.hostname ?? ""), {
    message: "must be an http address of this machine: 127.0.0.1, [::1] or localhost",
  });

export const beginLogin = rpc({
  subject: "yard.rpc.{caller}.mcp.login.begin",
  summary: "Begins an OAuth login to an MCP server; a person goes to the address in the reply.",
  role: "admin",
  request: z.strictObject({ server: z.string(), redirectUri: LoopbackUrl }),
  reply: z.object({
    authorizationUrl: z.string(),
    /** Returned by the browser; valid once, and for the caller that began. */
    state: z.string(),
    expiresAt: Timestamp,
  }),
  errors: { ...loginErrors, store_unavailable: storeUnavailable },
  timeoutMs: LOGIN_TIMEOUT_MS,
});

export const finishLogin = rpc({
  subject: "yard.rpc.{caller}.mcp.login.finish",
  summary: "Completes an OAuth login with the code from the browser, and connects the server.",
  role: "admin",
  request: z.strictObject({
    server: z.string(),
    state: z.string().min(1).max(200),
    code: z.string().min(1).max(4_096),
    /** The issuer that the redirect names for the code (RFC 9207). */
    iss: z.string().max(2_000).optional(),
  }),
  reply: z.object({ server: ServerInfo }),
  errors: { ...loginErrors, login_expired: Server, store_unavailable: storeUnavailable },
  timeoutMs: LOGIN_TIMEOUT_MS,
});

/**
 * The outcome of revoking the tokens at the authorization server: it confirmed that they are worthless, it advertises no revocation, or it
 * did not answer or refused, so that they may live until they end.
 */
export const LoginRevocation = z.enum(["revoked", "not_offered", "failed"]);
export type LoginRevocation = z.infer<typeof LoginRevocation>;

export const logout = rpc({
  subject: "yard.rpc.{caller}.mcp.logout",
  summary: "Revokes and deletes the login to an MCP server, and connects it without one.",
  role: "admin",
  request: z.strictObject({ server: z.string() }),
  reply: z.object({
    server: ServerInfo,
    wasLoggedIn: z.boolean(),
    /** Null when there was no login to revoke. */
    revocation: LoginRevocation.nullable().default(null),
  }),
  errors: {
    forbidden_admin: loginErrors.forbidden_admin,
    unknown_server: Server,
    login_key_missing: loginErrors.login_key_missing,
    store_unavailable: storeUnavailable,
  },
  timeoutMs: LOGIN_TIMEOUT_MS,
});
