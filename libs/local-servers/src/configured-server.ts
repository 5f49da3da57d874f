import { probeNats, probeRedis, type ProbeTarget } from "./probe.ts";
import { isRecentEnough, programOf, type ServerKind } from "./server-kinds.ts";

const PROBE_TIMEOUT_MS = 3_000;

/**
 * Checks the server that `YARD_NATS_URL` or `YARD_REDIS_URL` names: it answers, speaks the protocol and is recent enough.
 * Rejects otherwise; a configured server is never replaced silently. Of several NATS servers one is enough.
 */
export async function checkConfiguredServer(
  kind: ServerKind,
  url: string,
): Promise<{ url: string; version: string }> {
  const problems: string[] = [];
  for (const text of url.split(",")) {
    try {
      return { url, version: await checkOne(kind, text.trim()) };
    } catch (error) {
      problems.push(
        `${withoutCredentials(text)}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  throw new Error(
    `${kind.name}: ${kind.urlVariable} is set, but ${problems.join("; ")}. Correct that or unset ${kind.urlVariable}`,
  );
}

async function checkOne(kind: ServerKind, text: string): Promise<string> {
  const target = probeTarget(kind, text);
  if (kind.name === "nats") {
    const { version, jetstream } = await probeNats(target);
    requireVersion(kind, version, "nats");
    if (!jetstream)
      throw new Error(
        "JetStream is off; start it with `nats-server --jetstream` or a jetstream block",
      );
    return version;
  }
  const { version, product } = await probeRedis(target);
  requireVersion(kind, version, product);
  return version;
}

function requireVersion(kind: ServerKind, version: string, product: string): void {
  const { minimum } = programOf(kind, product);
  if (!isRecentEnough(version, minimum))
    throw new Error(`it is ${product} ${version}, ${minimum} or newer is needed`);
}

function probeTarget(kind: ServerKind, text: string): ProbeTarget {
  const parsed = URL.parse(text.includes("://") ? text : `${kind.name}://${text}`);
  const schemes = kind.name === "nats" ? ["nats:", "tls:"] : ["redis:", "rediss:"];
  if (parsed === null || parsed.hostname === "" || !schemes.includes(parsed.protocol)) {
    throw new Error(
      `it is not a URL of the form ${schemes.map((scheme) => `${scheme}//host:port`).join(" or ")}`,
    );
  }
  const password = kind.name === "redis" ? decodeURIComponent(parsed.password) : "";
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: parsed.port === "" ? kind.defaultPort : Number(parsed.port),
    tls: parsed.protocol === "rediss:",
    ...(parsed.username === "" ? {} : { username: decodeURIComponent(parsed.username) }),
    ...(password === "" ? {} : { password }),
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  };
}

/** Accepts also an invalid address whose password has characters that should have been encoded. */
function withoutCredentials(url: string): string {
  return url.replace(/^((?:[a-z]+:\/\/)?).*@/is, "$1");
}
