import { auditEnv } from "@switchyard/audit/start-audit";
import {
  commaSeparated,
  envInteger,
  natsEnv,
  processEnv,
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
  /** The address to listen on; any address but loopback needs YARD_HTTP_HOSTS. */
  YARD_HTTP_HOST: z.string().default("127.0.0.1"),
  /** 0 is any free port; the log line "http ready" has the address. */
  YARD_HTTP_PORT: envInteger(0, 65_535).default(0),
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
  /** PEM files of a certificate and its key, to serve TLS; they are read again when they change. */
  YARD_HTTP_TLS_CERT_FILE: z.string().optional(),
  YARD_HTTP_TLS_KEY_FILE: z.string().optional(),
  /** The address at which people reach the gateway where that is not the address it listens on, such as https://switchyard.example.com. */
  YARD_HTTP_URL: z
    .url()
    .transform((text) => new URL(text))
    .refine(({ pathname, search }) => pathname === "/" && search === "", "must have no path")
    .optional(),
  /** The OpenID Connect provider at which people sign in; the policy service's issuers identify them. */
  YARD_OIDC_ISSUER: z
    .url()
    .refine(isSafeUrl, "must be an https URL, or http on loopback")
    .optional(),
  YARD_OIDC_CLIENT_ID: z.string().min(1).default("switchyard"),
  /** Missing: a public client, with PKCE alone. */
  YARD_OIDC_CLIENT_SECRET_FILE: z.string().optional(),
  /** The scopes requested from the provider, separated by spaces. */
  YARD_OIDC_SCOPES: z.string().default("openid profile"),
  /** The folder of the built console; empty: no console is served. */
  YARD_CONSOLE_DIR: z.string().default(""),
  /** The path of hooks.json, which lists the runs that other programs may start by a webhook. */
  YARD_HOOKS_FILE: z.string().optional(),
  /** Keys that encrypt the secrets of webhooks and subscriptions to web push; without a key the gateway refuses both. */
  YARD_WEBHOOKS_KEY_FILE: z.string().optional(),
  /** The number of webhooks that one caller may have. */
  YARD_WEBHOOKS_PER_CALLER: envInteger(0, 1_000).default(10),
  /** `loopback`, `private`, addresses and networks that webhooks may be sent to. */
  YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
  /** Proxies in front of the gateway that append the address of their client to X-Forwarded-For. */
  YARD_HTTP_TRUSTED_PROXIES: envInteger(0, 10).default(0),
  /** Connections of one address at a time on each replica; behind trusted proxies its requests. */
  YARD_HTTP_CONNECTIONS_PER_ADDRESS: envInteger(1, 1_000_000).default(2_000),
  /** Streams of events of one caller, on each replica. */
  YARD_HTTP_STREAMS: envInteger(1, 100_000).default(1_000),
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
