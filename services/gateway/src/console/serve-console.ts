import type { Context } from "hono";
import type { GatewayEnv } from "../identity/request-context.ts";
import { acceptsGzip } from "../routes/accepts-gzip.ts";
import type { ConsoleFile, ConsoleFiles } from "./console-files.ts";

/**
 * The policy of the page and its scripts: no external content, no inline script or style, and no text becomes markup except
 * through the sanitizer's policy. Images may be data URLs, since some tools answer with them.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The second one is for the address of the worker of web push alone.
  "trusted-types dompurify push-worker",
].join("; ");

/** Returns the file or, for the address of a view, the page; null for a path that is not the console's. */
export function serveConsole(c: Context<GatewayEnv>, files: ConsoleFiles): Response | null {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return null;
  const file = files.get(c.req.path);
  if (file !== undefined && c.req.path !== "/index.html") return answer(c, file, c.req.path);
  const wantsPage = c.req.header("accept")?.includes("text/html") ?? false;
  const page = files.get("/index.html");
  if (page === undefined || !wantsPage || c.req.path.startsWith("/api/")) return null;
  return answer(c, page, "/index.html");
}

function answer(c: Context<GatewayEnv>, file: ConsoleFile, path: string): Response {
  // Names of assets contain the digest of their content.
  const isForever = path.startsWith("/assets/");
  const isPacked = file.packed !== null && acceptsGzip(c.req.header("accept-encoding"));
  return c.body(isPacked ? (file.packed ?? file.bytes) : file.bytes, 200, {
    "content-type": file.type,
    "cache-control": isForever ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": PAGE_POLICY,
    vary: "accept, accept-encoding",
    ...(isPacked && { "content-encoding": "gzip" }),
  });
}
