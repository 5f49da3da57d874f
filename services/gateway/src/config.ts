import { auditEnv } from "@switchyard/audit/start-audit";
import {
  commaSeparated,
  envInteger,
  envListen,
  natsEnv,
  processEnv,
  publicUrlEnv,
  redisEnv,
  parsedBy,
} from "@switchyard/service/env";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { AgentName } from "@switchyard/contracts/ids";
import { z } from "zod";
import { isLoopback } from "./http/listen.ts";

export const Config = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...auditEnv,
  /** Any address but loopback needs YARD_HTTP_HOSTS; the log line "http ready" has the address. */
  YARD_HTTP_PORT: envListen(),
  /** Names under which the gateway is reached, separated by commas, such as switchyard.example.com. */
  YARD_HTTP_HOSTS: z
    .string()
    .default("")
    .transform((list) => commaSeparated(list.toLowerCase())),
  /** Origins of other pages that may use MCP from a browser, separated by commas, such as https://app.example.com. */
  YARD_HTTP_ORIGINS: z
    .string()
    .default("")
    .transform(commaSeparated)
    .refine((list) => list.every((one) => URL.parse(one)?.origin === one), {
      message: "must be origins without a path, such as https://app.example.com",
    }),
  /** A directory with the PEM files `tls.crt` and `tls.key`, to serve TLS; they are read again when they change. */
  YARD_HTTP_TLS_DIR: z.string().optional(),
  ...publicUrlEnv,
  /** The OpenID Connect provider at which people sign in; the policy service's issuers identify them. */
  YARD_OIDC_ISSUER: z
    .url()
    .refine(isSafeUrl, "must be an https URL, or http on loopback")
    .optional(),
  YARD_OIDC_CLIENT_ID: z.string().min(1).default("switchyard"),
  /** The scopes requested from the provider, separated by spaces. */
  YARD_OIDC_SCOPES: z.string().default("openid profile"),
  /** The folder of the built console; empty: no console is served. */
  YARD_CONSOLE_DIR: z.string().default(""),
  /** The path of hooks.json, which lists the runs that other programs may start by a webhook. */
  YARD_HOOKS_FILE: z.string().optional(),
  /** `loopback`, `private`, addresses and networks that webhooks may be sent to. */
  YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
  /** Proxies in front of the gateway that append the address of their client to X-Forwarded-For. */
  YARD_HTTP_TRUSTED_PROXIES: envInteger(0, 10).default(0),
  /** The agent whose A2A card is at the host's root; missing: the only one that a caller sees. */
  YARD_A2A_AGENT: AgentName.optional(),
  /** Requests of one credential in a minute, over all replicas. */
  YARD_HTTP_REQUESTS_PER_MINUTE: envInteger(1, 1_000_000).default(1_200),
});

/** Name of the setting that permits private addresses, for messages. */
export const HOSTS_SETTING = "YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS";

function isSafeUrl(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
