import { join } from "node:path";
import { USER_SESSION_PREFIX } from "@switchyard/contracts/policy/user-sessions";
import type { Bus } from "@switchyard/bus/bus";
import { serve, type Service } from "@switchyard/bus/serve";
import { startAudit } from "@switchyard/audit/start-audit";
import { readCipherKeyFile, readKeyFile } from "@switchyard/service/keys-directory";
import type { Log } from "@switchyard/service/log";
import { defineService, type ServiceKit } from "@switchyard/service/define-service";
import type { z } from "zod";
import { createSecretCipher } from "@switchyard/service/secret-cipher";
import { createEgressGuard } from "@switchyard/service/network/egress-guard";
import { constant } from "@switchyard/service/constant";
import { createAcceptedRuns } from "./agent-runs/accepted-runs.ts";
import { Config, HOSTS_SETTING } from "./config.ts";
import { readConsole } from "./console/console-files.ts";
import { openEventHub } from "./events/event-hub.ts";
import { createCredentialWatch } from "./events/credential-watch.ts";
import { createStreamSlots } from "./events/stream-slots.ts";
import { createApp } from "./http/app.ts";
import { CONNECTION_LIMITS } from "./http/guard-connections.ts";
import { isLoopback, knownHosts, listenHttp } from "./http/listen.ts";
import type { TlsFiles } from "./http/tls-files.ts";
import { readHooks, serveHookList } from "./hooks/hooks-file.ts";
import { createAccessAudit } from "./identity/access-audit.ts";
import { BytesInWork } from "./identity/bytes-in-work.ts";
import { problemOf } from "./problems/problem.ts";
import { createPushKeys } from "./push/push-keys.ts";
import { startPush } from "./push/start-push.ts";
import { createIdempotency } from "./identity/idempotency.ts";
import { openSlots } from "./identity/slots.ts";
import { GatewayCookie } from "./identity/session-cookie.ts";
import { OwnOperations } from "./routes/own-operations.ts";
import { startSubscriptions } from "./subscriptions/start-subscriptions.ts";
import { createLoginStore } from "./sign-in/sign-in-routes.ts";
import { createOidc, type Oidc } from "./sign-in/oidc.ts";
import { createRateLimit } from "./identity/rate-limit.ts";
import { openUserCache, type UserCache } from "./identity/user-cache.ts";

const VERSION = "0.1.0";

/** A webhook that has failed for so long is disabled. */
const DISABLE_AFTER_MS = 86_400_000;

export const gatewayService = defineService({
  name: "gateway",
  user: "gateway",
  version: VERSION,
  env: Config,
  startsAfter: ["policy"],
  async start(kit) {
    const { bus, redis, log, config } = kit;
    const now = Date.now;
    const publicUrl = config.YARD_HTTP_URL ?? null;
    const names = [...config.YARD_HTTP_HOSTS, ...(publicUrl === null ? [] : [publicUrl.host])];
    const isKnownHost = knownHosts(config.YARD_HTTP_PORT.host, names);
    const tls = tlsOf(config);
    const audit = await startAudit({ ...kit, service: "gateway", version: VERSION });
    if (audit !== null) kit.onStop("audit", () => audit.stop());
    const trustedProxies = config.YARD_HTTP_TRUSTED_PROXIES;
    // Connections of one address at a time on each replica; behind trusted proxies its requests.
    const perAddress = constant("httpConnectionsPerAddress", 2_000);
    const access = createAccessAudit(audit, {
      addressOf: (c) => c.get("address"),
      outcomeOf: (error) => problemOf(error) ?? { status: 500, code: "internal" },
    });
    const users = openUserCache(bus, now);
    const hub = openEventHub(bus, log);
    kit.ready("events", () => hub.isWell() || "the stream of events cannot be read");
    const own = new OwnOperations();
    const hooks = await readHooks(config.YARD_HOOKS_FILE, kit.env);
    serveHookList(own, hooks);
    await startSending(kit, own, users);
    const app = createApp({
      bus,
      own,
      log,
      users,
      hub,
      isKnownHost,
      origins: new Set(config.YARD_HTTP_ORIGINS),
      console: config.YARD_CONSOLE_DIR === "" ? null : await readConsole(config.YARD_CONSOLE_DIR),
      rateLimit: createRateLimit(redis, now),
      sessionCookie: new GatewayCookie("yard-session", publicUrl, { begins: USER_SESSION_PREFIX }),
      publicUrl,
      oidc: await oidcOf(config, log),
      logins: createLoginStore(redis),
      trustedProxies,
      requestsOfAddress: openSlots("requests", perAddress),
      access,
      requestsPerMinute: config.YARD_HTTP_REQUESTS_PER_MINUTE,
      issuer: config.YARD_OIDC_ISSUER ?? null,
      rootAgent: config.YARD_A2A_AGENT ?? null,
      hooks,
      credentials: createCredentialWatch(users),
      streamSlots: createStreamSlots(constant("httpStreamsPerCaller", 1_000)),
      unknownRunMs: constant("unknownRunMs", 60_000),
      isReady: () => kit.isReady(),
      bytes: new BytesInWork(),
      idempotency: createIdempotency(redis, now),
      accepted: createAcceptedRuns({ redis, bus, now }),
      now,
    });
    const http = await listenHttp(app, {
      ...config.YARD_HTTP_PORT,
      tls: tls && { files: tls, log },
      // Behind a proxy all connections are the proxy's.
      connections: { ...CONNECTION_LIMITS, perAddress: trustedProxies > 0 ? null : perAddress },
    });
    kit.describe("http", http.url);
    const discovered = answerDiscovery(bus, log);
    kit.onStop("discovery", () => discovered.drain());
    // Steps run in reverse: new requests are refused, readers are disconnected, requests in progress end.
    kit.onStop("users", async () => users.stop());
    kit.onStop("http", async () => {
      const closed = http.stop();
      await hub.stop();
      await closed;
    });
    log.info({ url: http.url }, "http ready");
  },
});

/** Events that go out: to URLs of callers, and as web push to browsers. */
async function startSending(
  kit: ServiceKit<z.output<typeof Config>>,
  own: OwnOperations,
  users: UserCache,
): Promise<void> {
  const { config } = kit;
  const secrets = await readCipherKeyFile(config.YARD_KEYS_DIR, "webhooks.key");
  const cipher = createSecretCipher(secrets);
  const guard = createEgressGuard({
    permitted: config.YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS,
    setting: HOSTS_SETTING,
  });
  const push = startPush(own, kit, {
    guard,
    users,
    keys: pushKeys(config, secrets),
    onChange: () => subscriptions.wake(),
  });
  const subscriptions = startSubscriptions(own, kit, {
    guard,
    onRead: push.notify,
    mostOfCaller: constant("webhooksPerCaller", 10),
    // Each later attempt waits four times as long.
    retryMs: constant("webhooksRetryMs", 5_000),
    disableAfterMs: DISABLE_AFTER_MS,
    cipher,
  });
  kit.onStop("push", () => push.stop());
  kit.onStop("webhooks", () => subscriptions.stop());
}

/** The gateway has no requests on the bus; it answers discovery, so that it is listed with its version. */
function answerDiscovery(bus: Bus, log: Log): Service {
  return serve(bus, {
    name: "gateway",
    version: VERSION,
    description: "HTTP for people and programs",
    onFault: ({ error }) => log.error({ err: error }, "handler fault"),
  });
}

function tlsOf({ YARD_HTTP_TLS_DIR: directory }: z.output<typeof Config>): TlsFiles | null {
  if (directory === undefined) return null;
  return { cert: join(directory, "tls.crt"), key: join(directory, "tls.key") };
}

/** Browsers subscribe to web push only on pages over https or from their own machine. */
function pushKeys(config: z.output<typeof Config>, secrets: readonly Uint8Array[]) {
  const { YARD_HTTP_URL: url, YARD_HTTP_HOSTS: names } = config;
  const isEncrypted = url === undefined ? tlsOf(config) !== null : url.protocol === "https:";
  if (!isEncrypted && !isLoopback(url?.hostname ?? config.YARD_HTTP_PORT.host)) return null;
  const [name] = names;
  const own = url?.origin ?? (name === undefined ? null : `https://${name}`);
  return createPushKeys(secrets, isEncrypted ? own : null);
}

async function oidcOf(config: z.output<typeof Config>, log: Log): Promise<Oidc | null> {
  const { YARD_OIDC_ISSUER: issuer } = config;
  if (issuer === undefined) return null;
  const settings = {
    issuer,
    clientId: config.YARD_OIDC_CLIENT_ID,
    // Without it the gateway is a public client, with PKCE alone.
    clientSecret: await readKeyFile(config.YARD_KEYS_DIR, "oidc-client.secret"),
    scopes: config.YARD_OIDC_SCOPES,
  };
  return createOidc(settings, log);
}
